/*
 * wakeup.h - a flag with a file descriptor that is readable while the flag is
 * set. A loop that polls descriptors, in the host program or in the transport
 * thread, learns in this way that it has something to do.
 */
#ifndef KL_BASE_WAKEUP_H
#define KL_BASE_WAKEUP_H

#include "kubelua/error.h"

#include <stdint.h>

typedef struct kl__wakeup {
    int fd; /* an eventfd: readable while it is not zero */
} kl__wakeup;

/* The flag is not set at first. KL_EIO with a message: no descriptor is
 * left. */
kl_code kl__wakeup_init(kl__wakeup *wakeup, kl_error *err);
void kl__wakeup_deinit(kl__wakeup *wakeup);

/* Only for polling (POLLIN); the caller never reads or writes it. */
int kl__wakeup_fd(const kl__wakeup *wakeup);

/* Thread-safe. kl__wakeup_set may also be called in a signal handler, and twice
 * is the same as once. */
void kl__wakeup_set(kl__wakeup *wakeup);
void kl__wakeup_clear(kl__wakeup *wakeup);

/* Blocks until the flag is set, and does not clear it: KL_OK. KL_ETIMEOUT: not
 * set within `timeout_ms` (< 0: no limit). KL_ECANCELED: a signal interrupted
 * the wait. KL_EIO. */
kl_code kl__wakeup_wait(kl__wakeup *wakeup, int64_t timeout_ms);

#endif
