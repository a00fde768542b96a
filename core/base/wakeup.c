/*
 * wakeup.c - see wakeup.h.
 */
#include "base/wakeup.h"

#include "base/remedy.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

kl_code kl__wakeup_init(kl__wakeup *wakeup, kl_error *err)
{
    wakeup->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeup->fd >= 0) {
        return KL_OK;
    }
    return kl_error_set(err, KL_EIO, "no descriptor for an event queue: %s%s",
                        strerror(errno), kl__remedy(errno));
}

void kl__wakeup_deinit(kl__wakeup *wakeup)
{
    close(wakeup->fd);
}

int kl__wakeup_fd(const kl__wakeup *wakeup)
{
    return wakeup->fd;
}

/* A failed write is no error: the counter is at its maximum then, so the
 * descriptor is readable. */
void kl__wakeup_set(kl__wakeup *wakeup)
{
    const uint64_t one = 1;
    int saved = errno;
    ssize_t written = write(wakeup->fd, &one, sizeof(one));

    (void)written;
    errno = saved;
}

void kl__wakeup_clear(kl__wakeup *wakeup)
{
    uint64_t count;
    ssize_t got = read(wakeup->fd, &count, sizeof(count));

    (void)got; /* EAGAIN: the flag was not set */
}

kl_code kl__wakeup_wait(kl__wakeup *wakeup, int64_t timeout_ms)
{
    struct pollfd fd = {.fd = wakeup->fd, .events = POLLIN};
    int timeout = -1;
    int count;

    if (timeout_ms >= 0) {
        timeout = timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX;
    }
    count = poll(&fd, 1, timeout);
    if (count < 0) {
        return errno == EINTR ? KL_ECANCELED : KL_EIO;
    }
    return count > 0 ? KL_OK : KL_ETIMEOUT;
}
