/*
 * log.h - log lines of the library, which a function of the user receives. The
 * library never prints.
 */
#ifndef KUBELUA_LOG_H
#define KUBELUA_LOG_H

#include "kubelua/error.h"

#include <stddef.h>

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
 * Receives one line, without its newline, of at most 2,047 bytes. It is UTF-8;
 * what a log or a terminal would obey is escaped (see kl_text_escape). It is
 * called on any thread, one call at a time, and must not call the library, but
 * for kl_text_escape.
 */
typedef void (*kl_log_fn)(void *context, kl_log_level level,
                          const char *message);

/*
 * Sends lines of `level` and above to `fn` (NULL: no lines, the default). After
 * it returns, the former function is not called any more. Thread-safe.
 */
KL_API void kl_set_log(kl_log_fn fn, void *context, kl_log_level level);

/* Writes one line to the function set above; one call is one line, whatever
 * the values contain. Thread-safe. */
KL_API void kl_log(kl_log_level level, const char *format, ...) KL_PRINTF(2, 3);

/* What becomes of the line breaks of a text. */
typedef enum kl_text_breaks {
    /* One line: a break before an indented line, or before a traceback, is
     * "; ", and any other is "\n". For a log. */
    KL_ONE_LINE,
    /* A break before a line that is indented by two blanks or more stays (so a
     * line of the text cannot pass for a line of the program); any other is as
     * above. For an error's message, whose further lines are indented. */
    KL_INDENTED_LINES
} kl_text_breaks;

/*
 * Writes the text to `to`, which has `size` bytes (at least 1), so that a log
 * or a terminal shows it, and does not obey it. It escapes control characters
 * (CR is "\r", ESC is "\x1b", NUL is "\0", U+0085 is "\u0085"), the controls of
 * bidirectional text, the line separators U+2028 and U+2029, and bytes that are
 * no UTF-8 ("\x9b"). Tabs stay; breaks at the end are dropped. A text that is
 * escaped already stays as it is. Returns the bytes written; a NUL follows. A
 * text that does not fit is cut between two characters; 4 * length + 1 bytes
 * always suffice. Thread-safe.
 */
KL_API size_t kl_text_escape(char *to, size_t size, const char *text,
                             size_t length, kl_text_breaks breaks);

#ifdef __cplusplus
}
#endif
#endif
