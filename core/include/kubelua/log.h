/*
 * log.h - log lines of the library, which a function of the user receives. The
 * library never prints.
 */
#ifndef KUBELUA_LOG_H
#define KUBELUA_LOG_H

#include "kubelua/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kl_log_level {
    KL_LOG_DEBUG,
    KL_LOG_INFO,
    KL_LOG_WARN,
    KL_LOG_ERROR,
    KL_LOG_OFF
} kl_log_level;

/*
 * Receives one line, without its newline. It is called on any thread, one call
 * at a time, and must not call the library.
 */
typedef void (*kl_log_fn)(void *context, kl_log_level level,
                          const char *message);

/*
 * Sends lines of `level` and above to `fn` (NULL: no lines, the default). After
 * it returns, the former function is not called any more. Thread-safe.
 */
KL_API void kl_set_log(kl_log_fn fn, void *context, kl_log_level level);

/* Writes one line to the function set above. Thread-safe. */
KL_API void kl_log(kl_log_level level, const char *format, ...) KL_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
