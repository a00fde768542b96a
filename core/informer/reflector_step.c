/*
 * reflector_step.c - the turns of a reflector's task: from one state to the
 * next, until one rests; and the two states that only wait for something. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "informer/task.h"
#include "kubelua/log.h"

enum {
    LOOK_MS = 1000, /* between two looks if a pause may end early */
    /* An answer begins by then, or a request fails: of credentials, discovery,
       and a list or watch. */
    NETWORK_MS = 180000
};

/* How long the thread may stay in a state that waits for the network, or after
 * an item of a list; with an item of a watch it goes on at once, or when the
 * queue has room. */
static void expect_network(kl__reflector *self, kl_informer_state state)
{
    atomic_store_explicit(&self->grace_ms,
                          state == KL_STATE_WATCHING ? self->options.stall_ms
                                                     : KL__LIST_SILENCE_MS,
                          memory_order_relaxed);
    kl__reflector_expect(self, state == KL_STATE_BACKOFF ? self->wait_ms
                                                         : NETWORK_MS);
}

/* The state KL_STATE_RESOLVING: rests until discovery has answered. */
static kl_informer_state resolve_resource(kl__reflector *self)
{
    kl_error err = {.retry_after_ms = -1};

    if (!self->is_resolving) {
        self->is_resolving = true;
        err.code = kl__list_watch_resolve(self->options.source,
                                          &self->interrupt.token, &err);
    }
    if (err.code == KL_OK && !kl__reflector_await_answer(self, &err)) {
        return KL_STATE_RESOLVING;
    }
    self->is_resolving = false;
    if (err.code != KL_OK) {
        return kl__reflector_unresolved(self, &err);
    }
    self->is_opaque = false; /* another server may serve the resource now */
    self->backward_until = 0;
    return kl__reflector_relist(self);
}

/* True if what the pause hopes for has come. It looks once a second, but not in
 * the last one. */
static bool may_hurry(kl__reflector *self, int64_t now)
{
    if (self->hope == KL__NO_HOPE || now < self->look_at ||
        self->look_at >= self->retry_at) {
        return false;
    }
    self->look_at = now + LOOK_MS;
    if (self->hope == KL__NEW_CREDENTIALS) {
        return kl__list_watch_has_new_credentials(self->options.source);
    }
    self->has_hurried =
        kl__list_watch_answers(self->options.source) != self->answers;
    return self->has_hurried;
}

/* The state KL_STATE_BACKOFF: rests until its end, or until what it hopes for
 * has come, and packs the young objects that are due meanwhile. */
static kl_informer_state back_off(kl__reflector *self)
{
    int64_t now = kl__reflector_now(self);
    int64_t until = self->retry_at;

    if (kl__reflector_is_stopped(self) || now >= until ||
        may_hurry(self, now)) {
        self->hope = KL__NO_HOPE;
        return self->resume;
    }
    if (self->hope != KL__NO_HOPE && self->look_at < until) {
        until = self->look_at;
    }
    kl__reflector_rest(self, self->options.clock,
                       now + kl__reflector_pack_due(self, until - now));
    return KL_STATE_BACKOFF;
}

/* Makes a state visible to kl__reflector_status. */
static void enter_state(kl__reflector *self, kl_informer_state state)
{
    kl_log(KL_LOG_DEBUG, "%s: %s", self->options.name,
           kl_informer_state_name(state));
    expect_network(self, state);
    kl__mutex_lock(&self->mutex);
    self->state = state;
    self->retry_at =
        state == KL_STATE_BACKOFF ? kl__reflector_now(self) + self->wait_ms : 0;
    kl__mutex_unlock(&self->mutex);
    self->look_at = kl__reflector_now(self) + LOOK_MS;
}

/* Copies what was asked for last; false: that is the present shard. The token
 * is renewed first: a change that comes after it fires the token again. */
static bool copy_wanted(kl__reflector *self)
{
    bool has_changed;

    kl__mutex_lock(&self->change_mutex);
    if (kl__cancel_fired(&self->interrupt.token)) {
        kl__cancel_either_renew(&self->interrupt);
    }
    kl__mutex_lock(&self->mutex);
    has_changed = self->shard != self->wanted_shard;
    self->shards = self->wanted;
    self->shard = self->wanted_shard;
    kl__mutex_unlock(&self->mutex);
    kl__mutex_unlock(&self->change_mutex);
    return has_changed;
}

/* If kl__reflector_set_shard was called: gives the source the new shard.
 * Returns the state to go on with instead of `state`. The cache and its version
 * stand: so the list is no older than the last event, and no event is lost or
 * told twice. */
static kl_informer_state take_shard(kl__reflector *self,
                                    kl_informer_state state)
{
    kl_informer_state relist;

    if (!copy_wanted(self)) {
        return state;
    }
    kl__list_watch_end(self->options.source); /* a streaming list goes on */
    self->streaming = false;
    kl__list_watch_set_shards(self->options.source, &self->shards);
    relist = kl__reflector_relist(self);
    if (state == KL_STATE_BACKOFF && self->resume != KL_STATE_RESOLVING) {
        self->resume = relist;
    }
    return state == KL_STATE_BACKOFF || state == KL_STATE_RESOLVING ? state
                                                                    : relist;
}

/* Goes through the states until one rests (true) or the reflector ends. */
static bool go_through_states(kl__reflector *self)
{
    static kl_informer_state (*const states[])(kl__reflector *) = {
        [KL_STATE_RESOLVING] = resolve_resource,
        [KL_STATE_LISTING] = kl__reflector_list,
        [KL_STATE_STREAMING] = kl__reflector_stream,
        [KL_STATE_WATCHING] = kl__reflector_watch,
        [KL_STATE_BACKOFF] = back_off,
    };
    kl_informer_state next = self->next;
    bool has_rested = self->rests;

    /* A state that rests goes on even if the reflector was stopped: it may have
     * lent its turn. */
    while (has_rested ||
           (next != KL_STATE_STOPPED && !kl__reflector_is_stopped(self))) {
        if (!has_rested) {
            next = take_shard(self, next);
            enter_state(self, next);
        }
        has_rested = self->rests = false;
        kl__reflector_take_back(self);
        next = states[next](self);
        if (self->rests) {
            self->next = next;
            return true;
        }
    }
    return false;
}

int64_t kl__reflector_step(kl__reflector *self, kl__clock **on)
{
    if (go_through_states(self)) {
        *on = self->rest_on;
        if (self->rest_until < 0) {
            return KL__TASK_REST;
        }
        return self->rest_until > kl__clock_now(*on) ? self->rest_until
                                                     : KL__TASK_AGAIN;
    }
    kl__list_watch_end(self->options.source);
    enter_state(self, KL_STATE_STOPPED);
    kl__delta_fifo_close(self->options.fifo);
    return KL__TASK_OVER;
}
