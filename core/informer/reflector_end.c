/*
 * reflector_end.c - what follows the end of a watch: the same version again, a
 * list, or a pause. See reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "kubelua/log.h"

enum {
    /* A watch that ended sooner and brought nothing new counts as refused
       (docs/KUBERNETES.md#short-watches). */
    SHORT_MS = 1000,
    /* After this many refused watches in a row, handlers are told that the
       server ends each watch at once. */
    REFUSALS_MAX = 3,
    /* The version may be the cause of some failures. After this many of them in
     * a row the reflector lists again. */
    DOUBTS_MAX = 3,
    /* The longest pause after a short watch that did bring something. */
    SPREAD_MS = 200,
    /* After an event below the version there is one relist; a second such event
       in this time shows that the versions have no order. */
    BACKWARD_MS = 3600000
};

static bool was_healthy(const kl__reflector *self, const kl__attempt *now)
{
    return now->progress ||
           kl__reflector_now(self) - now->began >= KL__HEALTHY_MS;
}

/*
 * A 410 is an answer: the server is up, so the backoff of the outage ends here
 * and the relist is not delayed. This is done once for each outage. At a second
 * 410 without an outage since the list, the list itself was too old (it came
 * from a cache that lags behind compaction), so the next list asks for the
 * newest state, with backoff.
 */
static kl_informer_state relist_because(kl__reflector *self,
                                        const kl_error *err, bool at_once)
{
    self->doubts = 0;
    if (at_once && !self->relisted) {
        self->relisted = true;
        kl__backoff_reset(&self->backoff);
    } else if (at_once) {
        self->newest = true;
    }
    return kl__reflector_fail(
        self, &(kl__failure){.error = err,
                             .resume = kl__reflector_relist(self),
                             .at_once = at_once});
}

/*
 * Chooses the next state after a failed request or stream. Failures of the
 * network, credentials, rights and overload say nothing about the version: the
 * watch is tried again from the same version, however long it takes
 * (docs/KUBERNETES.md#errors-that-keep-the-version).
 */
kl_informer_state kl__reflector_watch_failed(kl__reflector *self,
                                             const kl__attempt *now)
{
    const kl_error *err = &now->err;
    kl__failure failure = {.error = err, .resume = KL_STATE_WATCHING};

    switch (err->code) {
    case KL_EGONE:
        return relist_because(self, err, true);
    case KL_EVERSION_AHEAD: /* a restored backup: a list cannot reach it either
                             */
        self->newest = true;
        return relist_because(self, err, true);
    case KL_ENOT_FOUND: /* the resource is gone: its CRD was deleted */
        self->newest = true;
        failure.resume = KL_STATE_RESOLVING;
        return kl__reflector_fail(self, &failure);
    case KL_ETIMEOUT:
        self->relisted = false; /* an outage */
        self->fresh = true;
        return kl__reflector_fail(self, &failure);
    case KL_EUNAVAILABLE: /* a healthy stream broke: it is resumed at once */
        self->relisted = false;
        failure.at_once = err->http_status == 0 && was_healthy(self, now);
        return kl__reflector_fail(self, &failure);
    case KL_ETLS:
    case KL_ECONFIG:
    case KL_EUNAUTHORIZED:
    case KL_EFORBIDDEN:
    case KL_ETOO_MANY_REQUESTS:
    case KL_ENOMEM:
    case KL_ECANCELED:
    case KL_ECLOSED:
        return kl__reflector_fail(self, &failure);
    default: /* an answer that does not parse, 500, an unknown code: the version
                may be the cause */
        if (++self->doubts >= DOUBTS_MAX) {
            return relist_because(self, err, false);
        }
        return kl__reflector_fail(self, &failure);
    }
}

/* A clean end is normal: the watch is resumed at once. A server that always
 * ends it at once is treated as one that fails, with backoff. */
static kl_informer_state after_end(kl__reflector *self, const kl__attempt *now)
{
    kl__failure failure = {.resume = KL_STATE_WATCHING};
    kl_error err = {.retry_after_ms = -1};

    kl__list_watch_end(self->options.source);
    if (kl__reflector_now(self) - now->began >= SHORT_MS) {
        return KL_STATE_WATCHING;
    }
    if (now->progress) {
        return kl__reflector_pause(
            self, kl__backoff_jitter(&self->backoff, 1, SPREAD_MS),
            KL_STATE_WATCHING);
    }
    kl_error_set(&err, KL_EUNAVAILABLE,
                 "the server ends each watch as soon as it has begun");
    failure.error = &err;
    failure.quiet = ++self->refusals < REFUSALS_MAX;
    return kl__reflector_fail(self, &failure);
}

