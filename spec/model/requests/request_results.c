/*
 * request_results.c - what the result of a request may be: the oracle of
 * request_turns_spec. The wire has noted what the server did (request_wire.c).
 */
#include "requests.h"
#include "schedule.h"

#include "api/requester.h"

#include <stdio.h>
#include <string.h>

static unsigned long seen[SEEN_KINDS];

void saw(seen_kind kind)
{
    seen[kind]++;
}

bool print_seen(void)
{
    static const char *const names[] = {
#define SEEN_NAME(constant, what) what,
        SEEN(SEEN_NAME)
#undef SEEN_NAME
    };
    bool has_all = true;

    for (int i = 0; i < SEEN_KINDS; i++) {
        printf("%9lu %s\n", seen[i], names[i]);
        has_all = has_all && seen[i] > 0;
    }
    return has_all;
}

bool asked_is_over(const asked *self)
{
    return !self->is_sending &&
           (self->request == NULL || self->request->has_result);
}

int64_t asked_limit_ms(const asked *of)
{
    int64_t limit_ms = of->deadline_ms;

    if (of->cancel_ms >= 0 && of->cancel_ms < limit_ms) {
        limit_ms = of->cancel_ms;
    }
    if (of->door->closed_ms >= 0 && of->door->closed_ms < limit_ms) {
        limit_ms = of->door->closed_ms;
    }
    return limit_ms;
}

/* It was cancelled, its client was closed, or its time is over. */
static bool was_ended(const asked *of)
{
    return schedule_now() >= asked_limit_ms(of);
}

void asked_check_body(const asked *of, const char *body, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        schedule_check(body[i] == wire_letter(of),
                       "request %d has bytes of another answer", of->number);
    }
}

void asked_check_answer(const asked *of, const kl_reply *reply)
{
    bool is_stream = of->streams && reply->status / 100 == 2;

    if (is_stream) {
        return; /* the wire may have closed it meanwhile */
    }
    schedule_check(!of->is_open && reply->status == of->status,
                   "request %d has the status %d, was answered with %d",
                   of->number, reply->status, of->status);
    schedule_check(of->is_whole || of->status >= 400,
                   "request %d has a part of an answer", of->number);
    schedule_check(reply->body_length == of->come ||
                       (reply->body_length < of->come && was_ended(of)),
                   "request %d has %zu bytes, %zu came", of->number,
                   reply->body_length, of->come);
    asked_check_body(of, reply->body, reply->body_length);
    saw(of->is_whole ? SEEN_ANSWER : SEEN_REFUSAL);
    if (of->refusals == 2) {
        saw(SEEN_SECOND_401);
    }
    if (of->status == 401 && of->must_repeat && of->refusals == 1) {
        schedule_check(was_ended(of), "request %d gives up after a 401",
                       of->number);
    }
    if (of->status != 401 && of->must_repeat) {
        schedule_check(of->over_ms + of->pause_ms >= of->deadline_ms ||
                           was_ended(of),
                       "request %d is not tried again", of->number);
    }
}

/* The server may have carried out a write that was sent and not answered. */
static void check_write(const asked *of, kl_code code)
{
    bool is_unknown = of->is_write && of->tries > 0 && of->was_sent &&
                      !of->may_repeat && of->refusals == 0 && !of->is_whole;

    if (code == KL_EUNKNOWN) {
        schedule_check(of->is_write && of->was_sent &&
                           (!of->is_whole || was_ended(of)),
                       "request %d is called unknown", of->number);
    } else {
        schedule_check(!is_unknown, "a write that was sent is told as %d",
                       (int)code);
    }
}

void asked_check_failure(const asked *of, const kl_error *err)
{
    const known_login *login = of->door->login;
    bool is_of_run = strncmp(err->message, "run ", 4) == 0;

    schedule_check(!of->is_open, "a stream outlives its request");
    check_write(of, err->code);
    if (is_of_run) {
        schedule_check(login->kind == LOGIN_PLUGIN && login->failed_ms >= 0 &&
                           err->code != KL_ECANCELED,
                       "a request fails with a run of no plugin: %s",
                       err->message);
        saw(SEEN_RUN_FAILED);
        return;
    }
    switch (err->code) {
    case KL_ECANCELED:
        saw(SEEN_CANCELED);
        schedule_check(of->cancel_ms >= 0, "nothing cancelled request %d",
                       of->number);
        break;
    case KL_ECLOSED:
        saw(SEEN_CLOSED);
        schedule_check(of->door->closed_ms >= 0, "request %d is not closed",
                       of->number);
        break;
    case KL_ETIMEOUT:
        saw(SEEN_TIMEOUT);
        schedule_check(schedule_now() >= of->deadline_ms,
                       "request %d has a timeout too early: %s", of->number,
                       err->message);
        schedule_check(of->tries > 0 || login->is_busy ||
                           login->free_ms >= of->deadline_ms,
                       "request %d was never sent, and waited for nothing",
                       of->number);
        break;
    case KL_EUNAVAILABLE:
        saw(SEEN_UNAVAILABLE);
        schedule_check(of->is_broken, "no connection of %d broke", of->number);
        schedule_check(!of->must_repeat || was_ended(of) ||
                           of->over_ms + of->pause_ms >= of->deadline_ms,
                       "request %d is not tried again", of->number);
        break;
    case KL_EUNKNOWN:
        saw(SEEN_UNKNOWN);
        schedule_check(of->is_broken || was_ended(of), "nothing ended it");
        break;
    case KL_EIO:
        saw(SEEN_NO_THREAD);
        schedule_check(w.fails_per_mille > 0, "a thread does not start");
        break;
    default:
        schedule_fail("request %d: %s", of->number, err->message);
    }
}
