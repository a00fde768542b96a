/*
 * reflector_watch.c - the state that watches: puts each event into the queue,
 * keeps the version, and resumes the watch from that version when it ends,
 * breaks or falls silent. It lists again only if the version is in doubt. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "kubelua/log.h"

#include <string.h>

/* Watches that fall silent together are resumed over a tenth of their idle
 * timeout, as each opens a new connection. */
enum { IDLE_SPREAD = 10 };

/* The maximum number of items of one turn on the transport thread. */
enum { LENT_ITEMS = 16 };

/* True while only a probe (reflector_probe.c) can show that the server was not
 * restored. With opaque versions, a bookmark is compared with the last list
 * only, so it may be of a restored server and pass. */
static bool awaits_answer(const kl__reflector *self)
{
    return self->is_opaque && self->unchecked;
}

/* Sets the version to that of an item, which shows that the server has reached
 * it. */
static void advance_version(kl__reflector *self, kl__attempt *now,
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
    kl_object *object;

    if (item->unreadable != NULL) {
        kl__unreadable *unreadable = item->unreadable;

        item->unreadable = NULL;
        return kl__delta_fifo_unreadable(
            self->options.fifo, unreadable, item->type == KL__ITEM_DELETED,
            self->options.stall_ms, self->options.stop);
    }
    object = kl__reflector_keep_young(self, item->object);
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
 * queued, and never to "". In a watch from no version it moves only when all
 * objects have come, which any event but ADDED shows: until then a change may
 * be missing that is older than the events that have come. */
static kl__outcome handle_event(kl__reflector *self, kl__attempt *now,
                                kl__item *item, kl_error *err)
{
    kl_code code;

    now->is_unordered = now->is_unordered && item->type == KL__ITEM_ADDED;
    if (is_backward(self, item->version)) {
        kl_error_set(err, KL_EPARSE,
                     "resourceVersion went back from %s to %s within a watch",
                     self->version, item->version);
        return KL__WATCH_BACKWARD;
    }
    if (!kl__ahead_covers(&self->ahead, kl__item_key(item), item->version)) {
        /* Ends the error before a handler can get the event. */
        kl__health_forget(self->options.health);
        code = push_item(self, item);
        if (code == KL_ETIMEOUT) {
            return KL__WATCH_SLOW;
        }
        if (code != KL_OK) {
            kl_error_set(err, code, "out of memory for an event");
            return KL__WATCH_BROKE;
        }
    }
    if (item->version[0] != '\0' && !now->is_unordered) {
        advance_version(self, now, item->version);
    }
    return KL__WATCH_GOES_ON;
}

static kl__outcome handle_bookmark(kl__reflector *self, kl__attempt *now,
                                   const kl__item *item, kl_error *err)
{
    kl_code code;

    if (item->version[0] == '\0' || awaits_answer(self) ||
        kl__version_is_older(item->version, kl__reflector_floor(self))) {
        kl_log(KL_LOG_DEBUG, "%s: bookmark %s ignored at %s",
               self->options.name, item->version, kl__reflector_floor(self));
        return kl__reflector_doubts_version(self) ? KL__WATCH_DOUBTED
                                                  : KL__WATCH_GOES_ON;
    }
    code = kl__delta_fifo_bookmark(self->options.fifo, item->version);
    if (code != KL_OK) {
        kl_error_set(err, code, "out of memory for a bookmark");
        return KL__WATCH_BROKE;
    }
    strcpy(self->listed, item->version);
    now->is_unordered = false;
    advance_version(self, now, item->version);
    return KL__WATCH_GOES_ON;
}

static kl__outcome handle_item(kl__reflector *self, kl__attempt *now,
                               kl__item *item, kl_error *err)
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
        return KL__WATCH_ENDED;
    default:
        kl_error_set(err, KL_EPARSE, "no watch event, but something else");
        return KL__WATCH_BROKE;
    }
}

