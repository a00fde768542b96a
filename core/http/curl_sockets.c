/*
 * curl_sockets.c - tells curl which sockets have something to do. Transfers
 * over HTTP/1 have a socket each: one epoll watches them all, and a turn of the
 * loop runs those alone whose sockets are ready. curl_multi_perform runs every
 * transfer in each turn, and asks the socket of each with a poll of its own:
 * with 16 requests in flight that was 14 polls a request.
 *
 * Over HTTP/2 every transfer of a connection is run anyway when its socket is
 * ready, so nothing is gained; and HTTP/2 by sockets had bugs in several
 * versions of libcurl, as https://github.com/curl/curl/issues/12971 in 8.6.
 * While a transfer may be over HTTP/2, the loop uses curl_multi_perform and
 * curl_multi_poll.
 */
#include "http/curl_loop.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* libcurl 7.87 does not ask for the sockets of a connection that it is
     * making: https://github.com/curl/curl/issues/10146 */
    BROKEN_FROM = 0x075700,
    BROKEN_UNTIL = 0x075800
};

/* ---- what curl asks for ---- */

static uint32_t events_of(int action)
{
    uint32_t events = 0;

    if (action == CURL_POLL_IN || action == CURL_POLL_INOUT) {
        events |= EPOLLIN;
    }
    if (action == CURL_POLL_OUT || action == CURL_POLL_INOUT) {
        events |= EPOLLOUT;
    }
    return events;
}

/* Watches a socket for these events, whether it is watched already or not. */
static bool watch_socket(int epoll, int socket, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = socket};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ||
           (errno == EEXIST &&
            epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0);
}

/*
 * libcurl 7.88 also tells of a socket that it has closed: another thread may
 * have its number by now. Then the number is not in this epoll, and nothing
 * happens. By the system call itself, as ThreadSanitizer takes it for a race of
 * the two threads.
 */
static void forget_socket(int epoll, int socket)
{
    (void)syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_DEL, socket, NULL);
}

/* curl's callback: another socket is to be watched, or for other events. */
static int on_socket(CURL *easy, curl_socket_t socket, int action, void *arg,
                     void *unused)
{
    kl__curl_sockets *sockets = arg;

    (void)easy;
    (void)unused;
    if (action == CURL_POLL_REMOVE) {
        forget_socket(sockets->epoll, socket);
    } else if (!watch_socket(sockets->epoll, socket, events_of(action))) {
        sockets->is_broken = true; /* no memory for it, or too many */
    }
    return 0;
}

/* curl's callback: when to call it next, even if no socket is ready. */
static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    kl__curl_sockets *sockets = arg;

    (void)multi;
    sockets->timer_ms =
        timeout_ms < 0 ? -1 : kl__clock_now(kl__clock_real()) + timeout_ms;
    return 0;
}

void kl__curl_look_again(kl__curl_transport *transport, int socket)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};

    if (transport->ready.is_used) {
        (void)epoll_ctl(transport->ready.epoll, EPOLL_CTL_MOD, socket, &event);
    }
}

void kl__curl_unwatch(kl__curl_transport *transport, int socket)
{
    if (transport->ready.epoll >= 0) {
        (void)epoll_ctl(transport->ready.epoll, EPOLL_CTL_DEL, socket, NULL);
    }
}

/* ---- which way a turn takes ---- */

void kl__curl_sockets_init(kl__curl_sockets *sockets)
{
    unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;

    sockets->epoll = -1;
    sockets->timer_ms = -1;
    sockets->is_broken = version >= BROKEN_FROM && version < BROKEN_UNTIL;
}

void kl__curl_sockets_deinit(kl__curl_sockets *sockets)
{
    if (sockets->epoll >= 0) {
        kl__wakeup_deinit(&sockets->wakeup);
        close(sockets->epoll);
        sockets->epoll = -1;
    }
}

