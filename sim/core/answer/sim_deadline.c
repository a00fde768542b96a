/*
 * sim_deadline.c - see sim_deadline.h. In the simulator an answer is late only
 * if a fault delays it: if the delay is longer than the request's timeout, the
 * answer is a 504, as from a real server.
 */
#include "sim/core/answer/sim_deadline.h"

#include "sim/core/schema/duration.h"
#include "sim/core/answer/sim_requests.h"
#include "sim/core/answer/sim_status.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SECONDS = 60 /* a real server gives a request no more */ };

/* The parameter; NULL if there is none, or if it does not apply. */
static const char *timeout_of(const kl__sim_ask *ask)
{
    const char *given = kl__sim_parameter_get(ask, "timeout");

    return given == NULL || *given == '\0' ||
                   strcmp(kl__sim_verb(ask), "watch") == 0
               ? NULL
               : given;
}

bool kl__sim_deadline_check(kl__sim_answer *answer, kl_code *code,
                            kl_error *err)
{
    const char *given = timeout_of(&answer->ask);
    double seconds = 0;
    char why[256];

    if (given == NULL || kl__duration_read(given, &seconds, why, sizeof(why))) {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "invalid timeout specified in the request URL - %s",
                           why);
    return false;
}

int64_t kl__sim_deadline_ms(const kl__sim_ask *ask)
{
    const char *given = timeout_of(ask);
    double seconds = 0;
    char why[256];

    if (given == NULL ||
        !kl__duration_read(given, &seconds, why, sizeof(why)) || seconds <= 0 ||
        seconds >= (double)MOST_SECONDS) {
        return -1;
    }
    return (int64_t)(seconds * 1000);
}

kl_code kl__sim_deadline_answer(kl__sim_answer *answer, kl_error *err)
{
    kl__sim_status status = {
        .code = 504,
        .reason = "Timeout",
        .has_details = true,
        .message = "Timeout: request did not complete within the allotted "
                   "timeout"};
    kl_code code = kl__sim_answer_status(answer, &status, err);

    answer->begun = true;
    kl__sim_requests_add(answer->sim, &answer->ask, 504);
    return code;
}
