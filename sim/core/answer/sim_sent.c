/*
 * sim_sent.c - see sim_sent.h.
 */
#include "sim/core/answer/sim_sent.h"

#include <string.h>

/* Where the first event after `from` ends; without one, where the ready bytes
 * end. */
static size_t next_end(const kl__buf *out, size_t from)
{
    const char *end = memchr(out->bytes + from, '\n', out->length - from);

    return end != NULL ? (size_t)(end - out->bytes) + 1 : out->length;
}

size_t kl__sim_events_reach(const kl__sim_answer *answer, int64_t events)
{
    size_t at = answer->out_at;

    while (events > 0 && at < answer->out.length) {
        at = next_end(&answer->out, at);
        events--;
    }
    return at > answer->out_at ? at - answer->out_at : SIZE_MAX;
}

int64_t kl__sim_events_sent(const kl__sim_answer *answer, size_t length)
{
    int64_t events = 0;

    for (size_t i = answer->out_at - length; i < answer->out_at; i++) {
        events += answer->out.bytes[i] == '\n';
    }
    return events;
}
