/*
 * server_lend.c - the transport thread of a connection, if its readers may lend
 * their turns: it draws whether it carries out a turn, or wakes the reader.
 */
#include "server_core.h"

#include "coverage.h"
#include "schedule.h"

enum { TAKEN_PER_MILLE = 800 };

/* True if the reader has to go on: the rest is the transport thread's. */
static bool must_go_on(stream *self, int64_t *at)
{
    bool is_there;

    *at = EVER;
    if (self->is_taken) {
        return false;
    }
    is_there = server_has_bytes(self, at);
    return self->is_returned || (is_there && server_readable(self) == 0);
}

kl_code server_wait(kl__stream *base, const kl__stream_turn *turn,
                    int64_t deadline_ms, kl__cancel *cancel, kl_error *err)
{
    stream *self = (stream *)(void *)base;
    server *from = self->server;
    kl__cancel_hook hook = {.wake = server_wake, .arg = from};
    patience until = {deadline_ms, cancel};
    kl_error reason = {0};
    kl_code code;

    if (!kl__cancel_add(cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    kl__mutex_lock(&from->mutex);
    self->lent = turn;
    self->is_returned = false;
    server_wake_locked(from);
    code = server_await_locked(self, must_go_on, &until, &reason);
    self->is_awaited = true;
    while (self->is_taken) {
        kl__cond_wait(&from->changed, &from->mutex, EVER);
    }
    self->is_awaited = false;
    self->lent = NULL;
    kl__mutex_unlock(&from->mutex);
    kl__cancel_remove(cancel, &hook);
    if (code != KL_OK) { /* the turn may have written `err` */
        *err = reason;
    }
    return code;
}

static bool may_take(stream *self, int64_t *at)
{
    return self->lent != NULL && !self->is_awaited && !self->is_returned &&
           server_has_bytes(self, at) && server_readable(self) > 0;
}

/* A stream of the connection whose turn can be taken, or NULL; `at` gets the
 * time at which to look again, or EVER. */
static stream *find_lent(const connection *self, int64_t *at)
{
    const kl__list *streams = &self->server->streams;

    *at = EVER;
    for (const kl__list *node = streams->next; node != streams;
         node = node->next) {
        stream *each = KL__CONTAINER(node, stream, node);
        int64_t each_at = EVER;

        if (each->connection == self && may_take(each, &each_at)) {
            return each;
        }
        *at = server_earlier(*at, each_at);
    }
    return NULL;
}

static void carry_out_locked(stream *self)
{
    server *from = self->server;
    bool is_done = false;

    if (schedule_chance(TAKEN_PER_MILLE)) {
        self->is_taken = true;
        kl__mutex_unlock(&from->mutex);
        kl__thread_set_role(KL__ROLE_TRANSPORT); /* here it must not wait */
        is_done = self->lent->run(self->lent->arg);
        kl__thread_set_role(KL__ROLE_ANY);
        kl__mutex_lock(&from->mutex);
        self->is_taken = false;
        coverage_add(COVER_TURNS, 1);
        coverage_add(COVER_TURNS_ALONE, is_done ? 1 : 0);
    }
    self->is_returned = !is_done;
    server_wake_locked(from);
}

static void *run_transport(void *arg)
{
    connection *self = arg;
    server *from = self->server;

    kl__mutex_lock(&from->mutex);
    while (!self->is_over) {
        int64_t at;
        stream *ready = self->is_closed ? NULL : find_lent(self, &at);

        if (ready != NULL) {
            carry_out_locked(ready);
        } else {
            kl__cond_wait(&from->changed, &from->mutex,
                          self->is_closed ? EVER : at);
        }
    }
    kl__mutex_unlock(&from->mutex);
    return NULL;
}

void server_lend_start(connection *self)
{
    self->lends = self->server->options.lends;
    schedule_check(!self->lends ||
                       kl__thread_start(&self->thread, "transport",
                                        run_transport, self, NULL) == KL_OK,
                   "the model is out of memory");
}

void server_lend_stop(connection *self)
{
    if (!self->lends) {
        return;
    }
    kl__mutex_lock(&self->server->mutex);
    self->is_over = true;
    server_wake_locked(self->server);
    kl__mutex_unlock(&self->server->mutex);
    kl__thread_join(&self->thread);
}