/* The time to wait for an item: until the idle timeout, or until the watch
 * counts as healthy. */
static int64_t item_timeout(const kl__reflector *self, const kl__attempt *now)
{
    int64_t wait_ms = -1;

    if (now->idle_ms > 0) {
        wait_ms =
            now->idle_ms - kl__list_watch_silence_ms(self->options.source);
        wait_ms = wait_ms > 0 ? wait_ms : 0;
    }
    if (!kl__backoff_at_rest(&self->backoff)) {
        int64_t lived = kl__reflector_now(self) - now->began;

        if (lived < KL__HEALTHY_MS &&
            (wait_ms < 0 || KL__HEALTHY_MS - lived < wait_ms)) {
            wait_ms = KL__HEALTHY_MS - lived;
        }
    }
    return wait_ms;
}

/* Makes the queue gather the items of a burst, or apply them. */
static void set_gathering(kl__reflector *self, kl__attempt *now, bool gathers)
{
    if (now->gathers != gathers) {
        now->gathers = gathers;
        if (!gathers && self->options.apply_queued != NULL) {
            self->options.apply_queued(self->options.context);
        }
        kl__delta_fifo_gather(self->options.fifo, gathers);
    }
}

static void note_health(kl__reflector *self, const kl__attempt *now)
{
    if (!kl__backoff_at_rest(&self->backoff) &&
        kl__reflector_now(self) - now->began >= KL__HEALTHY_MS) {
        kl__reflector_healthy(self);
    }
}

/* Reads the next item and handles it. False: none came within timeout_ms. */
static bool read_item(kl__reflector *self, kl__attempt *now, int64_t timeout_ms)
{
    kl__item item = {0};
    kl_code code = kl__list_watch_next(self->options.source, &item, timeout_ms,
                                       self->options.stop, &now->err);

    note_health(self, now);
    if (code == KL_ETIMEOUT && now->err.http_status == 0) {
        return false;
    }
    set_gathering(self, now, code == KL_OK);
    if (code == KL_OK) {
        now->result = handle_item(self, now, &item, &now->err);
        kl__item_clear(&item);
    } else {
        now->err.code = code;
        now->result = KL__WATCH_BROKE;
    }
    return true;
}

/* True if the reflector's thread waits longer than it may now. */
static bool waits_too_long(kl__reflector *self, const kl__attempt *now)
{
    int64_t rest_ms = kl__reflector_until_due(self, item_timeout(self, now));
    int64_t until = kl__clock_after(self->options.clock, rest_ms);

    return until >= 0 && (now->until < 0 || until < now->until);
}

/*
 * The reflector's turn (kl__stream_turn): handles the items that have come, and
 * applies them. Nothing blocks here: what has to wait for the queue or the
 * informer thread is left in the stream, and the reflector's thread reads it.
 */
static bool take_turn(void *arg)
{
    kl__attempt *now = arg;
    kl__reflector *self = now->reflector;
    size_t room = kl__delta_fifo_idle_room(self->options.fifo);

    for (size_t i = 0; i < room && i < LENT_ITEMS; i++) {
        if (!read_item(self, now, 0)) {
            set_gathering(self, now, false);
            return !waits_too_long(self, now);
        }
        if (now->result != KL__WATCH_GOES_ON) {
            return false;
        }
    }
    return false;
}

/* True if the transport thread may have the turn: it must not call functions of
 * the user. */
static bool can_lend(const kl__reflector *self)
{
    return kl__list_watch_lends(self->options.source) &&
           self->options.known != NULL &&
           !kl__indexer_calls_functions(self->options.known);
}

