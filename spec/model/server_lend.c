/*
 * server_lend.c - the transport thread of a connection, if its readers may lend
 * their turns: it draws whether it carries out a turn, or wakes the reader.
 */
#include "server_core.h"

#include "coverage.h"
#include "schedule.h"

enum { TAKEN_PER_MILLE = 800 };

/* True if there is something to read: the head, and then bytes. `at` is set as
 * by server_has_bytes. */
static bool is_readable(stream *self, int64_t *at)
{
    return self->took_head ? server_has_bytes(self, at)
                           : server_has_head(self, at);
}

bool server_set_hook(kl__stream *base, const kl__stream_hook *hook)
{
    stream *self = (stream *)(void *)base;

    kl__mutex_lock(&self->server->mutex);
    self->hook = *hook;
    self->is_told = true; /* it looks first */
    kl__mutex_unlock(&self->server->mutex);
    return true;
}

void server_note_look(stream *self, int64_t at)
{
    if (self->hook.wake != NULL && self->connection->lends) {
        self->is_told = false;
        kl__cond_broadcast(&self->server->changed); /* wakes run_transport */
    } else if (self->hook.wake != NULL) {
        self->again_at = at;
    }
}

bool server_lend(kl__stream *base, const kl__stream_turn *turn)
{
    stream *self = (stream *)(void *)base;
    server *from = self->server;
    bool is_lent;
    int64_t at;

    kl__mutex_lock(&from->mutex);
    is_lent = !self->connection->is_closed && !is_readable(self, &at);
    if (is_lent) {
        self->lent = turn;
        self->is_returned = false;
        server_wake_locked(from);
        coverage_add(COVER_HEADS_LENT, self->took_head ? 0 : 1);
        coverage_add(COVER_LISTS_LENT,
                     self->took_head && !self->is_watching ? 1 : 0);
    }
    kl__mutex_unlock(&from->mutex);
    return is_lent;
}

void server_retract(kl__stream *base)
{
    stream *self = (stream *)(void *)base;
    server *from = self->server;

    kl__mutex_lock(&from->mutex);
    self->is_awaited = true;
    while (self->is_taken) {
        kl__cond_wait(&from->changed, &from->mutex, EVER);
    }
    self->is_awaited = false;
    self->lent = NULL;
    kl__mutex_unlock(&from->mutex);
}

/* True if there is something for a reader that has lent its turn, or has a
 * hook. */
static bool has_news(stream *self, int64_t *at)
{
    bool waits =
        self->hook.wake != NULL
            ? !self->is_told
            : self->lent != NULL && !self->is_awaited && !self->is_returned;

    return waits && (self->connection->is_closed || is_readable(self, at));
}

/* A stream of the connection that has news, or NULL; `at` gets the time at
 * which to look again, or EVER. */
static stream *find_lent(const connection *self, int64_t *at)
{
    const kl__list *streams = &self->server->streams;

    *at = EVER;
    for (const kl__list *node = streams->next; node != streams;
         node = node->next) {
        stream *each = KL__CONTAINER(node, stream, node);
        int64_t each_at = EVER;

        if (each->connection == self && has_news(each, &each_at)) {
            return each;
        }
        *at = server_earlier(*at, each_at);
    }
    return NULL;
}

/* Tells a reader that has a hook; or carries out the turn, or leaves it to the
 * reader: always if the stream is at its end. */
static void carry_out_locked(stream *self)
{
    server *from = self->server;
    const kl__stream_turn *turn = self->lent;
    bool is_done = false;

    if (self->hook.wake != NULL) {
        self->is_told = true;
        self->hook.wake(self->hook.arg);
        coverage_add(COVER_HOOKED, 1);
        return;
    }
    if (turn->run != NULL && !self->connection->is_closed &&
        server_readable(self) > 0 && schedule_chance(TAKEN_PER_MILLE)) {
        self->is_taken = true;
        kl__mutex_unlock(&from->mutex);
        kl__thread_set_role(KL__ROLE_TRANSPORT); /* here it must not wait */
        is_done = turn->run(turn->arg);
        kl__thread_set_role(KL__ROLE_ANY);
        kl__mutex_lock(&from->mutex);
        self->is_taken = false;
        coverage_add(COVER_TURNS, 1);
        coverage_add(COVER_TURNS_ALONE, is_done ? 1 : 0);
    }
    if (!is_done && !self->is_awaited) {
        self->is_returned = true;
        turn->wake(turn->arg);
    }
    server_wake_locked(from);
}

static void *run_transport(void *arg)
{
    connection *self = arg;
    server *from = self->server;

    kl__mutex_lock(&from->mutex);
    while (!self->is_over) {
        int64_t at;
        stream *ready = find_lent(self, &at);

        if (ready != NULL) {
            carry_out_locked(ready);
        } else {
            kl__cond_wait(&from->changed, &from->mutex, at);
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