/* Makes the epoll, which also watches the wake-up. That is edge-triggered: each
 * wake-up is reported once, and need not be read. */
static bool make_epoll(kl__curl_sockets *sockets)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int epoll;

    if (kl__wakeup_init(&sockets->wakeup, NULL) != KL_OK) {
        return false;
    }
    epoll = epoll_create1(EPOLL_CLOEXEC);
    event.data.fd = kl__wakeup_fd(&sockets->wakeup);
    if (epoll >= 0 &&
        epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event) == 0) {
        sockets->epoll = epoll;
        return true;
    }
    if (epoll >= 0) {
        close(epoll);
    }
    kl__wakeup_deinit(&sockets->wakeup);
    return false;
}

/* Makes the epoll and has curl use it, once. */
static bool set_up(kl__curl_transport *transport)
{
    kl__curl_sockets *sockets = &transport->ready;
    CURLM *multi = transport->multi;

    if (sockets->epoll >= 0 || sockets->is_broken) {
        return !sockets->is_broken;
    }
    sockets->is_broken = !make_epoll(sockets);
    if (!sockets->is_broken) {
        (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, sockets);
        (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, sockets);
        (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    }
    return !sockets->is_broken;
}

/* ---- turns ---- */

/* Runs the transfers whose sockets are ready, and those whose time has come. As
 * curl's own poll would, an error counts as bytes to read: the read tells what
 * it is. */
static void run_ready(kl__curl_transport *transport)
{
    kl__curl_sockets *sockets = &transport->ready;
    int running;

    for (int i = 0; i < sockets->count; i++) {
        const struct epoll_event *event = &sockets->events[i];
        int what = 0;

        if (event->data.fd == kl__wakeup_fd(&sockets->wakeup)) {
            continue;
        }
        if ((event->events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
            what |= CURL_CSELECT_IN;
        }
        if ((event->events & EPOLLOUT) != 0) {
            what |= CURL_CSELECT_OUT;
        }
        curl_multi_socket_action(transport->multi, event->data.fd, what,
                                 &running);
    }
    sockets->count = 0;
    if (sockets->timer_ms >= 0 &&
        kl__clock_now(kl__clock_real()) >= sockets->timer_ms) {
        sockets->timer_ms = -1;
        curl_multi_socket_action(transport->multi, CURL_SOCKET_TIMEOUT, 0,
                                 &running);
    }
}

/* Runs every transfer, and has curl say which sockets are to be watched. curl
 * advises against the call because it runs all: here that is wanted. */
static void run_and_watch_all(kl__curl_transport *transport)
{
    int running;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    curl_multi_socket_all(transport->multi, &running);
#pragma GCC diagnostic pop
}

void kl__curl_run(kl__curl_transport *transport)
{
    kl__curl_sockets *sockets = &transport->ready;
    bool was_used = sockets->is_used;
    int running;

    sockets->is_used =
        sockets->is_wanted && sockets->sharing == 0 && set_up(transport);
    if (!sockets->is_used) {
        curl_multi_perform(transport->multi, &running);
    } else if (was_used) {
        run_ready(transport);
    } else {
        run_and_watch_all(transport);
    }
}

CURLMcode kl__curl_poll(kl__curl_transport *transport, int most_ms)
{
    kl__curl_sockets *sockets = &transport->ready;
    int count;

    if (!sockets->is_used) {
        return curl_multi_poll(transport->multi, NULL, 0, most_ms, NULL);
    }
    if (sockets->timer_ms >= 0) {
        int64_t left_ms = sockets->timer_ms - kl__clock_now(kl__clock_real());

        left_ms = left_ms > 0 ? left_ms : 0;
        most_ms = left_ms < most_ms ? (int)left_ms : most_ms;
    }
    count =
        epoll_wait(sockets->epoll, sockets->events, KL__CURL_EVENTS, most_ms);
    sockets->count = count > 0 ? count : 0; /* < 0: a signal */
    return CURLM_OK;
}
