/*
 * reflector_watch.c - the state that watches: puts each event into the queue
 * and keeps the version. A watch that ended, broke or fell silent is resumed
 * from that version; a list follows only if the version is in doubt. Meanwhile
 * the objects that watches have brought are packed at the end of their youth
 * (object/pack.h). See reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "kubelua/log.h"

#include <string.h>

enum {
    /* Watches that fall silent together are resumed over a tenth of their idle
       timeout, as each opens a new connection. */
    IDLE_SPREAD = 10,
    /* The maximum number of items of one turn on the transport thread. */
    LENT_ITEMS = 16,
    /* Objects that are packed before the next look for an event: they take some
       50 us. */
    PACKED_AT_ONCE = 16
};

/* If the objects of this reflector rest packed, gives an object of a watch to
 * the packer, which leaves it plain for a while ("young": object/pack.h), or
 * packs it now. Takes the reference, returns one. */
static kl_object *keep_young(kl__reflector *self, kl_object *object)
{
    size_t crowd;

    if (self->packer == NULL) {
        return object;
    }
    crowd = self->options.known != NULL ? kl__indexer_count(self->options.known)
                                        : 0;
    return kl__packer_keep_young(self->packer, object, crowd,
                                 kl__reflector_now(self));
}

/* Packs at most `most` objects that are due. Returns how long the caller may
 * wait: `rest_ms`, or less if an object is due before (< 0: no limit). */
static int64_t pack_some(kl__reflector *self, int64_t rest_ms, size_t most)
{
    int64_t now_ms, left_ms;

    if (self->packer == NULL) {
        return rest_ms;
    }
    now_ms = kl__reflector_now(self);
    left_ms = kl__packer_pack_due(self->packer, now_ms, most);
    if (left_ms == INT64_MAX) {
        return rest_ms;
    }
    left_ms = left_ms > now_ms ? left_ms - now_ms : 0;
    return rest_ms < 0 || left_ms < rest_ms ? left_ms : rest_ms;
}

int64_t kl__reflector_pack_due(kl__reflector *self, int64_t rest_ms)
{
    return pack_some(self, rest_ms, PACKED_AT_ONCE);
}

/* The same without packing: how long a wait of `rest_ms` may be. */
static int64_t limit_wait(kl__reflector *self, int64_t rest_ms)
{
    return pack_some(self, rest_ms, 0);
}

/* True while only a probe (reflector_version.c) shows that the server was not
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
    static const kl__delta_type types[] = {
        [KL__ITEM_ADDED] = KL__DELTA_ADDED,
        [KL__ITEM_MODIFIED] = KL__DELTA_UPDATED,
        [KL__ITEM_DELETED] = KL__DELTA_DELETED,
        [KL__ITEM_LEFT] = KL__DELTA_LEFT};

    return types[item->type];
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
    object = keep_young(self, item->object);
    item->object = NULL;
    return kl__delta_fifo_push(self->options.fifo, delta_type_of(item), object,
                               self->options.stall_ms, self->options.stop);
}

/*
 * True for an event below the version, if a relist may cure that: versions of
 * aggregated API servers may fall (docs/KUBERNETES.md#opaque-versions).
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
    case KL__ITEM_LEFT:
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
                                       &self->interrupt.token, &now->err);

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

/* True if the task, which rests, must go on earlier than it planned: something
 * is due before. */
static bool rests_too_long(kl__reflector *self, const kl__attempt *now)
{
    int64_t rest_ms = limit_wait(self, item_timeout(self, now));
    int64_t until = kl__clock_after(self->options.clock, rest_ms);

    return until >= 0 && (now->until < 0 || until < now->until);
}

/*
 * The reflector's turn (kl__stream_turn): handles the items that have come, and
 * applies them. Nothing blocks here: what has to wait for the queue or the
 * informing task is left in the stream, and the reflector's task reads it.
 */
static bool take_turn(void *arg)
{
    kl__reflector *self = arg;
    kl__attempt *now = &self->attempt;
    size_t room = kl__delta_fifo_idle_room(self->options.fifo);

    for (size_t i = 0; i < room && i < LENT_ITEMS; i++) {
        if (!read_item(self, now, 0)) {
            set_gathering(self, now, false);
            kl__reflector_expect(self, item_timeout(self, now));
            return !rests_too_long(self, now);
        }
        if (now->result != KL__WATCH_GOES_ON) {
            return false;
        }
    }
    return false;
}

/* True if the transport thread may carry out the turn: it must not call
 * functions of the user. */
static bool may_be_carried_out(const kl__reflector *self)
{
    return self->options.known != NULL &&
           !kl__indexer_calls_functions(self->options.known);
}

/* Rests until an item comes, at most for `timeout_ms`; the transport thread may
 * handle items meanwhile. False: there is something to read. */
static bool rest_in_watch(kl__reflector *self, kl__attempt *now,
                          int64_t timeout_ms)
{
    now->until = kl__clock_after(self->options.clock, timeout_ms);
    return kl__reflector_rest_lent(
        self, may_be_carried_out(self) ? take_turn : NULL, timeout_ms);
}

static void end_rest(kl__reflector *self, kl__attempt *now)
{
    note_health(self, now);
    if (now->result == KL__WATCH_GOES_ON &&
        kl__cancel_fired(&self->interrupt.token)) {
        now->err.code = KL_ECANCELED;
        now->result = KL__WATCH_BROKE;
    }
    /* what has come is read at once */
    set_gathering(self, now, now->result == KL__WATCH_GOES_ON);
}

