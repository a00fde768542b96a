/*
 * sim_plan.c - see sim_plan.h. In the simulator an answer is late only if a
 * fault delays it: if the delay is longer than the request's timeout, the
 * answer is a 504, as from a real server.
 */
#include "sim/core/answer/sim_plan.h"

#include "base/mem.h"
#include "sim/core/answer/sim_requests.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/schema/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the parameter ?timeout= ---- */

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

/* The timeout of the request in milliseconds; -1: none, or 60 s and more. */
static int64_t sim_deadline_ms(const kl__sim_ask *ask)
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

/* Answers 504: the timeout is over. KL_ENOMEM. */
static kl_code sim_deadline_answer(kl__sim_answer *answer, kl_error *err)
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

/* ---- events in ready bytes ---- */

/* Where the first event after `from` ends; without one, where the ready bytes
 * end. */
static size_t next_end(const kl__buf *out, size_t from)
{
    const char *end = memchr(out->bytes + from, '\n', out->length - from);

    return end != NULL ? (size_t)(end - out->bytes) + 1 : out->length;
}

/* How many ready bytes there are up to the end of the next `events` events;
 * SIZE_MAX: none are ready. */
static size_t sim_events_reach(const kl__sim_answer *answer, int64_t events)
{
    size_t at = answer->out_at;

    while (events > 0 && at < answer->out.length) {
        at = next_end(&answer->out, at);
        events--;
    }
    return at > answer->out_at ? at - answer->out_at : SIZE_MAX;
}

/* How many events end in the last `length` bytes before answer->out_at. */
static int64_t sim_events_sent(const kl__sim_answer *answer, size_t length)
{
    int64_t events = 0;

    for (size_t i = answer->out_at - length; i < answer->out_at; i++) {
        events += answer->out.bytes[i] == '\n';
    }
    return events;
}

/* ---- the plan ---- */

/* The current time in milliseconds, on the clock that measures faults. */
static int64_t fault_now(const kl_sim *sim)
{
    return kl__sim_clock_now(&sim->clock);
}

static bool is_in_force(const kl__sim_applied *applied)
{
    return !applied->is_over && !applied->rule->is_cleared;
}

static kl_code apply_rule(kl__sim_answer *answer, kl__sim_rule *rule,
                          kl_error *err)
{
    kl__sim_plan *plan = answer->plan;
    kl__sim_applied *applied;

    if (plan == NULL) {
        plan = kl__calloc(1, sizeof(*plan));
        if (plan == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a fault");
        }
        answer->plan = plan;
    }
    applied = &plan->applied[plan->count++];
    applied->rule = rule;
    rule->refs++;
    applied->since_ms = fault_now(answer->sim);
    return KL_OK;
}

static bool has_room(const kl__sim_answer *answer)
{
    return answer->plan == NULL || answer->plan->count < KL__SIM_MAX_APPLIED;
}

/* True if the rule would replace an answer that another rule replaces already.
 * Then the rule waits for the next request. */
static bool is_superfluous(const kl__sim_answer *answer,
                           const kl__sim_rule *rule)
{
    return rule->action == KL__SIM_FAIL &&
           kl__sim_plan_rule(answer, KL__SIM_FAIL) != NULL;
}

kl_code kl__sim_plan_begin(kl__sim_answer *answer, kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl_code code = KL_OK;

    answer->rules_seen = sim->last_rule;
    for (kl__list *node = sim->rules.next;
         code == KL_OK && node != &sim->rules && has_room(answer);
         node = node->next) {
        kl__sim_rule *rule = KL__CONTAINER(node, kl__sim_rule, node);

        if (!is_superfluous(answer, rule) &&
            kl__sim_rule_takes(rule, &answer->ask)) {
            code = apply_rule(answer, rule, err);
        }
    }
    return code;
}

kl_code kl__sim_plan_refresh(kl__sim_answer *answer, bool *expires,
                             kl_error *err)
{
    kl_sim *sim = answer->sim;
    const int64_t seen = answer->rules_seen;
    kl_code code = KL_OK;

    if (seen == sim->last_rule || answer->direct) {
        return KL_OK;
    }
    answer->rules_seen = sim->last_rule;
    for (kl__list *node = sim->rules.next;
         code == KL_OK && node != &sim->rules && has_room(answer);
         node = node->next) {
        kl__sim_rule *rule = KL__CONTAINER(node, kl__sim_rule, node);

        if (rule->id > seen && kl__sim_rule_takes_open(rule, &answer->ask)) {
            code = apply_rule(answer, rule, err);
            *expires |= code == KL_OK && rule->action == KL__SIM_EXPIRE;
        }
    }
    return code;
}

void kl__sim_plan_free(kl__sim_answer *answer)
{
    kl__sim_plan *plan = answer->plan;

    if (plan == NULL) {
        return;
    }
    for (size_t i = 0; i < plan->count; i++) {
        kl__buf_deinit(&plan->applied[i].held);
        kl__sim_rule_finish(plan->applied[i].rule);
    }
    kl__free(plan);
    answer->plan = NULL;
}

