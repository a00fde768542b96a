/*
 * reflector_watch.c - the state that watches: puts each event into the queue,
 * keeps the version, and resumes the watch from that version when it ends,
 * breaks or falls silent. It lists again only if the version is in doubt. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "kubelua/log.h"

#include <string.h>

enum {
    /* A watch that lasted this long is healthy, even without events. */
    HEALTHY_MS = 10000,
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
    BACKWARD_MS = 3600000,
    /* Watches that fall silent together are resumed over a tenth of their idle
       timeout, as each opens a new connection. */
    IDLE_SPREAD = 10
};

/* How a watch ended. */
typedef enum outcome {
    GOES_ON,
    ENDED,    /* the server ended it cleanly */
    SILENT,   /* no byte for idle_timeout_ms */
    DOUBTED,  /* items came, but none at the version or above */
    SLOW,     /* the queue was full for stall_ms */
    BACKWARD, /* an event had a lower version than one before */
    BROKE     /* it failed; `err` says why */
} outcome;

typedef struct attempt {
    int64_t began; /* taken before the request, as a proxy may delay the head */
    int64_t idle_ms; /* how long it may be silent; < 0: no limit */
    bool progress;   /* it brought something new */
    bool gathers;    /* the queue gathers: items come without a wait */
} attempt;

/* True while only a probe (reflector_probe.c) can show that the server was not
 * restored. With opaque versions, a bookmark is compared with the last list
 * only, so it may be of a restored server and pass. */
static bool awaits_answer(const kl__reflector *self)
{
    return self->is_opaque && self->unchecked;
}

/* Sets the version to that of an item, which shows that the server has reached
 * it. */
static void advance_version(kl__reflector *self, attempt *now,
                            const char *version)
{
    if (!awaits_answer(self)) {
        kl__reflector_trust_version(self);
    }
    if (strcmp(version, self->version) != 0) {
        strcpy(self->version, version);
        now->progress = true;
        kl__reflector_healthy(self);
    }
}

static kl__delta_type delta_type_of(const kl__item *item)
{
    switch (item->type) {
    case KL__ITEM_ADDED:
        return KL__DELTA_ADDED;
    case KL__ITEM_MODIFIED:
        return KL__DELTA_UPDATED;
    default:
        return KL__DELTA_DELETED;
    }
}

static kl_code push_item(kl__reflector *self, kl__item *item)
{
    kl_object *object = kl__reflector_keep_young(self, item->object);

    item->object = NULL;
    return kl__delta_fifo_push(self->options.fifo, delta_type_of(item), object,
                               self->options.stall_ms, self->options.stop);
}

/*
 * True for an event below the version, if a relist may cure that. Versions of
 * built-in kinds and CRDs rise; those of an aggregated API server may not
 * (docs/KUBERNETES.md#opaque-versions), and then a list cures nothing.
 */
static bool is_backward(kl__reflector *self, const char *version)
{
    if (self->is_opaque || !kl__version_is_older(version, self->version)) {
        return false;
    }
    if (kl__reflector_now(self) >= self->backward_until) {
        return true;
    }
    kl_log(KL_LOG_WARN,
           "%s: the server sent version %s after %s, again after a new list: "
           "its versions do not rise, and are not compared from now on",
           self->options.name, version, self->version);
    self->is_opaque = true;
    return false;
}

/* Handles an event about an object. The version moves only after the event is
 * queued, and never to "". */
static outcome handle_event(kl__reflector *self, attempt *now, kl__item *item,
                            kl_error *err)
{
    kl_code code;

    if (is_backward(self, item->version)) {
        kl_error_set(err, KL_EPARSE,
                     "resourceVersion went back from %s to %s within a watch",
                     self->version, item->version);
        return BACKWARD;
    }
    if (!kl__ahead_covers(&self->ahead, kl_object_key(item->object),
                          item->version)) {
        /* Ends the error before a handler can get the event. */
        kl__health_forget(self->options.health);
        code = push_item(self, item);
        if (code == KL_ETIMEOUT) {
            return SLOW;
        }
        if (code != KL_OK) {
            kl_error_set(err, code, "out of memory for an event");
            return BROKE;
        }
    }
    if (item->version[0] != '\0') {
        advance_version(self, now, item->version);
    }
    return GOES_ON;
}

