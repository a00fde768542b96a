/*
 * fake_script.c - see fake_transport.h: the spec's side: scripts answers, looks
 * at requests, waits, and feeds streams that are held open.
 */
#include "fake_exchange.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

void fake_transport_answer(fake_transport *fake, const fake_answer *answer)
{
    script added = {*answer, answer->times != 0 ? answer->times : 1};
    size_t length = answer->body == NULL  ? 0
                    : answer->length != 0 ? answer->length
                                          : strlen(answer->body);

    added.answer.method = fake_copy(answer->method);
    added.answer.target = fake_copy(answer->target);
    added.answer.type = fake_copy(answer->type);
    added.answer.warning = fake_copy(answer->warning);
    added.answer.headers = fake_copy(answer->headers);
    added.answer.length = length;
    if (answer->body != NULL) {
        added.answer.body =
            memcpy(fake_need(malloc(length + 1)), answer->body, length);
    }
    kl__mutex_lock(&fake->mutex);
    if (fake->script_count == MAX_ANSWERS) {
        abort();
    }
    fake->scripts[fake->script_count++] = added;
    kl__mutex_unlock(&fake->mutex);
}

size_t fake_transport_count(fake_transport *fake)
{
    size_t count;

    kl__mutex_lock(&fake->mutex);
    count = fake->exchange_count;
    kl__mutex_unlock(&fake->mutex);
    return count;
}

/* Returns the exchange at an index, which must exist. The caller holds the
 * mutex. */
static exchange *at_locked(fake_transport *fake, size_t index)
{
    if (index >= fake->exchange_count) {
        abort();
    }
    return fake->exchanges[index];
}

fake_request fake_transport_request(fake_transport *fake, size_t index)
{
    fake_request request;

    kl__mutex_lock(&fake->mutex);
    request = at_locked(fake, index)->request;
    request.taken = at_locked(fake, index)->taken;
    kl__mutex_unlock(&fake->mutex);
    return request;
}

size_t fake_transport_asked(fake_transport *fake, const char *target)
{
    size_t count = 0;

    kl__mutex_lock(&fake->mutex);
    for (size_t i = 0; i < fake->exchange_count; i++) {
        count +=
            fake_target_matches(target, fake->exchanges[i]->request.target);
    }
    kl__mutex_unlock(&fake->mutex);
    return count;
}

bool fake_transport_await(fake_transport *fake, size_t count)
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool came;

    kl__mutex_lock(&fake->mutex);
    while (fake->exchange_count < count &&
           kl__cond_wait(&fake->changed, &fake->mutex, deadline_ms)) {
    }
    came = fake->exchange_count >= count;
    kl__mutex_unlock(&fake->mutex);
    return came;
}

static bool has_reader(const exchange *self)
{
    return self->has_reader;
}

static bool is_closed(const exchange *self)
{
    return self->request.is_closed;
}

static bool await_exchange(fake_transport *fake, size_t index,
                           bool (*is_so)(const exchange *))
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool came;

    if (!fake_transport_await(fake, index + 1)) {
        return false;
    }
    kl__mutex_lock(&fake->mutex);
    while (!is_so(at_locked(fake, index)) &&
           kl__cond_wait(&fake->changed, &fake->mutex, deadline_ms)) {
    }
    came = is_so(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
    return came;
}

bool fake_transport_await_reader(fake_transport *fake, size_t index)
{
    return await_exchange(fake, index, has_reader);
}

bool fake_transport_await_closed(fake_transport *fake, size_t index)
{
    return await_exchange(fake, index, is_closed);
}

void fake_transport_release(fake_transport *fake, size_t index)
{
    kl__mutex_lock(&fake->mutex);
    at_locked(fake, index)->holds_head = false;
    fake_tell_reader(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
}

void fake_transport_send(fake_transport *fake, size_t index, const char *text)
{
    kl__mutex_lock(&fake->mutex);
    fake_put_bytes(at_locked(fake, index), text, strlen(text));
    fake_tell_reader(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
}

void fake_transport_finish(fake_transport *fake, size_t index, fake_end end)
{
    kl__mutex_lock(&fake->mutex);
    at_locked(fake, index)->end = end;
    fake_tell_reader(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
}