const kl__sim_rule *kl__sim_plan_rule(const kl__sim_answer *answer,
                                      kl__sim_action action)
{
    const kl__sim_plan *plan = answer->plan;

    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        if (plan->applied[i].rule->action == action &&
            is_in_force(&plan->applied[i])) {
            return plan->applied[i].rule;
        }
    }
    return NULL;
}

bool kl__sim_plan_resets(const kl__sim_answer *answer)
{
    const kl__sim_rule *cut = kl__sim_plan_rule(answer, KL__SIM_CUT);

    return cut != NULL && cut->how == KL__SIM_RESET;
}

bool kl__sim_plan_expires(const kl__sim_answer *answer)
{
    return kl__sim_plan_rule(answer, KL__SIM_EXPIRE) != NULL;
}

static kl_code cut_off(const kl__sim_rule *rule, kl_error *err)
{
    return kl_error_set(err, KL_EUNAVAILABLE,
                        "simulator: connection %s by the fault %" PRId64,
                        rule->how == KL__SIM_RESET ? "reset" : "cut", rule->id);
}

static void wait_until(kl__sim_pace *pace, int64_t until_ms)
{
    /* Of several waits the longest counts; a wait without an end is the
     * longest. */
    if (pace->most != 0 || (pace->until_ms >= 0 && until_ms < 0) ||
        (pace->until_ms >= 0 && until_ms > pace->until_ms)) {
        pace->until_ms = until_ms;
    }
    pace->most = 0;
}

/* Starts a freeze that is due, and sets how long it lasts. */
static void freeze_answer(kl__sim_applied *applied, int64_t now,
                          kl__sim_pace *pace)
{
    if (applied->rule->seconds_ms < 0) {
        wait_until(pace, -1);
        return;
    }
    if (applied->until_ms == 0) {
        applied->until_ms = now + applied->rule->seconds_ms;
    }
    if (now >= applied->until_ms) {
        applied->is_over = true;
    } else {
        wait_until(pace, applied->until_ms);
    }
}

static bool is_at_head(const kl__sim_rule *rule)
{
    return rule->after_bytes < 0 && rule->after_events < 0;
}

/* Holds the head back until the delay, or the request's own timeout, is
 * over. */
static kl_code delay_head(kl__sim_answer *answer,
                          const kl__sim_applied *applied, kl__sim_pace *pace,
                          kl_error *err)
{
    const int64_t now = fault_now(answer->sim);
    const int64_t given = sim_deadline_ms(&answer->ask);
    const int64_t delay = applied->rule->before_ms;

    if (now >= applied->since_ms + delay) {
        return KL_OK;
    }
    if (given < 0 || given >= delay) {
        wait_until(pace, applied->since_ms + delay);
    } else if (now < applied->since_ms + given) {
        wait_until(pace, applied->since_ms + given);
    } else if (answer->status == 0) {
        return sim_deadline_answer(answer, err);
    }
    return KL_OK;
}

static kl_code head_of(kl__sim_answer *answer, kl__sim_applied *applied,
                       kl__sim_pace *pace, kl_error *err)
{
    const kl__sim_rule *rule = applied->rule;
    const int64_t now = fault_now(answer->sim);

    if (rule->action == KL__SIM_WIRE && !answer->has_socket) {
        return kl_error_set(
            err, KL_ECONFIG,
            "simulator: fault %" PRId64 " (wire) needs a socket; in-process "
            "there is none: let the cluster listen, and connect by its URL",
            rule->id);
    }
    if (rule->action == KL__SIM_CUT && rule->how != KL__SIM_END &&
        is_at_head(rule)) {
        return cut_off(rule, err);
    }
    if (rule->action == KL__SIM_FREEZE && is_at_head(rule)) {
        freeze_answer(applied, now, pace);
    }
    return rule->action == KL__SIM_DELAY
               ? delay_head(answer, applied, pace, err)
               : KL_OK;
}

kl_code kl__sim_plan_head(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err)
{
    kl__sim_plan *plan = answer->plan;
    kl_code code = KL_OK;

    *pace = (kl__sim_pace){SIZE_MAX, 0};
    for (size_t i = 0; plan != NULL && code == KL_OK && i < plan->count; i++) {
        if (is_in_force(&plan->applied[i])) {
            code = head_of(answer, &plan->applied[i], pace, err);
        }
    }
    return code;
}

static void limit_pace(kl__sim_pace *pace, size_t most)
{
    if (pace->most > most) {
        pace->most = most;
    }
}

/* True if the rule's point in the body is reached; else limits the bytes that
 * may be sent before it. */
static bool is_due(const kl__sim_answer *answer, const kl__sim_applied *applied,
                   kl__sim_pace *pace)
{
    const kl__sim_rule *rule = applied->rule;

    if (is_at_head(rule) ||
        (rule->after_bytes >= 0 && applied->bytes >= rule->after_bytes) ||
        (rule->after_events >= 0 && applied->events >= rule->after_events)) {
        return true;
    }
    if (rule->after_bytes >= 0) {
        limit_pace(pace, (size_t)(rule->after_bytes - applied->bytes));
    }
    if (rule->after_events >= 0) {
        limit_pace(pace, sim_events_reach(answer, rule->after_events -
                                                      applied->events));
    }
    return false;
}

