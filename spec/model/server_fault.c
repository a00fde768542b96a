/*
 * server_fault.c - faults: of requests when they arrive, and of streams at a
 * byte.
 */
#include "server_core.h"

#include "schedule.h"

#include <string.h>

static bool is_of_streams(server_fault_type type)
{
    switch (type) {
    case SERVER_FAULT_BREAK:
    case SERVER_FAULT_END:
    case SERVER_FAULT_FREEZE:
    case SERVER_FAULT_RUBBISH:
    case SERVER_FAULT_ERROR_EVENT:
        return true;
    default:
        return false;
    }
}

static bool fits(const server_fault *fault, const stream *self)
{
    if (fault->type == SERVER_FAULT_ERROR_EVENT &&
        self->asked.target != SERVER_WATCH) {
        return false;
    }
    return fault->target == SERVER_ANY || fault->target == self->asked.target;
}

static void doom(stream *self, const server_fault *fault)
{
    self->is_doomed = true;
    self->doom = *fault;
    self->doom_at = self->taken + fault->bytes;
}

static void meet(stream *self, const server_fault *fault)
{
    switch (fault->type) {
    case SERVER_FAULT_REFUSE:
        self->is_refused = true;
        break;
    case SERVER_FAULT_DELAY:
        self->head_at += fault->ms;
        break;
    case SERVER_FAULT_STATUS:
        self->status = fault->status;
        self->retry_after_s = fault->retry_after_s;
        break;
    default:
        doom(self, fault);
        break;
    }
}

/* Draws a fault of any kind, for a request that has none yet. */
static server_fault draw_fault(void)
{
    static const int statuses[] = {401, 403, 410, 429, 500, 503, 504};
    server_fault fault = {
        .type = (server_fault_type)schedule_random(SERVER_FAULT_TYPES),
        .bytes = schedule_random(schedule_chance(500) ? 40 : 2000),
        .ms = (int)schedule_random(40000),
        .status =
            statuses[schedule_random(sizeof(statuses) / sizeof(statuses[0]))],
        .retry_after_s =
            schedule_chance(300) ? 1 + (int)schedule_random(20) : 0,
    };

    return fault;
}

void server_meet_faults(stream *self)
{
    server *from = self->server;

    for (size_t i = 0; i < from->armed_count; i++) {
        server_fault *fault = &from->armed[i];

        if (!fits(fault, self)) {
            continue;
        }
        meet(self, fault);
        if (--fault->times == 0) {
            from->armed_count--;
            memmove(fault, fault + 1, (from->armed_count - i) * sizeof(*fault));
        }
        return;
    }
    if (!from->is_settled && schedule_chance(from->options.fault_per_mille)) {
        server_fault drawn = draw_fault();

        if (fits(&drawn, self)) {
            meet(self, &drawn);
        }
    }
}

/* Writes bytes that are no event. Within an event it writes only bytes that
 * cannot complete the event: only a JSON parser could tell that the result is
 * malformed. */
static void put_rubbish(stream *self)
{
    static const char *const texts[] = {
        "<html><body>502 Bad Gateway</body></html>",
        "\xff\xfe\x01",
        "{\"type\":\"ADDED\",\"object\":[]}\n",
        "{\"type\":\"WHAT\",\"object\":{}}\n",
        "}}]",
        "null\n",
    };
    bool is_between =
        self->taken == 0 || self->body.bytes[self->taken - 1] == '\n';

    kl__buf_puts(&self->body, texts[schedule_random(is_between ? 6 : 2)]);
    self->end = ENDS;
}

void server_fulfil(stream *self)
{
    self->is_doomed = false;
    self->is_watching = false;
    switch (self->doom.type) {
    case SERVER_FAULT_BREAK:
        self->end = BREAKS;
        break;
    case SERVER_FAULT_END:
        self->end = ENDS;
        break;
    case SERVER_FAULT_FREEZE:
        self->end = FREEZES;
        break;
    case SERVER_FAULT_ERROR_EVENT:
        /* The ERROR event is written between two events, wherever the fault was
         * to happen. A stream that froze within an event has no such place. */
        if (self->end == FREEZES) {
            return;
        }
        server_put_error(&self->body, self->doom.status, "by command");
        self->end = ENDS;
        self->is_spoiled = true;
        return;
    default:
        self->body.length = self->taken;
        put_rubbish(self);
        self->is_spoiled = true;
        return;
    }
    self->body.length = self->taken;
}

void server_arm(server *self, const server_fault *fault)
{
    kl__mutex_lock(&self->mutex);
    if (fault->on_open && is_of_streams(fault->type)) {
        for (kl__list *node = self->streams.next; node != &self->streams;
             node = node->next) {
            stream *each = KL__CONTAINER(node, stream, node);

            if (fits(fault, each)) {
                doom(each, fault);
            }
        }
        server_wake_locked(self);
    } else if (self->armed_count < FAULTS_MAX) {
        server_fault *armed = &self->armed[self->armed_count++];

        *armed = *fault;
        armed->times = fault->times > 0 ? fault->times : 1;
    }
    kl__mutex_unlock(&self->mutex);
}

static void break_now(stream *self)
{
    self->is_doomed = false;
    self->is_watching = false;
    self->end = BREAKS;
    self->body.length = self->taken;
}

void server_break_all(server *self)
{
    for (kl__list *node = self->streams.next; node != &self->streams;
         node = node->next) {
        break_now(KL__CONTAINER(node, stream, node));
    }
    server_wake_locked(self);
}

void server_settle(server *self)
{
    kl__mutex_lock(&self->mutex);
    self->is_settled = true;
    self->armed_count = 0;
    for (kl__list *node = self->streams.next; node != &self->streams;
         node = node->next) {
        stream *each = KL__CONTAINER(node, stream, node);

        if (each->is_doomed || each->is_spoiled || each->end == FREEZES) {
            break_now(each);
        }
    }
    server_wake_locked(self);
    kl__mutex_unlock(&self->mutex);
}
