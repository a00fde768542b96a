/*
 * handlers.c - adds and removes registrations, holds them, and acts within
 * their callbacks. Each callback shows its event to the oracle.
 */
#include "oracle.h"

#include "coverage.h"
#include "schedule.h"

#include <stdlib.h>

/* Checks that a callback may begin. If a callback ended the registration, one
 * more callback may begin, because its thread may have been about to call. */
static void check_may_begin(handler *self)
{
    schedule_check(!self->is_dropped,
                   "stop: handler %d is called after its context was dropped",
                   self->number);
    if (self->state == HANDLER_ENDED) {
        schedule_check(self->is_ended_inside,
                       "stop: handler %d is called after it has ended",
                       self->number);
        self->is_ended_inside = false;
    }
}

/* The call that adds the handler has begun: it needs no reference any more. */
static void note_begun(handler *self)
{
    if (self->is_bare) {
        self->is_bare = false;
        self->informer->users--;
        world_changed(self->world);
    }
}

void handlers_enter(handler *self, bool is_removed_fine)
{
    note_begun(self);
    if (!is_removed_fine) {
        check_may_begin(self);
    }
    schedule_check(self->inside == 0,
                   "one-at-a-time: handler %d is called "
                   "while it is",
                   self->number);
    self->inside++;
}

void handlers_exit(handler *self)
{
    self->inside--;
    world_changed(self->world);
}

/* What a callback does after the oracle has seen its event. */
static void work(handler *self)
{
    coverage_add(COVER_HELD, self->is_held ? 1 : 0);
    WORLD_WAIT(self->world, !self->is_held);
    if (self->slow_ms > 0) {
        schedule_wait_until(schedule_now() + (int64_t)schedule_random(
                                                 (uint64_t)self->slow_ms + 1));
    }
    if (self->armed.a != ARMED_NOTHING) {
        handlers_act(self);
    }
    callbacks_act(self->world, self->informer, true);
}

static void called(handler *self, const told *event)
{
    handlers_enter(self, false);
    witness_see(self, event);
    work(self);
    witness_seen(self, event);
    handlers_exit(self);
}

static void on_add(void *context, kl_object *object, bool initial)
{
    called(context, &(told){.type = KL_EVENT_ADD,
                            .initial = initial,
                            .resync = -1,
                            .object = object});
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    called(context, &(told){.type = KL_EVENT_UPDATE,
                            .resync = -1,
                            .old = old,
                            .object = object});
}

static void on_remove(void *context, kl_object *object, bool unknown)
{
    called(context, &(told){.type = KL_EVENT_DELETE,
                            .unknown = unknown,
                            .resync = -1,
                            .object = object});
}

static void on_synced(void *context)
{
    called(context, &(told){.type = KL_EVENT_SYNCED, .resync = -1});
}

static void on_error(void *context, const kl_error *error)
{
    called(context,
           &(told){.type = KL_EVENT_ERROR, .resync = -1, .error = error});
}

static void on_drop(void *context)
{
    handler *self = context;

    schedule_check(!self->is_dropped, "stop: a context is dropped twice");
    schedule_check(self->inside == 0,
                   "stop: the context of handler %d is dropped while it runs",
                   self->number);
    self->is_dropped = true;
    world_changed(self->world);
}

static bool is_pulled(handler_kind kind)
{
    return kind == HANDLER_PULLED || kind == HANDLER_PULLED_COALESCING ||
           kind == HANDLER_PULLED_EVERY;
}

/* The resync period that the handler asks for. With a crowd of objects there is
 * none, because it takes too long; on a slow machine it is not short, because
 * the handler would do nothing else. */
static int64_t period_of(const handler *self, const op *what)
{
    static const int64_t periods[] = {0, 0, 0, 0, -1, 800, 4000, 40000};
    int64_t period = periods[what->c & 7];
    bool is_slow = self->world->history->switches.hurry_per_mille > 0;

    if (self->world->has_crowd) {
        return -1;
    }
    return is_slow && period > 0 ? 40000 : period;
}

/* Sets what kind of handler this is; the bits of `c` say more. */
static void choose(handler *self, const op *what)
{
    int bits = what->c;
    int64_t period = period_of(self, what);

    self->kind = (handler_kind)what->b;
    self->resync_ms = period != 0 ? period : self->informer->resync_ms;
    self->resync_ms = self->resync_ms > 0 ? self->resync_ms : 0;
    if (self->kind != HANDLER_PLAIN && self->kind != HANDLER_SLOW &&
        self->kind != HANDLER_QUIET && self->kind != HANDLER_PULLED) {
        self->backlog = 1 + (size_t)((bits >> 3) & 3);
    }
    if (self->kind == HANDLER_SLOW && !self->world->has_crowd) {
        self->slow_ms = 1 << ((bits >> 5) & 15) % 12;
    }
    if ((bits & 0x600) == 0x600 && self->kind == HANDLER_COALESCING) {
        self->slow_ms = 40;
    }
}

