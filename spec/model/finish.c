/*
 * finish.c - checks after the last fault: everything is in sync within a time
 * limit, resyncs send no request to the server, and after the end nothing is
 * left.
 */
#include "oracle.h"

#include "coverage.h"
#include "kubelua/memory.h"
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

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