static outcome handle_bookmark(kl__reflector *self, attempt *now,
                               const kl__item *item, kl_error *err)
{
    kl_code code;

    if (item->version[0] == '\0' || awaits_answer(self) ||
        kl__version_is_older(item->version, kl__reflector_floor(self))) {
        kl_log(KL_LOG_DEBUG, "%s: bookmark %s ignored at %s",
               self->options.name, item->version, kl__reflector_floor(self));
        return kl__reflector_doubts_version(self) ? DOUBTED : GOES_ON;
    }
    code = kl__delta_fifo_bookmark(self->options.fifo, item->version);
    if (code != KL_OK) {
        kl_error_set(err, code, "out of memory for a bookmark");
        return BROKE;
    }
    strcpy(self->listed, item->version);
    advance_version(self, now, item->version);
    return GOES_ON;
}

static outcome handle_item(kl__reflector *self, attempt *now, kl__item *item,
                           kl_error *err)
{
    if (item->type != KL__ITEM_END) {
        kl__reflector_note_item(self);
    }
    switch (item->type) {
    case KL__ITEM_ADDED:
    case KL__ITEM_MODIFIED:
    case KL__ITEM_DELETED:
        atomic_fetch_add_explicit(&self->events, 1, memory_order_relaxed);
        return handle_event(self, now, item, err);
    case KL__ITEM_BOOKMARK:
        atomic_fetch_add_explicit(&self->events, 1, memory_order_relaxed);
        return handle_bookmark(self, now, item, err);
    case KL__ITEM_END:
        return ENDED;
    default:
        kl_error_set(err, KL_EPARSE, "no watch event, but something else");
        return BROKE;
    }
}

/* The time to wait for an item: until the idle timeout, or until the watch
 * counts as healthy. */
static int64_t item_timeout(const kl__reflector *self, const attempt *now)
{
    int64_t wait_ms = -1;

    if (now->idle_ms > 0) {
        wait_ms =
            now->idle_ms - kl__list_watch_silence_ms(self->options.source);
        wait_ms = wait_ms > 0 ? wait_ms : 0;
    }
    if (!kl__backoff_at_rest(&self->backoff)) {
        int64_t lived = kl__reflector_now(self) - now->began;

        if (lived < HEALTHY_MS &&
            (wait_ms < 0 || HEALTHY_MS - lived < wait_ms)) {
            wait_ms = HEALTHY_MS - lived;
        }
    }
    return wait_ms;
}

/* Makes the queue gather the items of a burst, or apply them. */
static void set_gathering(kl__reflector *self, attempt *now, bool gathers)
{
    if (now->gathers != gathers) {
        now->gathers = gathers;
        if (!gathers && self->options.apply_queued != NULL) {
            self->options.apply_queued(self->options.context);
        }
        kl__delta_fifo_gather(self->options.fifo, gathers);
    }
}

/* The next item. In a burst it does not wait at first; when no item is there,
 * the burst is over. */
static kl_code next_item(kl__reflector *self, attempt *now, kl__item *item,
                         kl_error *err)
{
    kl__list_watch *source = self->options.source;
    kl_code code;

    if (now->gathers) {
        code = kl__list_watch_next(source, item, 0, self->options.stop, err);
        if (code != KL_ETIMEOUT || err->http_status != 0) {
            return code;
        }
        set_gathering(self, now, false);
    }
    code = kl__list_watch_next(
        source, item, kl__reflector_pack_due(self, item_timeout(self, now)),
        self->options.stop, err);
    set_gathering(self, now, code == KL_OK);
    return code;
}

static outcome read_watch(kl__reflector *self, attempt *now, kl_error *err)
{
    outcome result = GOES_ON;

    while (result == GOES_ON) {
        kl__item item = {0};
        kl_code code = next_item(self, now, &item, err);

        if (kl__reflector_now(self) - now->began >= HEALTHY_MS) {
            kl__reflector_healthy(self);
        }
        if (code == KL_ETIMEOUT && err->http_status == 0) {
            if (now->idle_ms > 0 && kl__list_watch_silence_ms(
                                        self->options.source) >= now->idle_ms) {
                result = SILENT;
            }
            continue;
        }
        if (code == KL_OK) {
            result = handle_item(self, now, &item, err);
            kl__item_clear(&item);
        } else {
            err->code = code;
            result = BROKE;
        }
    }
    set_gathering(self, now, false);
    return result;
}

static bool was_healthy(const kl__reflector *self, const attempt *now)
{
    return now->progress || kl__reflector_now(self) - now->began >= HEALTHY_MS;
}

