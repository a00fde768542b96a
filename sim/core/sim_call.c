/*
 * sim_call.c - kl_sim_call: carries out one request of a C caller, without a
 * transport, credentials or faults. sim_load.c loads manifests by such
 * requests.
 */
#include "sim/core/sim_call.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sim/core/sim_course.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 30 * 1000, CHUNK = 64 * 1024, TYPE_SIZE = 256 };

/* Reads the whole body into `body`. */
static kl_code drain_body(kl__sim_answer *answer, const kl__sim_wait *wait,
                          kl__buf *body, kl_error *err)
{
    for (;;) {
        char *room = kl__buf_reserve(body, CHUNK);
        size_t length = 0;
        kl_code code;

        if (room == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a reply");
        }
        code = kl__sim_answer_read(answer, room, CHUNK, &length, wait, err);
        if (code != KL_OK || length == 0) {
            return code;
        }
        body->length += length;
        body->bytes[body->length] = '\0';
    }
}

/* Moves the whole body to `body` without a copy, which could fail: after a
 * write was carried out, its call should not fail. False: the body is not
 * complete in memory yet, and drain_body reads it. */
static bool take_whole(kl__sim_answer *answer, kl__buf *body)
{
    if (answer->state_count != 0 || answer->tail.length != 0 ||
        answer->out.length == 0) {
        return false;
    }
    *body = answer->out;
    answer->out = (kl__buf){0};
    return true;
}

static bool fill_warnings(kl_reply *reply, const kl__sim_warnings *warnings)
{
    kl__buf lines = {0};

    if (warnings->count == 0) {
        return true;
    }
    kl__sim_warnings_lines(warnings, &lines);
    reply->warnings = kl__buf_take(&lines, NULL);
    kl__buf_deinit(&lines);
    return reply->warnings != NULL;
}

/* Fills the reply. Takes `type`, a buffer of TYPE_SIZE bytes, even when it
 * fails. */
static kl_code fill_reply(kl_reply *reply, const kl__sim_answer *answer,
                          char *type, kl__buf *body, kl_error *err)
{
    reply->status = answer->status;
    reply->retry_after_ms = answer->retry_after_seconds < 0
                                ? -1
                                : answer->retry_after_seconds * 1000L;
    snprintf(type, TYPE_SIZE, "%s", answer->content_type);
    reply->content_type = type;
    reply->body = kl__buf_take(body, &reply->body_length);
    if (reply->body == NULL || !fill_warnings(reply, &answer->warnings)) {
        kl_reply_clear(reply);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a reply");
    }
    return KL_OK;
}

/* Carries the request out and fills the reply. Takes `type`. */
static kl_code carry_out_call(kl__sim_answer *answer, const kl_call *call,
                              char *type, kl_reply *reply, kl_error *err)
{
    const int timeout_ms =
        call->timeout_ms > 0 ? call->timeout_ms : DEFAULT_TIMEOUT_MS;
    const kl__sim_wait wait = {kl__clock_now(kl__clock_real()) + timeout_ms,
                               NULL};
    kl__buf body = {0};
    kl_code code = kl__sim_answer_begin(answer, &wait, err);

    if (code == KL_OK && !take_whole(answer, &body)) {
        code = drain_body(answer, &wait, &body, err);
    }
    if (code == KL_OK) {
        code = fill_reply(reply, answer, type, &body, err);
    } else {
        kl__free(type);
    }
    kl__buf_deinit(&body);
    return code;
}

kl_code kl__sim_request_once(kl_sim *sim, const kl_call *call, bool loading,
                             kl_reply *reply, kl_error *err)
{
    const kl__sim_request request = {.method = call->method,
                                     .target = call->target,
                                     .accept = call->accept,
                                     .content_type = call->content_type,
                                     .body = call->body,
                                     .body_length = call->body_length};
    kl__sim_answer *answer;
    char *type;
    kl_code code;

    memset(reply, 0, sizeof(*reply));
    answer = kl__sim_answer_new(sim, &request, err);
    if (answer == NULL) {
        return KL_ENOMEM;
    }
    answer->direct = true;
    answer->may_control = true;
    answer->loading = loading;
    if (strcmp(kl__sim_verb(&answer->ask), "watch") == 0) {
        kl__sim_answer_free(answer);
        return kl_error_set(err, KL_EINVAL,
                            "a watch does not end: watch through a transport "
                            "or a port of the simulator");
    }
    type = kl__malloc(TYPE_SIZE);
    code = type != NULL
               ? carry_out_call(answer, call, type, reply, err)
               : kl_error_set(err, KL_ENOMEM, "out of memory for a reply");
    kl__sim_answer_free(answer);
    return code;
}

kl_code kl_sim_call(kl_sim *sim, const kl_call *call, kl_reply *reply,
                    kl_error *err)
{
    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    if (call->method == NULL || call->target == NULL || *call->target != '/') {
        return kl_error_set(err, KL_EINVAL,
                            "a call needs a method and a target that begins "
                            "with /");
    }
    return kl__sim_request_once(sim, call, false, reply, err);
}
