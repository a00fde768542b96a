/*
 * play.c - runs a history: the first fiber goes through the operations, and
 * hands some of them to others.
 */
#include "oracle.h"

#include "coverage.h"
#include "kubelua/client.h"
#include "object/packer.h"
#include "schedule.h"

#include <stdlib.h>

void world_changed(world *self)
{
    kl__mutex_lock(&self->mutex);
    kl__cond_broadcast(&self->changed);
    kl__mutex_unlock(&self->mutex);
}

/* True if a write succeeded. A create fails if the key exists; an update or
 * delete fails if it does not. */
static bool written(int64_t version)
{
    coverage_add(COVER_WRITES, version != 0 ? 1 : 0);
    return version != 0;
}

static server_spec next_spec(world *self, int node, int app)
{
    int torn = self->history->switches.unreadable_per_mille;

    return (server_spec){.value = ++self->value,
                         .node = node,
                         .app = app,
                         .is_unreadable = torn > 0 && schedule_chance(torn)};
}

static void put(world *self, int number, const server_spec *spec)
{
    server_kind kind;
    const char *key = history_key(number, &kind);

    if (server_find(self->server, kind, key) != NULL) {
        written(server_update(self->server, kind, key, spec));
    } else {
        written(server_create(self->server, kind, key, spec));
    }
}

/* Finds the first key from what->key on that exists (for a create: that does
 * not exist); what->key if there is none. */
static const char *find_key(world *self, const op *what, server_kind *kind)
{
    bool exists = what->type != OP_CREATE;

    for (int i = 0; i < HISTORY_KEYS; i++) {
        const char *key = history_key((what->key + i) % HISTORY_KEYS, kind);

        if ((server_find(self->server, *kind, key) != NULL) == exists) {
            return key;
        }
    }
    return history_key(what->key, kind);
}

static void write_one(world *self, const op *what)
{
    server_spec spec = next_spec(self, what->a - 1, what->b - 1);
    server_kind kind;
    const char *key = find_key(self, what, &kind);

    switch (what->type) {
    case OP_CREATE:
        written(server_create(self->server, kind, key, &spec));
        break;
    case OP_UPDATE:
        written(server_update(self->server, kind, key, &spec));
        break;
    case OP_DELETE:
        written(server_delete(self->server, kind, key));
        break;
    default:
        if (written(server_delete(self->server, kind, key))) {
            written(server_create(self->server, kind, key, &spec));
            coverage_add(COVER_RECREATES_DOWN,
                         server_streams(self->server) == 0 ? 1 : 0);
        }
        break;
    }
}

static void write_many(world *self, const op *what)
{
    int first = what->type == OP_CROWD ? HISTORY_KEYS : what->key;
    int keys = what->type == OP_CROWD ? what->a : what->b;

    for (int i = 0; i < what->a; i++) {
        server_spec spec = next_spec(self, i % 3, i % 2);
        int key = first + i % keys;

        put(self, what->type == OP_CROWD ? key : key % HISTORY_KEYS, &spec);
    }
    coverage_add(COVER_CROWDS, what->type == OP_CROWD ? 1 : 0);
}

static void arm_stream(world *self, const op *what)
{
    static const server_fault_type types[OP_TYPES] = {
        [OP_BREAK] = SERVER_FAULT_BREAK,
        [OP_END] = SERVER_FAULT_END,
        [OP_FREEZE] = SERVER_FAULT_FREEZE,
        [OP_RUBBISH] = SERVER_FAULT_RUBBISH,
    };

    server_arm(self->server, &(server_fault){.type = types[what->type],
                                             .on_open = what->c != 0,
                                             .bytes = (size_t)what->a});
}

static void arm_request(world *self, const op *what)
{
    server_fault fault = {.target = (server_target)what->a,
                          .times = what->c,
                          .status = what->b,
                          .ms = what->b};

    switch (what->type) {
    case OP_ERROR_EVENT:
        fault = (server_fault){.type = SERVER_FAULT_ERROR_EVENT,
                               .target = SERVER_WATCH,
                               .on_open = true,
                               .status = what->b};
        break;
    case OP_STATUS:
        fault.type = SERVER_FAULT_STATUS;
        fault.retry_after_s = what->key % 4 == 0 ? what->key : 0;
        break;
    case OP_DELAY:
        fault.type = SERVER_FAULT_DELAY;
        break;
    default:
        fault.type = SERVER_FAULT_REFUSE;
        server_arm(self->server, &(server_fault){.type = SERVER_FAULT_BREAK,
                                                 .on_open = true});
        break;
    }
    server_arm(self->server, &fault);
}

enum { SOON = 3 }; /* finish_write_everywhere makes so many changes */

/* True if the restored server soon gives out this version again: a client that
 * is at this version cannot notice the restore. */
static bool comes_again(int64_t version, int64_t restored)
{
    return version > restored && version <= restored + SOON;
}