/*
 * A 410 is an answer: the server is up, so the backoff of the outage ends here
 * and the relist is not delayed. This is done only once in a row. At a second
 * 410 the list itself was too old (it came from a cache that lags behind
 * compaction), so the next list asks for the newest state, with backoff.
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
static kl_informer_state after_error(kl__reflector *self, const kl_error *err,
                                     const attempt *now)
{
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
        self->fresh = true;
        return kl__reflector_fail(self, &failure);
    case KL_EUNAVAILABLE: /* a healthy stream broke: it is resumed at once */
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
static kl_informer_state after_end(kl__reflector *self, const attempt *now)
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

/* The informer thread is behind: close the watch, wait for room in the queue,
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
    kl__packer_pack_all(self->packer); /* the wait may be long */
    return kl__delta_fifo_wait_room(self->options.fifo, -1, self->options.stop)
               ? KL_STATE_WATCHING
               : KL_STATE_STOPPED;
}

static kl_informer_state end_watch(kl__reflector *self, outcome result,
                                   const attempt *now, const kl_error *err)
{
    /* A watch that lasted SHORT_MS and ended or fell silent shows that an
     * earlier failure is over. It does not show health yet (HEALTHY_MS): a
     * proxy may have ended it. */
    if ((result == ENDED || result == SILENT) &&
        kl__reflector_now(self) - now->began >= SHORT_MS) {
        kl__health_forget(self->options.health);
    }
    switch (result) {
    case ENDED:
        return after_end(self, now);
    case SILENT:
        kl_log(KL_LOG_INFO,
               "%s: nothing came for %lld s; the watch is opened again at %s",
               self->options.name, (long long)now->idle_ms / 1000,
               self->version);
        kl__list_watch_end(self->options.source);
        self->fresh = true;
        /* check_at was set when the last item was read, which is later than its
         * last byte came */
        self->check_at = kl__reflector_now(self);
        return KL_STATE_WATCHING;
    case DOUBTED:
        kl_log(KL_LOG_INFO,
               "%s: nothing of version %s or above came for %lld s; the server "
               "is asked whether it has reached it",
               self->options.name, self->version,
               (long long)self->options.idle_timeout_ms / 1000);
        kl__list_watch_end(self->options.source);
        return KL_STATE_WATCHING;
    case SLOW:
        return after_stall(self);
    case BACKWARD:
        /* The server answers, so the backoff of an outage before is over. Once
         * in BACKWARD_MS, so that lists cannot follow one another at once. */
        if (kl__reflector_now(self) >= self->backward_until) {
            kl__backoff_reset(&self->backoff);
        }
        self->newest = true;
        self->backward_until =
            kl__clock_after(self->options.clock, BACKWARD_MS);
        return relist_because(self, err, true);
    default:
        if (self->is_opaque) {
            /* A restore may have broken the stream; later events would not show
             * it, as their versions are not compared. */
            self->check_at = 0;
        }
        return after_error(self, err, now);
    }
}

/* How long the next watch may be silent: an idle timeout, or until the server
 * is asked again about the version. */
static int64_t spread_idle(kl__reflector *self)
{
    int64_t idle = self->options.idle_timeout_ms;
    int64_t spread =
        idle > 0 ? kl__backoff_jitter(&self->backoff, 0, idle / IDLE_SPREAD)
                 : 0;

    if (self->unchecked) {
        idle = self->check_at - kl__reflector_now(self);
        idle = idle > 0 ? idle : 1;
    }
    return idle < INT64_MAX - spread ? idle + spread : INT64_MAX;
}

/* Begins a watch, unless the server has not reached its version. If the version
 * is in doubt the server is asked, however short the watches before were: a
 * proxy may end each of them early. */
static kl_code begin_watch(kl__reflector *self, attempt *now, kl_error *err)
{
    kl__watch_params params = {
        .resource_version = self->version,
        .timeout_seconds = kl__reflector_timeout_seconds(self),
        .fresh_connection = self->fresh,
    };
    kl_code code = kl__reflector_doubts_version(self)
                       ? kl__reflector_probe(self, err)
                       : KL_OK;

    self->fresh = false;
    now->began = kl__reflector_now(self);
    return code == KL_OK ? kl__list_watch_watch(self->options.source, &params,
                                                self->options.stop, err)
                         : code;
}

kl_informer_state kl__reflector_watch(kl__reflector *self)
{
    attempt now = {.began = kl__reflector_now(self)};
    kl_error err = {.retry_after_ms = -1};

    if (!self->streaming) {
        err.code = begin_watch(self, &now, &err);
        if (err.code != KL_OK) {
            return after_error(self, &err, &now);
        }
    }
    now.idle_ms = spread_idle(self);
    self->streaming = false;
    atomic_fetch_add_explicit(&self->watches, 1, memory_order_relaxed);
    return end_watch(self, read_watch(self, &now, &err), &now, &err);
}