/* Waits for an item. False: the task rests. */
static bool await_item(kl__reflector *self, kl__attempt *now)
{
    int64_t timeout_ms;

    kl__reflector_expect(self, item_timeout(self, now));
    timeout_ms = kl__reflector_pack_due(self, item_timeout(self, now));
    if (timeout_ms == 0 || !kl__list_watch_lends(self->options.source)) {
        (void)read_item(self, now, timeout_ms);
    } else if (rest_in_watch(self, now, timeout_ms)) {
        return false;
    } else {
        set_gathering(self, now, true);
    }
    return true;
}

/*
 * True if no item has come for the idle timeout, and none is left to read. The
 * transport thread may leave items that it has read (LENT_ITEMS, or a full
 * queue), and the bytes may be old, if this process did not run for a while.
 * They are handled before the watch is given up, because the next watch begins
 * at the version of the last item.
 */
static bool is_silent(kl__reflector *self, kl__attempt *now)
{
    return now->idle_ms > 0 &&
           kl__list_watch_silence_ms(self->options.source) >= now->idle_ms &&
           !read_item(self, now, 0);
}

/* Reads a watch until it ends, or until the task rests (false). In a burst it
 * does not wait at first; when no item is there, the burst is over. */
static bool read_watch(kl__reflector *self, kl__attempt *now)
{
    while (now->result == KL__WATCH_GOES_ON) {
        if (now->gathers && read_item(self, now, 0)) {
            continue;
        }
        set_gathering(self, now, false);
        if (is_silent(self, now)) {
            now->result = KL__WATCH_SILENT;
        } else if (now->result == KL__WATCH_GOES_ON && !now->gathers &&
                   !await_item(self, now)) {
            return false;
        }
    }
    set_gathering(self, now, false);
    return true;
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

/* Asks the server whether it has reached the version to watch from, if that is
 * in doubt. The time without proof adds up over several watches, since a proxy
 * may end each of them early. False: the task rests. */
static bool probe_version(kl__reflector *self, kl__attempt *now)
{
    if (!now->is_probed && now->probe.got == KL__NOT_ASKED) {
        now->is_probed = !kl__reflector_doubts_version(self);
    }
    if (!now->is_probed && !kl__reflector_probe(self, &now->probe, &now->err)) {
        return false;
    }
    now->is_probed = true;
    return true;
}

/* Sends the watch, and waits for the head of its answer; a server that has not
 * reached the version is not watched. False: the task rests. */
static bool begin_watch(kl__reflector *self, kl__attempt *now)
{
    kl__watch_params params = {
        .resource_version = self->version,
        .fresh_connection = self->fresh,
    };

    if (!probe_version(self, now)) {
        return false;
    }
    if (now->err.code == KL_OK && now->got == KL__NOT_ASKED) {
        params.timeout_seconds = kl__reflector_timeout_seconds(self);
        now->began = kl__reflector_now(self);
        now->got = KL__ASKED;
        now->err.code = kl__list_watch_watch(self->options.source, &params,
                                             &self->interrupt.token, &now->err);
    }
    self->fresh = false;
    return now->err.code != KL_OK ||
           kl__reflector_await_answer(self, &now->err);
}

/* The watch is open: what is known of it from now on. */
static void note_watch(kl__reflector *self, kl__attempt *now)
{
    now->got = KL__ANSWERED;
    now->idle_ms = spread_idle(self);
    self->streaming = false;
    atomic_fetch_add_explicit(&self->watches, 1, memory_order_relaxed);
    /* The bytes that came with the head, or after a streaming list. */
    set_gathering(self, now, kl__list_watch_lends(self->options.source));
}

/* Begins a watch: the rest of a streaming list, or a new one. Returns the state
 * to go on with: KL_STATE_WATCHING, which may rest, or another if it failed. */
static kl_informer_state open_watch(kl__reflector *self, kl__attempt *now)
{
    if (!self->streaming) {
        if (!begin_watch(self, now)) {
            return KL_STATE_WATCHING;
        }
        if (now->err.code != KL_OK) {
            now->is_begun = false;
            return kl__reflector_watch_failed(self, now);
        }
    }
    note_watch(self, now);
    return KL_STATE_WATCHING;
}

/* Prepares a watch. False: it would begin without a version, after a list that
 * had none. It brings all objects again, but not what was deleted meanwhile: so
 * list again before each such watch (docs/KUBERNETES.md#list-without-version).
 */
static bool prepare_watch(kl__reflector *self, kl__attempt *now)
{
    *now = (kl__attempt){.began = kl__reflector_now(self),
                         .err = {.retry_after_ms = -1}};
    if (self->version[0] == '\0' && !self->was_listed) {
        return false;
    }
    self->was_listed = false;
    now->is_unordered = self->version[0] == '\0';
    now->is_begun = true;
    return true;
}

/* Rests until the shard changes: the namespace is not of it. */
static kl_informer_state rest_outside(kl__reflector *self)
{
    kl__reflector_expect(self, -1);
    if (!kl__cancel_fired(&self->interrupt.token)) {
        kl__reflector_rest(self, self->options.clock, -1);
    }
    return KL_STATE_WATCHING;
}

kl_informer_state kl__reflector_watch(kl__reflector *self)
{
    kl__attempt *now = &self->attempt;

    if (kl__list_watch_is_outside(self->options.source)) {
        return rest_outside(self);
    }
    if (!now->is_begun && !prepare_watch(self, now)) {
        return kl__reflector_relist(self);
    }
    if (now->got == KL__ANSWERED) {
        end_rest(self, now);
    } else {
        kl_informer_state next = open_watch(self, now);

        if (now->got != KL__ANSWERED) {
            return next;
        }
    }
    if (!read_watch(self, now)) {
        return KL_STATE_WATCHING;
    }
    now->is_begun = false;
    return kl__reflector_end_watch(self, now);
}