/* True if the informer can notice the restore by versions: neither its cache's
 * version nor the last one that it received is soon given out again. */
static bool can_tell(world *self, user_informer *informer, int64_t restored)
{
    char text[64] = "";
    int64_t version;

    if (!users_enter(self, informer)) {
        return true;
    }
    kl_informer_resource_version(informer->handle, text, sizeof(text));
    users_leave(self, informer);
    version = server_real_version(strtoll(text, NULL, 10));
    return version != 0 && !comes_again(version, restored) &&
           !comes_again(informer->feed->last, restored);
}

/* Restores a backup. Clients get time to notice while the server's versions are
 * lower than theirs: later the same versions are given out again, and a client
 * cannot notice the restore. */
static void restore(world *self, const op *what)
{
    enum { ABSENCE_S = 200 }; /* waited second by second, as time may leap */
    server_future future = self->history->switches.server.future;

    /* After a second restore the oracle demands nothing; nor where the protocol
     * cannot show a restore: events between two watches reach no client, and
     * versions without an order do not show that some were undone. */
    self->is_blind |=
        self->has_restored ||
        (future == SERVER_FUTURE_TELLS && self->feeds.lists_apart) ||
        (future == SERVER_FUTURE_TELLS &&
         self->history->switches.server.watch_ms > 0);
    finish_make_well(self);
    if (future == SERVER_FUTURE_TELLS && !self->is_blind) {
        finish_await_settled(self);
    }
    self->has_restored = true;
    self->feeds.has_restored = true;
    server_restore(self->server, (size_t)what->a);
    for (size_t i = 0; i < self->informer_count; i++) {
        /* A list of several versions may hold a change that was undone,
         * although the version of the list itself was not. */
        self->is_blind |= self->informers[i].feed->fuzzy_until != 0;
        self->is_blind |=
            future != SERVER_FUTURE_GONE &&
            !can_tell(self, &self->informers[i], server_version(self->server));
    }
    for (int i = 0; i < ABSENCE_S; i++) {
        schedule_wait_until(schedule_now() + 1000);
    }
    finish_write_everywhere(self);
    if (!self->is_blind) {
        finish_await_settled(self);
    }
}

static void trouble(world *self, const op *what)
{
    server_options upgraded = self->history->switches.server;

    switch (what->type) {
    case OP_BREAK:
    case OP_END:
    case OP_FREEZE:
    case OP_RUBBISH:
        arm_stream(self, what);
        break;
    case OP_COMPACT:
        server_compact(self->server, (size_t)what->a);
        self->has_compacted = true;
        coverage_add(COVER_COMPACTIONS, 1);
        break;
    case OP_RESTORE:
        restore(self, what);
        coverage_add(COVER_RESTORES, 1);
        break;
    case OP_UPGRADE:
        upgraded.streaming = (server_streaming)what->a;
        server_change_options(self->server, &upgraded);
        break;
    case OP_STORM:
        finish_storm(self, what);
        break;
    default:
        arm_request(self, what);
        break;
    }
}

static void use(world *self, const op *what)
{
    switch (what->type) {
    case OP_OPEN:
        users_open(self, what);
        break;
    case OP_CLOSE:
        if (self->slots[what->slot] != NULL) {
            users_close(self, self->slots[what->slot], false);
        }
        break;
    case OP_ADD_HANDLER:
        handlers_add(self, what);
        break;
    case OP_REMOVE_HANDLER:
        handlers_remove(self, what->slot, false);
        break;
    case OP_ADD_INDEX:
        users_add_index(self, what);
        break;
    case OP_QUERY:
        if (self->slots[what->slot] != NULL) {
            users_query(self, self->slots[what->slot], what->b, what->c);
        }
        break;
    case OP_WAIT:
        users_wait(self, what);
        break;
    case OP_WAKE:
        users_wake(self, what);
        break;
    case OP_CLOSE_CLIENT:
        users_close_client(self);
        break;
    default:
        trouble(self, what);
        break;
    }
}

/* Checks that silent streams are closed. Not on a slow machine: time hurries
 * there, so a close may be late. */
static void check_silence(const world *self)
{
    const switches *how = &self->history->switches;

    if (how->hurry_per_mille == 0) {
        feeds_check_silence(&self->feeds,
                            (how->idle_ms > 0 ? how->idle_ms : 90000) + 40000);
    }
}

static void do_one(world *self, const op *what)
{
    char text[240];

    history_op_text(what, text, sizeof(text));
    schedule_note("%s", text);
    switch (what->type) {
    case OP_CREATE:
    case OP_UPDATE:
    case OP_DELETE:
    case OP_RECREATE:
        write_one(self, what);
        break;
    case OP_BURST:
    case OP_CROWD:
        write_many(self, what);
        break;
    case OP_PASS:
        schedule_wait_until(schedule_now() + what->a);
        check_silence(self);
        break;
    case OP_HOLD:
    case OP_RELEASE:
        handlers_hold(self, what->slot, what->type == OP_HOLD);
        break;
    case OP_ARM:
        handlers_arm(self, what);
        break;
    case OP_PAUSE_LOOP:
    case OP_RESUME_LOOP:
        self->loop_is_paused = what->type == OP_PAUSE_LOOP;
        world_changed(self);
        break;
    default:
        use(self, what);
        break;
    }
}