static void slow_down(const kl__sim_answer *answer,
                      const kl__sim_applied *applied, int64_t now,
                      kl__sim_pace *pace)
{
    const kl__sim_rule *rule = applied->rule;

    if (now < applied->until_ms) {
        wait_until(pace, applied->until_ms);
        return;
    }
    if (rule->bytes != 0 || rule->byte_ms != 0) {
        limit_pace(pace, rule->bytes != 0 ? (size_t)rule->bytes : 1);
    }
    if (rule->event_ms != 0) {
        limit_pace(pace, sim_events_reach(answer, 1));
    }
}

/* Ends the body here: drops everything that was not sent yet. */
static void end_early(kl__sim_answer *answer)
{
    kl__sim_answer_drop(answer);
    kl__buf_reset(&answer->out);
    kl__buf_reset(&answer->tail);
    answer->out_at = 0;
    answer->watch.ended = true;
}

kl_code kl__sim_plan_body(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err)
{
    kl__sim_plan *plan = answer->plan;
    const int64_t now = plan != NULL ? fault_now(answer->sim) : 0;

    *pace = (kl__sim_pace){SIZE_MAX, 0};
    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        kl__sim_applied *applied = &plan->applied[i];
        kl__sim_action action = applied->rule->action;

        if (!is_in_force(applied)) {
            continue;
        }
        if (action == KL__SIM_DELAY) {
            slow_down(answer, applied, now, pace);
        } else if ((action == KL__SIM_CUT || action == KL__SIM_FREEZE) &&
                   is_due(answer, applied, pace)) {
            if (action == KL__SIM_FREEZE) {
                freeze_answer(applied, now, pace);
            } else if (applied->rule->how == KL__SIM_END) {
                end_early(answer);
            } else {
                return cut_off(applied->rule, err);
            }
        }
    }
    return KL_OK;
}

void kl__sim_plan_sent(kl__sim_answer *answer, size_t length)
{
    kl__sim_plan *plan = answer->plan;
    const int64_t events = plan != NULL && answer->watch.resource != NULL
                               ? sim_events_sent(answer, length)
                               : 0;

    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        kl__sim_applied *applied = &plan->applied[i];
        const kl__sim_rule *rule = applied->rule;

        applied->bytes += (int64_t)length;
        applied->events += events;
        if (rule->action == KL__SIM_DELAY) {
            applied->until_ms = fault_now(answer->sim) + rule->byte_ms +
                                (events != 0 ? rule->event_ms : 0);
        }
    }
}

static kl_code answer_failure(kl__sim_answer *answer, const kl__sim_rule *rule,
                              kl_error *err)
{
    const char *message = rule->message != NULL
                              ? rule->message
                              : "a fault that was set in the simulator "
                                "caused this answer";
    kl__sim_status status = {.code = (int)rule->status, .reason = rule->reason};

    if (status.reason == NULL) {
        status.reason = kl__sim_reason(status.code);
    }
    if (rule->retry_after_ms >= 0) {
        answer->retry_after_seconds =
            (int)((rule->retry_after_ms + 999) / 1000);
        status.retry_after_seconds = answer->retry_after_seconds;
    }
    if (rule->body == NULL) {
        snprintf(status.message, sizeof(status.message), "%s", message);
        return kl__sim_answer_status(answer, &status, err);
    }
    answer->status = status.code;
    answer->content_type = rule->content_type != NULL ? rule->content_type
                           : *rule->body == '{' || *rule->body == '['
                               ? "application/json"
                           : *rule->body == '<' ? "text/html; charset=utf-8"
                                                : "text/plain; charset=utf-8";
    kl__buf_puts(&answer->out, rule->body);
    answer->encoded = true; /* the body of the rule is sent as it is */
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

bool kl__sim_plan_answer(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const kl__sim_rule *failure = kl__sim_plan_rule(answer, KL__SIM_FAIL);
    const kl__sim_rule *expiry = kl__sim_plan_rule(answer, KL__SIM_EXPIRE);
    bool watches = strcmp(kl__sim_verb(&answer->ask), "watch") == 0;

    if (failure != NULL) {
        *code = answer_failure(answer, failure, err);
        return true;
    }
    if (expiry != NULL && (expiry->how == KL__SIM_AS_STATUS ||
                           (expiry->how == KL__SIM_NO_TOKEN && !watches))) {
        *code = kl__sim_refuse(
            answer, 410, "Expired", err, "%s",
            kl__sim_parameter_get(&answer->ask, "continue") == NULL
                ? "The resourceVersion for the provided list is too old."
                : "The provided continue parameter is too old to display a "
                  "consistent list result. You must start a new list without "
                  "the continue parameter.");
        return true;
    }
    return false;
}
