/*
 * fault_rig.c - see fault_rig.h.
 */
#include "fault_rig.h"

#include "sim_play.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int64_t fault_in(int ms)
{
    return kl__clock_now(kl__clock_real()) + ms;
}

int64_t fault_order(sim_rig *f, const char *rule)
{
    int64_t id = 0;
    kl_error err;

    rule = sim_json(rule);
    if (kl_sim_fault(f->sim, rule, strlen(rule), &id, &err) != KL_OK) {
        fail_msg("%s: %s", rule, err.message);
    }
    return id;
}

kl__stream *fault_send(sim_rig *f, const char *target, const char *agent)
{
    const kl__header header = {"User-Agent", agent};
    const kl__request request = {.method = "GET",
                                 .base_url = "",
                                 .target = target,
                                 .headers = &header,
                                 .header_count = agent != NULL};

    return kl__transport_open(f->transport, &request, NULL);
}

int fault_outcome(sim_rig *f, const char *target, const char *agent)
{
    kl__stream *stream = fault_send(f, target, agent);
    kl__response response;
    kl_code code = kl__stream_response(
        stream, &response, fault_in(SIM_CLIENT_PATIENCE_MS), NULL, NULL);

    kl__stream_close(stream);
    return code == KL_OK ? response.status : -(int)code;
}

kl_code fault_body(sim_rig *f, const char *target, int patience_ms,
                   kl__buf *body)
{
    kl__stream *stream = fault_send(f, target, NULL);
    kl_code code;
    size_t length;

    do {
        char *room = kl__buf_reserve(body, 4096);

        length = 0;
        code = kl__stream_read(stream, room, 4096, &length,
                               fault_in(patience_ms), NULL, NULL);
        body->length += length;
        body->bytes[body->length] = '\0';
    } while (code == KL_OK && length != 0);
    kl__stream_close(stream);
    return code;
}