static handler *make(world *in, user_informer *informer, const op *what)
{
    size_t keys = (size_t)in->keys;
    handler *made = calloc(1, sizeof(*made));

    schedule_check(made != NULL, "the model is out of memory");
    made->world = in;
    made->number = (int)in->handler_count;
    made->informer = informer;
    made->feed = informer->feed;
    made->unseen_from = made->feed->fuzzy_until == 0 ? made->feed->floor : 0;
    made->known = calloc(keys, sizeof(*made->known));
    made->newest = calloc(keys, sizeof(*made->newest));
    made->resynced = calloc(keys, sizeof(*made->resynced));
    made->told_unreadable = calloc(keys, sizeof(*made->told_unreadable));
    made->joined_ms = schedule_now();
    schedule_check(made->known != NULL && made->newest != NULL &&
                       made->resynced != NULL && made->told_unreadable != NULL,
                   "the model is out of memory");
    choose(made, what);
    in->all_handlers[in->handler_count++] = made;
    return made;
}

static kl_registration *join(handler *self, const op *what, kl_error *err)
{
    const kl_handler_options options = {
        .resync_ms = period_of(self, what),
        .backlog = self->backlog,
        .every_change =
            self->kind == HANDLER_EVERY || self->kind == HANDLER_PULLED_EVERY,
        .ignores_errors = self->kind == HANDLER_QUIET,
    };
    const kl_handler callbacks = {.add = on_add,
                                  .update = on_update,
                                  .remove = on_remove,
                                  .synced = on_synced,
                                  .error = on_error,
                                  .context = self,
                                  .drop_context = on_drop};

    if (is_pulled(self->kind)) {
        return kl_informer_subscribe(self->informer->handle, self->world->queue,
                                     self, &options, err);
    }
    return kl_informer_add_handler(self->informer->handle, &callbacks, &options,
                                   err);
}

/* Adds a handler; takes the caller's reference, which half of these calls do
 * not hold: see is_bare. A callback may close the informer meanwhile. */
static void add(world *self, int slot, user_informer *informer, const op *what)
{
    kl_error err = {.code = KL_OK};
    handler *made = make(self, informer, what);
    kl_registration *registration;
    bool is_bare;

    self->handlers[slot] = made;
    made->is_late = kl_informer_has_synced(informer->handle);
    /* Without a reference it must not begin once a close has begun. */
    is_bare = schedule_chance(500) && !informer->is_closing;
    if (is_bare) {
        made->is_bare = true;
        informer->users++;
        users_leave(self, informer);
    }
    registration = join(made, what, &err);
    note_begun(made);
    made->due_from = made->feed->due_count;
    if (registration == NULL) {
        schedule_check(err.code == KL_ECLOSED,
                       "errors: a handler cannot join: %s", err.message);
        schedule_check(self->is_client_closed || informer->is_closing,
                       "errors: the informer was not closed: %s", err.message);
        made->state = HANDLER_ENDED;
        made->is_dropped = true; /* handler.h: it is not called then */
        self->handlers[slot] = NULL;
    } else if (informer->is_closing) {
        made->state = informer->is_closed ? HANDLER_ENDED : HANDLER_LEAVING;
        made->is_ended_inside =
            informer->is_closed && informer->is_closed_inside;
        coverage_add(COVER_CLOSED_JOINING, 1);
        self->handlers[slot] = NULL;
    } else {
        made->registration = registration;
        made->state = HANDLER_LIVE;
    }
    coverage_add(COVER_HANDLERS, 1);
    if (!is_bare) {
        users_leave(self, informer);
    }
    world_changed(self);
}

void handlers_add(world *self, const op *what)
{
    user_informer *informer = self->slots[what->a];

    if (self->handlers[what->slot] != NULL ||
        self->handler_count == HANDLERS_EVER || informer == NULL) {
        return;
    }
    if (users_enter(self, informer)) {
        add(self, what->slot, informer, what);
    }
}

/* From here on no other fiber uses the registration. False: another fiber is
 * removing it already. `is_removed`: the caller removes this handler alone. */
static bool begin_leave(handler *self, bool is_removed)
{
    world *in = self->world;

    if (self->state != HANDLER_LIVE) {
        return false;
    }
    self->state = HANDLER_LEAVING;
    self->is_removed = is_removed;
    self->is_held = false;
    for (int i = 0; i < HISTORY_HANDLERS; i++) {
        if (in->handlers[i] == self) {
            in->handlers[i] = NULL;
        }
    }
    world_changed(in);
    return true;
}

/* Waits until no other fiber is in a call on the registration. The caller
 * itself may be in a callback of it. */
