/*
 * finish.c - once nothing goes wrong any more: all is in sync within a bounded
 * time, resyncs come without a request, and after the end nothing is left.
 */
#include "oracle.h"

#include "coverage.h"
#include "kubelua/memory.h"
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* More than an idle timeout and the longest backoff after it, with what
     * slow handlers take. */
    SETTLE_MS = 600000,
    LOOK_MS = 500,
    /* Time may leap, but not so often as it is looked at. */
    SETTLE_LOOKS = SETTLE_MS / LOOK_MS,
    RESYNC_LOOKS = 30,
    STORM_LOOKS = 200,
    AFTERMATH_MS = 5000,
    STORM_MS = 100000,
    QUICK_RESYNC_MS = 5000,
    LEFT_MS = 60000
};

typedef struct comparison {
    const scope *scope;
    const kl_object_list *list;
    size_t found;
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

static void compare(const server_change *object, void *context)
{
    comparison *self = context;
    const kl_object *cached;

    if (!history_in_scope(self->scope, object)) {
        return;
    }
    self->found++;
    cached = find(self->list, object->key);
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

static bool cache_is_current(world *self, user_informer *informer, char *why,
                             size_t size)
{
    kl_object_list list = {0};
    comparison all = {.scope = history_scope(informer->feed->scope),
                      .list = &list,
                      .why = why,
                      .size = size};

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
    kl_object_list_clear(&list);
    return !all.is_different;
}

/* A server that ends each watch at once is in trouble for good. */
static bool is_restless(const world *self)
{
    int watch_ms = self->history->switches.server.watch_ms;

    return watch_ms > 0 && watch_ms <= 1000;
}

static bool is_healthy(world *self, user_informer *informer, char *why,
                       size_t size)
{
    kl_informer_status status;

    kl_informer_status_get(informer->handle, &status);
    if (is_restless(self) || status.error.code == KL_OK) {
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

/* Handlers that are armed may still close it. */
static bool informer_is_settled(world *self, user_informer *informer, char *why,
                                size_t size)
{
    bool is_fine;

    if (!users_enter(informer)) {
        return true;
    }
    is_fine = cache_is_current(self, informer, why, size) &&
              is_healthy(self, informer, why, size);
    users_leave(self, informer);
    return is_fine;
}

static bool is_settled(world *self, char *why, size_t size)
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

/* What is in sync stays so without asking for a list. */
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
        schedule_check(is_restless(self) || self->has_restored ||
                           self->has_compacted ||
                           self->feeds.feeds[i].handles == 0 ||
                           self->feeds.feeds[i].list_requests == requests[i],
                       "quiet: it lists again though nothing is wrong");
    }
}

static void let_go(world *self)
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

    let_go(self);
    while (!self->is_client_closed && !is_settled(self, why, sizeof(why))) {
        schedule_check(looks++ < SETTLE_LOOKS,
                       "in-sync: %d s after the last fault: %s",
                       SETTLE_MS / 1000, why);
        schedule_wait_until(schedule_now() + LOOK_MS);
    }
}

void finish_make_well(world *self)
{
    server_options well = self->history->switches.server;

    well.chunk_max = 0;
    well.delay_max_ms = 0;
    well.fault_per_mille = 0;
    schedule_calm();
    server_change_options(self->server, &well);
    server_settle(self->server);
    /* What was read before has its effect. */
    schedule_wait_idle(schedule_now());
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
    /* What was on its way when it all ended has arrived by then. */
    schedule_wait_until(schedule_now() + AFTERMATH_MS);
    finish_await_settled(self);
    check_quiet(self);
}

/* Whether its user knows what is wrong: the status says it, and each handler
 * that wants errors was told the same. */
static bool is_told(world *self, user_informer *informer, int status_wanted,
                    char *why, size_t size)
{
    kl_informer_status status;

    kl_informer_status_get(informer->handle, &status);
    if (status.error.code == KL_OK ||
        status.error.http_status != status_wanted) {
        snprintf(why, size, "the status says %s (%d): %s",
                 kl_code_name(status.error.code), status.error.http_status,
                 status.error.message);
        return false;
    }
    for (size_t i = 0; i < self->handler_count; i++) {
        const handler *each = self->all_handlers[i];

        if (each->informer == informer && each->state == HANDLER_LIVE &&
            each->kind != HANDLER_QUIET &&
            (each->errors == each->errors_before ||
             each->last_error.code != status.error.code)) {
            snprintf(why, size, "handler %d was told of %zu errors, last %s",
                     each->number, each->errors,
                     each->errors > 0 ? each->last_error.message : "none");
            return false;
        }
    }
    return true;
}

static bool all_are_told(world *self, int status, char *why, size_t size)
{
    for (size_t i = 0; i < self->informer_count; i++) {
        user_informer *each = &self->informers[i];
        bool is_fine = true;

        if (users_enter(each)) {
            is_fine = is_told(self, each, status, why, size);
            users_leave(self, each);
        }
        if (!is_fine) {
            return false;
        }
    }
    return true;
}

/* All is well, and news have come in since it was not: whatever goes wrong now
 * is told, also if it is what was told before. */
static void begin_storm(world *self)
{
    finish_make_well(self);
    let_go(self);
    if (!self->is_blind) {
        finish_await_settled(self);
        finish_write_everywhere(self);
        finish_await_settled(self);
    }
    for (size_t i = 0; i < self->handler_count; i++) {
        handler *each = self->all_handlers[i];

        each->errors_before =
            self->is_blind || is_restless(self) ? 0 : each->errors;
    }
}

/* Somebody who comes in the middle of it has to be told as well. */
static void add_late(world *self, const op *what)
{
    for (int i = 0; i < HISTORY_HANDLERS; i++) {
        op late = {.type = OP_ADD_HANDLER, .slot = i, .a = what->key % 3};

        if (self->handlers[i] == NULL) {
            handlers_add(self, &late, false);
            return;
        }
    }
}

void finish_storm(world *self, const op *what)
{
    char why[1400] = "";
    int64_t deadline;
    int looks = 0;

    begin_storm(self);
    server_arm(self->server,
               &(server_fault){.type = what->b != 0 ? SERVER_FAULT_STATUS
                                                    : SERVER_FAULT_REFUSE,
                               .status = what->b,
                               .times = 1000000});
    server_arm(self->server,
               &(server_fault){.type = SERVER_FAULT_BREAK, .on_open = true});
    deadline = schedule_now() + STORM_MS;
    schedule_wait_until(deadline - STORM_MS / 2);
    add_late(self, what);
    schedule_wait_until(deadline);
    while (!self->is_client_closed &&
           !all_are_told(self, what->b, why, sizeof(why))) {
        schedule_check(looks++ < STORM_LOOKS,
                       "silence: %d s into an outage (%d) its user does not "
                       "know: %s",
                       2 * STORM_MS / 1000, what->b, why);
        schedule_wait_until(schedule_now() + LOOK_MS);
    }
    coverage_add(COVER_STORMS, 1);
    finish_make_well(self);
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
