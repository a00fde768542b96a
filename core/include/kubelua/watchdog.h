/*
 * watchdog.h - says in the log what blocks a thread that runs a loop: the
 * thread notes what it begins and ends, and a second thread looks at the notes.
 */
#ifndef KUBELUA_WATCHDOG_H
#define KUBELUA_WATCHDOG_H

#include "kubelua/error.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_watchdog kl_watchdog;

/* What a loop runs, for the log: "pods: handler of add", "web/shop-1". The
 * texts stay as they are from kl_watchdog_enter until kl_watchdog_leave. */
typedef struct kl_activity {
    const char *what;
    const char *subject; /* NULL: none */
} kl_activity;

typedef struct kl_watchdog_options {
    int64_t limit_ms; /* an activity that takes longer is reported; from 1 */
    /* Called on the watchdog's thread before a report, while the watched thread
     * is kept in its activity: has that thread call kl_watchdog_tell soon. It
     * must not block. NULL: reports do not say where the thread is. */
    void (*ask)(void *context);
    void *context;
} kl_watchdog_options;

/*
 * Starts the thread that looks. While no activity is under way it sleeps
 * without a deadline. An activity that takes longer than the limit is reported
 * by a warning (kl_set_log), again each time that its duration has doubled, and
 * once more when it ends. NULL: KL_EINVAL, KL_ENOMEM, KL_EIO (no thread).
 */
KL_API kl_watchdog *kl_watchdog_start(const kl_watchdog_options *options,
                                      kl_error *err);

/* Stops and frees it; NULL is fine. Not while `ask` waits for the caller. */
KL_API void kl_watchdog_stop(kl_watchdog *watchdog);

/* Begins an activity, and ends the one before it. For the watched thread only,
 * which may be another one after each kl_watchdog_leave. Two stores. */
KL_API void kl_watchdog_enter(kl_watchdog *watchdog,
                              const kl_activity *activity);

/* Ends the activity, if there is one: its texts may be freed after that. */
KL_API void kl_watchdog_leave(kl_watchdog *watchdog);

/* Where the watched thread is, such as a traceback; the next report has it.
 * Copied, cut at 1,200 bytes. For the watched thread only. */
KL_API void kl_watchdog_tell(kl_watchdog *watchdog, const char *where);

/* A signal is to end the loop: the activity under way is named in the log,
 * unless it ends within half a second. 0: no more. Safe on any thread and
 * inside a signal handler. */
KL_API void kl_watchdog_hurry(kl_watchdog *watchdog, int signal);

#ifdef __cplusplus
}
#endif
#endif