/* Waits for bytes, and lends the turn meanwhile. False: the time is over. */
static bool lend_turn(kl__reflector *self, kl__attempt *now)
{
    const kl__stream_turn turn = {.run = take_turn, .arg = now};
    int64_t now_ms = kl__reflector_now(self);
    int64_t timeout_ms = kl__reflector_pack_due(self, item_timeout(self, now));
    kl_error err = {.retry_after_ms = -1}; /* now->err is the turn's */
    kl_code code;

    now->until = timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms
                     ? -1
                     : now_ms + timeout_ms;
    code = kl__list_watch_wait(self->options.source, &turn, timeout_ms,
                               self->options.stop, &err);
    note_health(self, now);
    if (code == KL_OK) {
        set_gathering(self, now, true); /* what has come is read at once */
    } else if (code != KL_ETIMEOUT && now->result == KL__WATCH_GOES_ON) {
        now->err = err;
        now->err.code = code;
        now->result = KL__WATCH_BROKE;
    }
    return code != KL_ETIMEOUT;
}

/* Waits for an item. False: none came in time. */
static bool await_item(kl__reflector *self, kl__attempt *now)
{
    if (can_lend(self)) {
        return lend_turn(self, now);
    }
    return read_item(self, now,
                     kl__reflector_pack_due(self, item_timeout(self, now)));
}

/*
 * True if no item has come for the idle timeout, and none is left to read. A
 * wait may time out while the transport thread has the turn: the transport
 * thread may leave items that it has read (LENT_ITEMS, or a full queue), and
 * the bytes may be old, if this process did not run for a while. They are
 * handled before the watch is given up, because the next watch begins at the
 * version of the last item.
 */
static bool is_silent(kl__reflector *self, kl__attempt *now)
{
    return now->result == KL__WATCH_GOES_ON && now->idle_ms > 0 &&
           kl__list_watch_silence_ms(self->options.source) >= now->idle_ms &&
           !read_item(self, now, 0);
}

/* Reads a watch until it ends. In a burst it does not wait at first; when no
 * item is there, the burst is over. */
static void read_watch(kl__reflector *self, kl__attempt *now)
{
    /* The bytes that came with the head, or after a streaming list. */
    set_gathering(self, now, can_lend(self));
    while (now->result == KL__WATCH_GOES_ON) {
        if (now->gathers && read_item(self, now, 0)) {
            continue;
        }
        set_gathering(self, now, false);
        if (!await_item(self, now) && is_silent(self, now)) {
            now->result = KL__WATCH_SILENT;
        }
    }
    set_gathering(self, now, false);
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
static kl_code begin_watch(kl__reflector *self, kl__attempt *now)
{
    kl__watch_params params = {
        .resource_version = self->version,
        .timeout_seconds = kl__reflector_timeout_seconds(self),
        .fresh_connection = self->fresh,
    };
    kl_code code = kl__reflector_doubts_version(self)
                       ? kl__reflector_probe(self, &now->err)
                       : KL_OK;

    self->fresh = false;
    now->began = kl__reflector_now(self);
    return code == KL_OK ? kl__list_watch_watch(self->options.source, &params,
                                                self->options.stop, &now->err)
                         : code;
}

kl_informer_state kl__reflector_watch(kl__reflector *self)
{
    kl__attempt now = {.reflector = self,
                       .began = kl__reflector_now(self),
                       .err = {.retry_after_ms = -1}};

    /* A list without a version can be watched from no version only, which says
     * nothing of what was deleted before: so each such watch needs a list of
     * its own (docs/KUBERNETES.md#list-without-version). */
    if (self->version[0] == '\0' && !self->was_listed) {
        return kl__reflector_relist(self);
    }
    self->was_listed = false;
    now.is_unordered = self->version[0] == '\0';
    if (!self->streaming) {
        now.err.code = begin_watch(self, &now);
        if (now.err.code != KL_OK) {
            return kl__reflector_watch_failed(self, &now);
        }
    }
    now.idle_ms = spread_idle(self);
    self->streaming = false;
    atomic_fetch_add_explicit(&self->watches, 1, memory_order_relaxed);
    read_watch(self, &now);
    return kl__reflector_end_watch(self, &now);
}