static void await_alone(handler *self)
{
    if (is_pulled(self->kind)) {
        WORLD_WAIT(self->world, !self->world->loop_is_pulling);
    }
    WORLD_WAIT(self->world, self->users == 0);
}

static void end(handler *self, bool inside)
{
    self->state = HANDLER_ENDED;
    self->is_ended_inside = inside;
    if (!inside) {
        schedule_check(is_pulled(self->kind) || self->inside == 0,
                       "stop: handler %d runs after it was ended",
                       self->number);
        schedule_check(is_pulled(self->kind) || self->is_dropped,
                       "stop: the context of handler %d was not dropped",
                       self->number);
    }
}

/* Removes a handler. With a reference to the handle: a close may come at the
 * same time and take the registration out before; then that close ends it. */
static void remove_handler(handler *self, bool inside)
{
    user_informer *informer = self->informer;

    if (self->state != HANDLER_LIVE || !users_enter(self->world, informer)) {
        return; /* the fiber that closes the informer frees its registrations */
    }
    if (begin_leave(self, true)) {
        await_alone(self);
        kl_registration_remove(self->registration);
        if (!informer->is_closing) {
            end(self, inside);
        } else if (informer->is_closed) {
            end(self, informer->is_closed_inside);
        }
    }
    users_leave(self->world, informer);
    coverage_add(inside ? COVER_REMOVED_INSIDE : COVER_REMOVED, 1);
}

void handlers_remove(world *self, int slot, bool inside)
{
    if (self->handlers[slot] != NULL) {
        remove_handler(self->handlers[slot], inside);
    }
}

void handlers_begin_close(world *self, const user_informer *informer)
{
    for (size_t i = 0; i < self->handler_count; i++) {
        handler *each = self->all_handlers[i];

        if (each->informer == informer && begin_leave(each, false)) {
            await_alone(each);
        }
    }
}

void handlers_end_close(world *self, const user_informer *informer, bool inside)
{
    for (size_t i = 0; i < self->handler_count; i++) {
        handler *each = self->all_handlers[i];

        if (each->informer == informer && each->state == HANDLER_LEAVING) {
            end(each, inside);
        }
        /* The close also waits for handlers that had removed themselves. */
        schedule_check(
            inside || each->informer != informer || is_pulled(each->kind) ||
                each->state == HANDLER_JOINING ||
                (each->is_dropped && each->inside == 0),
            "stop: handler %d is there after the close", each->number);
    }
}

void handlers_hold(world *self, int slot, bool is_held)
{
    handler *held = self->handlers[slot];

    if (held != NULL && held->state == HANDLER_LIVE) {
        held->is_held = is_held;
        world_changed(self);
    }
}

void handlers_arm(world *self, const op *what)
{
    if (self->handlers[what->slot] != NULL) {
        self->handlers[what->slot]->armed = *what;
    }
}

/* Removes the handler within its own callback: handler.h allows that also while
 * its informer is being closed, but not beside another fiber that removes it.
 */
static void remove_self(handler *self)
{
    WORLD_WAIT(self->world, self->state != HANDLER_JOINING);
    if (self->state == HANDLER_LIVE) {
        remove_handler(self, !is_pulled(self->kind));
    } else if (!is_pulled(self->kind) && self->state == HANDLER_LEAVING &&
               !self->is_removed && self->registration != NULL &&
               self->informer->is_closing && !self->informer->is_closed) {
        kl_registration_remove(self->registration);
    }
}

void handlers_act(handler *self)
{
    world *in = self->world;
    const op what = self->armed;
    /* The loop drains pulled handlers on its own thread. */
    bool inside = !is_pulled(self->kind);
    const op added = {
        .slot = what.b, .a = 0, .b = what.c % HANDLER_KINDS, .c = what.c};

    self->armed.a = ARMED_NOTHING;
    switch ((armed_action)what.a) {
    case ARMED_REMOVE_SELF:
        remove_self(self);
        /* the callback still runs */
        schedule_wait_until(schedule_now() + what.b * 20);
        break;
    case ARMED_REMOVE_OTHER:
        handlers_remove(in, what.b, inside);
        break;
    case ARMED_ADD_HANDLER:
        handlers_add(in, &added);
        break;
    case ARMED_CLOSE_OWN:
        users_close(in, self->informer, inside);
        break;
    case ARMED_CLOSE_OTHER:
        if (in->slots[what.b % HISTORY_INFORMERS] != NULL) {
            users_close(in, in->slots[what.b % HISTORY_INFORMERS], inside);
        }
        break;
    case ARMED_QUERY:
        users_query(in, self->informer, what.c % 6, what.b % 4);
        break;
    case ARMED_CLOSE_CLIENT:
        users_close_client(in);
        break;
    default:
        break;
    }
}
