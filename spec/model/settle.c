/*
 * settle.c - checks if everything is in sync (caches, handlers, the status),
 * and waits until it is; and what must hold after the last fault: everything is
 * in sync within a time limit, resyncs send no request to the server, and after
 * the end nothing is left.
 */
#include "oracle.h"

#include "coverage.h"
#include "schedule.h"

#include "kubelua/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* More than an idle timeout, the longest backoff and slow handlers take
     * together. */
    SETTLE_MS = 600000,
    /* Checks are counted, as a leap of time must not end the wait early. */
    SETTLE_LOOKS = SETTLE_MS / FINISH_LOOK_MS,
};

typedef struct comparison {
    const scope *scope;
    const kl_object_list *list;
    size_t found;
    size_t unreadable; /* objects of the server that cannot be read */
    char *why;
    size_t size;
    bool is_different;
} comparison;

static const kl_object *find(const kl_object_list *list, const char *key)
{
    for (size_t low = 0, high = list->count; low < high;) {
        size_t middle = (low + high) / 2;
        int order = strcmp(kl_object_key(list->items[middle]), key);

        if (order == 0) {
            return list->items[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* Of an object that cannot be read, the cache has a former state, or none. */
static void compare_unreadable(comparison *self, const server_change *object,
                               const kl_object *cached)
{
    self->unreadable++;
    if (cached == NULL) {
        return;
    }
    self->found++;
    if (strcmp(kl_object_uid(cached), object->uid) != 0) {
        self->is_different = true;
        snprintf(self->why, self->size,
                 "%s of another UID is in the cache: the one on the server "
                 "cannot be read",
                 object->key);
    }
}

static void compare(const server_change *object, void *context)
{
    comparison *self = context;
    const kl_object *cached;

    if (!history_in_scope(self->scope, object)) {
        return;
    }
    cached = find(self->list, object->key);
    if (object->spec.is_unreadable) {
        compare_unreadable(self, object, cached);
        return;
    }
    self->found++;
    if (cached == NULL || strcmp(kl_object_uid(cached), object->uid) != 0 ||
        witness_version(cached) != object->version) {
        self->is_different = true;
        snprintf(self->why, self->size,
                 "%s is %s in the cache, %lld (%s) on "
                 "the server",
                 object->key,
                 cached != NULL ? kl_object_resource_version(cached) : "not",
                 (long long)object->version, object->uid);
    }
}

/* Checks what the informer names as unreadable, of so many on the server. */
static bool names_unreadable(world *self, user_informer *informer,
                             const comparison *of, char *why, size_t size)
{
    kl_unreadable_list named = {0};
    kl_informer_status status;
    size_t most =
        of->unreadable < KL_UNREADABLE_MAX ? of->unreadable : KL_UNREADABLE_MAX;
    bool is_right;

    kl_informer_status_get(informer->handle, &status);
    if (kl_informer_unreadable(informer->handle, &named, NULL) != KL_OK) {
        snprintf(why, size, "no list of what cannot be read");
        return false;
    }
    is_right = named.count == most && status.unreadable == of->unreadable;
    for (size_t i = 0; i < named.count; i++) {
        const server_change *object =
            server_find(self->server, of->scope->kind, named.items[i].key);
        bool is_cached = find(of->list, named.items[i].key) != NULL;

        is_right &= object != NULL && object->spec.is_unreadable &&
                    named.items[i].is_cached == is_cached;
        coverage_add(COVER_UNREADABLE_KEPT, is_cached ? 1 : 0);
    }
    if (!is_right) {
        snprintf(why, size,
                 "%zu objects cannot be read, and it names %zu of %zu, or "
                 "others",
                 of->unreadable, named.count, status.unreadable);
    }
    kl_unreadable_list_clear(&named);
    return is_right;
}

static bool cache_is_current(world *self, user_informer *informer, char *why,
                             size_t size)
{
    kl_object_list list = {0};
    comparison all = {.scope = history_scope(informer->feed->scope),
                      .list = &list,
                      .why = why,
                      .size = size};
    bool is_current;

    if (!kl_informer_has_synced(informer->handle)) {
        snprintf(why, size, "it has not synced");
        return false;
    }
    if (kl_informer_list(informer->handle, NULL, NULL, &list, NULL) != KL_OK) {
        snprintf(why, size, "no list");
        return false;
    }
    server_each(self->server, all.scope->kind, compare, &all);
    if (!all.is_different && all.found != list.count) {
        snprintf(why, size, "%zu objects in the cache, %zu on the server",
                 list.count, all.found);
    }
    all.is_different |= all.found != list.count;
    is_current =
        !all.is_different && names_unreadable(self, informer, &all, why, size);
    kl_object_list_clear(&list);
    return is_current;
}

bool finish_is_restless(const world *self)
{
    int watch_ms = self->history->switches.server.watch_ms;

    return watch_ms > 0 && watch_ms <= 1000;
}

static bool is_healthy(world *self, user_informer *informer, char *why,
                       size_t size)
{
    kl_informer_status status;

    kl_informer_status_get(informer->handle, &status);
    if (finish_is_restless(self) || status.error.code == KL_OK) {
        return true;
    }
    snprintf(why, size, "its status still says: %.200s (%s)",
             status.error.message, kl_informer_state_name(status.state));
    return false;
}

static bool handler_has_synced(handler *self)
{
    bool has_synced;

    self->users++;
    has_synced = kl_registration_has_synced(self->registration);
    self->users--;
    world_changed(self->world);
    return has_synced && self->has_synced;
}

static bool handler_is_current(handler *self, char *why, size_t size)
{
    if (self->state != HANDLER_LIVE) {
        return true;
    }
    if (!handler_has_synced(self)) {
        snprintf(why, size, "handler %d (kind %d) has not synced", self->number,
                 (int)self->kind);
        return false;
    }
    if (!witness_is_current(self)) {
        snprintf(why, size, "handler %d (kind %d) has not seen the final state",
                 self->number, (int)self->kind);
        return false;
    }
    return witness_missing(self, why, size) == NULL;
}

/* True also if the informer is being closed: an armed handler may do that. */
static bool informer_is_settled(world *self, user_informer *informer, char *why,
                                size_t size)
{
    bool is_fine;

    if (!users_enter(self, informer)) {
        return true;
    }
    is_fine = cache_is_current(self, informer, why, size) &&
              is_healthy(self, informer, why, size);
    if (is_fine) {
        users_query_all(self, informer);
    }
    users_leave(self, informer);
    return is_fine;
}

bool finish_is_settled(world *self, char *why, size_t size)
{
    for (size_t i = 0; i < self->informer_count; i++) {
        if (!informer_is_settled(self, &self->informers[i], why, size)) {
            return false;
        }
    }
    for (size_t i = 0; i < self->handler_count; i++) {
        if (!handler_is_current(self->all_handlers[i], why, size)) {
            return false;
        }
    }
    return true;
}

void finish_write_everywhere(world *self)
{
    static const int keys[] = {0, 4, 9};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        server_spec spec = {.value = ++self->value, .node = 0, .app = 1};
        server_kind kind;
        const char *key = history_key(keys[i], &kind);

        if (server_update(self->server, kind, key, &spec) == 0) {
            server_create(self->server, kind, key, &spec);
        }
    }
}

void finish_let_go(world *self)
{
    for (int i = 0; i < HISTORY_HANDLERS; i++) {
        handlers_hold(self, i, false);
    }
    self->loop_is_paused = false;
    world_changed(self);
}

void finish_await_settled(world *self)
{
    char why[400] = "";
    int looks = 0;

    finish_let_go(self);
    while (!self->is_client_closed &&
           !finish_is_settled(self, why, sizeof(why))) {
        schedule_check(looks++ < SETTLE_LOOKS,
                       "in-sync: %d s after the last fault: %s",
                       SETTLE_MS / 1000, why);
        schedule_wait_until(schedule_now() + FINISH_LOOK_MS);
    }
}

void finish_make_well(world *self)
{
    server_options well = self->history->switches.server;

    self->acts_per_mille = 0;
    well.chunk_max = 0;
    well.delay_max_ms = 0;
    well.fault_per_mille = 0;
    schedule_calm();
    server_change_options(self->server, &well);
    server_settle(self->server);
    /* Bytes that were read before take effect. */
    schedule_wait_idle(schedule_now());
}

enum {
    RESYNC_LOOKS = 30,
    PROMPT_LOOKS = 20,
    AFTERMATH_MS = 5000,
    QUICK_RESYNC_MS = 5000,
    LEFT_MS = 60000
};

static bool is_resync_due(const handler *self)
{
    if (self->state != HANDLER_LIVE || self->resync_ms <= 0 ||
        self->resync_ms > QUICK_RESYNC_MS || self->slow_ms > 0) {
        return false;
    }
    for (int i = 0; i < self->world->keys; i++) {
        if (self->known[i] != NULL) {
            return true;
        }
    }
    return false;
}

static bool has_resynced(const handler *self, const int64_t *before)
{
    for (int i = 0; i < self->world->keys; i++) {
        if (self->known[i] != NULL && self->resynced[i] == before[i]) {
            return false;
        }
    }
    return true;
}

static void check_resync(handler *self)
{
    size_t size = (size_t)self->world->keys * sizeof(*self->resynced);
    int64_t *before = malloc(size);
    int64_t began = schedule_now();
    int64_t periods;
    int looks = 0;

    schedule_check(before != NULL, "the model is out of memory");
    memcpy(before, self->resynced, size);
    while (self->state == HANDLER_LIVE && !self->world->is_client_closed &&
           !has_resynced(self, before)) {
        schedule_check(looks++ < RESYNC_LOOKS,
                       "resync: handler %d is not shown again what it knows",
                       self->number);
        schedule_wait_until(schedule_now() + self->resync_ms);
    }
    periods = (schedule_now() - began) / self->resync_ms + 2;
    for (int i = 0; i < self->world->keys; i++) {
        schedule_check(self->resynced[i] - before[i] <= periods,
                       "resync: handler %d is shown key %d %lld times in %lld "
                       "periods",
                       self->number, i,
                       (long long)(self->resynced[i] - before[i]),
                       (long long)periods);
    }
    free(before);
    coverage_add(COVER_RESYNC_CHECKS, 1);
}

/* Checks that changes arrive at once if no handler is slow. A thread that goes
 * on only at its deadline has missed a wake-up. */
static void check_prompt(world *self)
{
    char why[400] = "";
    int looks = 0;

    for (size_t i = 0; i < self->handler_count; i++) {
        if (self->all_handlers[i]->slow_ms > 0) {
            return;
        }
    }
    if (finish_is_restless(self)) {
        return;
    }
    /* When the first changes have arrived, all watches are open: the next
     * changes must arrive soon. */
    finish_write_everywhere(self);
    finish_await_settled(self);
    finish_write_everywhere(self);
    while (!self->is_client_closed &&
           !finish_is_settled(self, why, sizeof(why))) {
        schedule_check(looks++ < PROMPT_LOOKS, "late: after %d s: %s",
                       PROMPT_LOOKS * FINISH_LOOK_MS / 1000, why);
        schedule_wait_until(schedule_now() + FINISH_LOOK_MS);
    }
}

/* Checks that an informer that is in sync does not list again. */
static void check_quiet(world *self)
{
    size_t requests[FEEDS_MAX];

    for (size_t i = 0; i < self->feeds.count; i++) {
        requests[i] = self->feeds.feeds[i].list_requests;
    }
    for (size_t i = 0; i < self->handler_count; i++) {
        if (is_resync_due(self->all_handlers[i])) {
            check_resync(self->all_handlers[i]);
        }
    }
    for (size_t i = 0; i < self->feeds.count; i++) {
        schedule_check(finish_is_restless(self) || self->has_restored ||
                           self->has_compacted ||
                           self->feeds.feeds[i].handles == 0 ||
                           self->feeds.feeds[i].list_requests == requests[i],
                       "quiet: it lists again though nothing is wrong");
    }
}

void finish_settle(world *self)
{
    finish_make_well(self);
    if (self->is_client_closed || self->is_blind) {
        return;
    }
    if (self->has_restored) {
        finish_write_everywhere(self);
    }
    finish_await_settled(self);
    for (size_t i = 0; i < self->informer_count; i++) {
        coverage_add(COVER_SETTLED, self->informers[i].is_closing ? 0 : 1);
    }
    /* Events that were on their way when the faults ended arrive within this
     * time. */
    schedule_wait_until(schedule_now() + AFTERMATH_MS);
    finish_await_settled(self);
    check_prompt(self);
    check_quiet(self);
}

static void check_live(void)
{
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        schedule_check(i == KL_LIVE_THREAD ||
                           kl_live_count((kl_live_kind)i) == 0,
                       "left: %ld %s live on", kl_live_count((kl_live_kind)i),
                       kl_live_name((kl_live_kind)i));
    }
}

void finish_nothing_left(world *self)
{
    int64_t deadline = schedule_now() + LEFT_MS;

    while (schedule_alive() > 1) {
        schedule_check(schedule_now() < deadline,
                       "left: %d threads live on after the end",
                       schedule_alive() - 1);
        schedule_wait_until(schedule_now() + 10);
    }
    schedule_check(server_streams(self->server) == 0,
                   "left: %zu streams are open", server_streams(self->server));
    for (size_t i = 0; i < self->handler_count; i++) {
        handler *each = self->all_handlers[i];

        schedule_check(each->inside == 0, "stop: handler %d runs still",
                       each->number);
        schedule_check(each->is_dropped || each->kind >= HANDLER_PULLED,
                       "left: the context of handler %d was not dropped",
                       each->number);
        witness_clear(each);
        free(each);
    }
    feeds_clear(&self->feeds);
    server_free(self->server);
    schedule_check(self->indexes_alive == 0,
                   "left: the contexts of %d indexes were not dropped",
                   self->indexes_alive);
    check_live();
}
