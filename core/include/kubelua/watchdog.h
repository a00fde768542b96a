/*
 * watchdog.h - logs what blocks an event loop: the loop's thread notes each
 * activity that it begins and ends, and a second thread checks these notes.
 */
#ifndef KUBELUA_WATCHDOG_H
#define KUBELUA_WATCHDOG_H

#include "kubelua/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_watchdog kl_watchdog;

/* An activity of the loop, for the log: "pods: handler of add", "web/shop-1".
 * The texts must not change between kl_watchdog_enter and kl_watchdog_leave. */
typedef struct kl_activity {
    const char *what;
    const char *subject; /* NULL: none */
} kl_activity;

typedef struct kl_watchdog_options {
    int64_t limit_ms; /* an activity that takes longer is reported; at least 1
                       */
    /* Called on the watchdog's thread before a report, during the activity: it
     * makes the watched thread call kl_watchdog_tell soon. It must not block.
     * NULL: reports do not say where the thread is. */
    void (*ask)(void *context);
    void *context;
} kl_watchdog_options;

/*
 * Starts the watchdog's thread. Without an activity it sleeps, without a
 * deadline. An activity that takes longer than the limit is logged as a warning
 * (kl_set_log), again each time that its duration has doubled, and once more
 * when it ends. NULL: KL_EINVAL, KL_ENOMEM, KL_EIO (no thread).
 */
KL_API kl_watchdog *kl_watchdog_start(const kl_watchdog_options *options,
                                      kl_error *err);

/* Stops the thread and frees the watchdog; NULL is fine. Must not be called
 * while `ask` waits for the caller. No other call on the watchdog may run then,
 * or come later. */
KL_API void kl_watchdog_stop(kl_watchdog *watchdog);

/* Begins an activity, and ends the one before it. Only the watched thread calls
 * it; after kl_watchdog_leave that may be another thread. Costs two stores. */
KL_API void kl_watchdog_enter(kl_watchdog *watchdog,
                              const kl_activity *activity);

/* Ends the activity, if there is one; its texts may be freed after that. */
KL_API void kl_watchdog_leave(kl_watchdog *watchdog);

/* Gives the next report a text that says where the watched thread is, such as a
 * traceback. Copied, cut at 1,200 bytes. Only the watched thread calls it. */
KL_API void kl_watchdog_tell(kl_watchdog *watchdog, const char *where);

/*
 * Writes the name of the present activity to `name` (at least 1 byte; cut), as
 * the log would have it, "" if there is none. Any thread may call it, also
 * while the watched thread does not go on.
 */
KL_API void kl_watchdog_current(kl_watchdog *watchdog, char *name, size_t size);

/* Says that a signal asked the loop to end: if the activity does not end within
 * half a second, the log names it. 0: there is no such signal any more. Safe on
 * any thread and inside a signal handler. */
KL_API void kl_watchdog_hurry(kl_watchdog *watchdog, int signal);

#ifdef __cplusplus
}
#endif
#endif
