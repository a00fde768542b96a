/*
 * wakeup.h - a descriptor that is readable while it is set: how a loop that
 * polls, in the host or in this library, learns that there is something to do.
 */
#ifndef KL_BASE_WAKEUP_H
#define KL_BASE_WAKEUP_H

#include "kubelua/error.h"

#include <stdint.h>

typedef struct kl__wakeup {
    int fd; /* an eventfd: readable while it is not zero */
} kl__wakeup;

/* Not set; KL_EIO with a message: there is no descriptor left. */
kl_code kl__wakeup_init(kl__wakeup *wakeup, kl_error *err);
void kl__wakeup_deinit(kl__wakeup *wakeup);

/* To poll for reading; never read or written by anybody else. */
int kl__wakeup_fd(const kl__wakeup *wakeup);

/* Thread-safe; set also from a signal's handler. Setting twice is as once. */
void kl__wakeup_set(kl__wakeup *wakeup);
void kl__wakeup_clear(kl__wakeup *wakeup);

/* Blocks until it is set, which it stays: KL_OK; at most `timeout_ms` (< 0:
 * without end): KL_ETIMEOUT. KL_ECANCELED: a signal came; KL_EIO. */
kl_code kl__wakeup_wait(kl__wakeup *wakeup, int64_t timeout_ms);

#endif