/* The informing task is behind: close the watch, wait for room in the queue,
 * and resume from the last queued version. (A reader that is paused for long
 * would make libcurl buffer up to 32 MB.) */
static kl_informer_state after_stall(kl__reflector *self)
{
    kl_log(KL_LOG_INFO,
           "%s: the queue was full for %lld s; the watch is closed and will be "
           "resumed from %s",
           self->options.name, (long long)self->options.stall_ms / 1000,
           self->version);
    kl__list_watch_end(self->options.source);
    kl__reflector_expect(self, -1);
    kl__packer_pack_all(self->packer); /* the wait may be long */
    return kl__delta_fifo_wait_room(self->options.fifo, -1, self->options.stop)
               ? KL_STATE_WATCHING
               : KL_STATE_STOPPED;
}

static kl_reconnect reason_of(const kl__attempt *now)
{
    static const kl_reconnect reasons[] = {
        [KL__WATCH_ENDED] = KL_RECONNECT_ENDED,
        [KL__WATCH_SILENT] = KL_RECONNECT_SILENT,
        [KL__WATCH_DOUBTED] = KL_RECONNECT_DOUBTED,
        [KL__WATCH_SLOW] = KL_RECONNECT_SLOW,
        [KL__WATCH_BACKWARD] = KL_RECONNECT_DOUBTED,
        [KL__WATCH_BROKE] = KL_RECONNECT_BROKEN,
    };
    kl_code code = now->err.code;

    if (now->result != KL__WATCH_BROKE) {
        return reasons[now->result];
    } else if (code == KL_EUNAUTHORIZED || code == KL_EFORBIDDEN) {
        return KL_RECONNECT_REFUSED;
    } else if (code == KL_ECANCELED) {
        return KL_RECONNECT_RESHARDED; /* or the informer is stopped */
    }
    return code == KL_EGONE ? KL_RECONNECT_EXPIRED : KL_RECONNECT_BROKEN;
}

/* Ends a watch, and chooses the next state by how it ended. */
kl_informer_state kl__reflector_end_watch(kl__reflector *self,
                                          const kl__attempt *now)
{
    atomic_fetch_add_explicit(&self->reconnects[reason_of(now)], 1,
                              memory_order_relaxed);
    /* A watch that lasted SHORT_MS and ended or fell silent shows that an
     * earlier failure is over, so that failure is forgotten for now. The
     * backoff is not reset by this alone (KL__HEALTHY_MS): a proxy may have
     * ended the watch. */
    if ((now->result == KL__WATCH_ENDED || now->result == KL__WATCH_SILENT) &&
        kl__reflector_now(self) - now->began >= SHORT_MS) {
        kl__health_forget(self->options.health);
    }
    switch (now->result) {
    case KL__WATCH_ENDED:
        return after_end(self, now);
    case KL__WATCH_SILENT:
        kl_log(KL_LOG_INFO,
               "%s: nothing came for %lld s; the watch is opened again at %s",
               self->options.name, (long long)now->idle_ms / 1000,
               self->version);
        kl__list_watch_end(self->options.source);
        self->fresh = true;
        /* Ask the server now. check_at is a little later than the silence: it
         * counts from when the last item was read, not from its last byte. */
        self->check_at = kl__reflector_now(self);
        return KL_STATE_WATCHING;
    case KL__WATCH_DOUBTED:
        kl_log(KL_LOG_INFO,
               "%s: nothing of version %s or above came for %lld s; the server "
               "is asked whether it has reached it",
               self->options.name, self->version,
               (long long)self->options.idle_timeout_ms / 1000);
        kl__list_watch_end(self->options.source);
        return KL_STATE_WATCHING;
    case KL__WATCH_SLOW:
        return after_stall(self);
    case KL__WATCH_BACKWARD:
        /* The server answers, so the backoff of an outage before is over. Once
         * in BACKWARD_MS, so that lists cannot follow one another at once. */
        if (kl__reflector_now(self) >= self->backward_until) {
            kl__backoff_reset(&self->backoff);
        }
        self->newest = true;
        self->backward_until =
            kl__clock_after(self->options.clock, BACKWARD_MS);
        return relist_because(self, &now->err, true);
    default:
        if (self->is_opaque) {
            /* A restore may have broken the stream; later events would not show
             * it, as their versions are not compared. */
            self->check_at = 0;
        }
        return kl__reflector_watch_failed(self, now);
    }
}