/* The thread of a hand: carries out the operations that it is sent. */
static void *hand_run(void *arg)
{
    hand *self = arg;

    for (;;) {
        WORLD_WAIT(self->world,
                   self->done < self->sent || self->world->is_over);
        if (self->done == self->sent) {
            return NULL;
        }
        do_one(self->world, self->mails[self->done]);
        self->done++;
        world_changed(self->world);
    }
}

/* Makes dictionaries of the few objects that a history has, and has room for
 * few young ones. */
static void choose_limits(const switches *how)
{
    static kl__pack_limits limits;

    limits = (kl__pack_limits)KL__PACK_EAGER(how->packing == PACKING_ALWAYS);
    limits.young_ms = how->young_ms;
    limits.young_step_ms = how->young_ms / 3 + 1;
    limits.young_slab = 1024;
    limits.young_bytes = 8 * 1024;
    kl__pack_limits_chosen = &limits;
}

static void start(world *self)
{
    kl_transport *transport;
    kl_error err;

    choose_limits(&self->history->switches);
    self->server = server_new(&self->history->switches.server);
    self->feeds.server = self->server;
    self->feeds.lists_apart = self->history->switches.server.lists_apart;
    self->feeds.pages_of_one = self->history->switches.page_size == 1;
    transport = feeds_transport(&self->feeds);
    self->client =
        kl_client_new(&(kl_client_options){.transport = transport}, &err);
    kl_transport_unref(transport);
    self->queue = kl_event_queue_new(&err);
    schedule_check(self->client != NULL && self->queue != NULL,
                   "no client or queue: %s", err.message);
    kl__mutex_init(&self->mutex, KL__RANK_LOG);
    kl__cond_init(&self->changed);
    kl__thread_start(&self->loop, "loop", loop_run, self, NULL);
    for (int i = 0; i < HISTORY_HANDS; i++) {
        self->hands[i].world = self;
        kl__thread_start(&self->hands[i].thread, "hand", hand_run,
                         &self->hands[i], NULL);
    }
}

static void do_all(world *self)
{
    for (size_t i = 0; i < self->history->count; i++) {
        const op *what = &self->history->ops[i];

        if (what->hand == 0) {
            do_one(self, what);
        } else {
            hand *to = &self->hands[what->hand - 1];

            to->mails[to->sent++] = what;
            world_changed(self);
        }
        schedule_point();
    }
}

/* Releases all handlers and the loop, and ends the hands. Faults continue. */
static void end_of_use(world *self)
{
    self->is_over = true;
    self->loop_is_paused = false;
    for (int i = 0; i < HISTORY_HANDLERS; i++) {
        handlers_hold(self, i, false);
    }
    world_changed(self);
    for (int i = 0; i < HISTORY_HANDS; i++) {
        kl__thread_join(&self->hands[i].thread);
    }
    for (int i = 0; i < HISTORY_HANDLERS; i++) {
        handlers_hold(self, i, false);
    }
}

static void stop(world *self)
{
    ending how = self->history->switches.ending;

    if (how == ENDING_CLIENT) {
        users_close_client(self);
    }
    for (int i = 0; how == ENDING_HANDLERS && i < HISTORY_HANDLERS; i++) {
        handlers_remove(self, i, false);
    }
    for (size_t i = 0; i < self->informer_count; i++) {
        users_close(self, &self->informers[i], false);
    }
    self->loop_is_over = true;
    world_changed(self);
    kl_event_queue_wake(self->queue);
    kl__thread_join(&self->loop);
    kl_event_queue_free(self->queue);
    kl_client_unref(self->client);
}

static bool has_crowd(const history *what)
{
    for (size_t i = 0; i < what->count; i++) {
        if (what->ops[i].type == OP_CROWD) {
            return true;
        }
    }
    return false;
}

void world_run(void *arg)
{
    world *self = calloc(1, sizeof(*self));

    schedule_check(self != NULL, "the model is out of memory");
    self->history = arg;
    self->has_crowd = has_crowd(self->history);
    self->acts_per_mille = self->history->switches.acts_per_mille;
    self->keys = self->has_crowd ? HISTORY_ALL_KEYS : HISTORY_KEYS;
    start(self);
    do_all(self);
    end_of_use(self);
    finish_settle(self);
    stop(self);
    finish_nothing_left(self);
    kl__cond_deinit(&self->changed);
    kl__mutex_deinit(&self->mutex);
    coverage_add(COVER_HISTORIES, 1);
    coverage_add(COVER_VIRTUAL_S, (uint64_t)(schedule_now() - 1000000) / 1000);
    free(self);
}
