/*
 * loop.c - the thread that drains the event queue, as a Lua script's loop does:
 * some events of one registration, then of the next.
 */
#include "oracle.h"

#include "coverage.h"
#include "schedule.h"

enum { AT_ONCE = 3 };

/* Takes one event; no fiber removes the registration meanwhile. */
static bool pull(world *self, handler *from, kl_event *event)
{
    bool found = false;

    self->loop_is_pulling = true;
    if (from->state == HANDLER_LIVE) {
        found = kl_registration_next(from->registration, event);
    }
    self->loop_is_pulling = false;
    world_changed(self);
    return found;
}

static void again(world *self, handler *from)
{
    self->loop_is_pulling = true;
    if (from->state == HANDLER_LIVE) {
        kl_event_queue_again(self->queue, from->registration);
    }
    self->loop_is_pulling = false;
    world_changed(self);
}

/* Shows an event to the oracle. The registration may have been removed since
 * the event was pulled; kl_registration_done follows later. */
static void show(handler *to, const kl_event *event)
{
    const told event_told = {.type = event->type,
                             .initial = event->initial,
                             .unknown = event->unknown,
                             .resync = event->resync ? 1 : 0,
                             .old = event->old,
                             .object = event->object,
                             .error = event->error};

    handlers_enter(to, true);
    coverage_add(COVER_PULLED, 1);
    witness_see(to, &event_told);
    if (to->armed.a != ARMED_NOTHING) {
        handlers_act(to);
    }
    callbacks_act(to->world, to->informer, false);
    to->world->loop_is_pulling = true;
    witness_seen(to, &event_told);
    to->world->loop_is_pulling = false;
    handlers_exit(to);
}

/* Pulls some events, shows each of them, and only then calls
 * kl_registration_done for all of them. */
static void drain(world *self, handler *from)
{
    kl_registration *registration = from->registration;
    kl_event events[AT_ONCE];
    int wanted = 1 + (int)schedule_random(AT_ONCE);
    int count = 0;

    WORLD_WAIT(self, !self->loop_is_paused || self->loop_is_over);
    while (count < wanted && pull(self, from, &events[count])) {
        count++;
    }
    from->pulled = count;
    for (int i = 0; i < count; i++) {
        from->pulled--;
        show(from, &events[i]);
    }
    for (int i = 0; i < count; i++) {
        kl_registration_done(registration, &events[i]);
    }
    if (count == wanted) {
        again(self, from);
    }
}

void *loop_run(void *arg)
{
    world *self = arg;
    handler *next;

    while (!self->loop_is_over) {
        kl_code code;

        WORLD_WAIT(self, !self->loop_is_paused || self->loop_is_over);
        code = kl_event_queue_wait(self->queue, -1);
        schedule_check(code == KL_OK || code == KL_ECANCELED,
                       "queue: a wait without an end ends with %s",
                       kl_code_name(code));
        while ((next = kl_event_queue_next(self->queue)) != NULL) {
            WORLD_WAIT(self, next->state != HANDLER_JOINING);
            drain(self, next);
            if (schedule_chance(200)) {
                /* the queue stays readable if other registrations wait */
                break;
            }
        }
    }
    return NULL;
}
