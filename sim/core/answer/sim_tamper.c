/*
 * sim_tamper.c - see sim_plan.h: changes the events of a watch as the rules of
 * faults say, so that the client reads false or malformed events.
 */
#include "sim/core/answer/sim_plan.h"

#include "sim/core/answer/sim_status.h"

#include <stdio.h>
#include <string.h>

enum { HUGE_BYTES = 100 * 1024 * 1024 };

typedef struct line {
    const char *bytes; /* "{"type":...}\n" */
    size_t length;
} line;

/* strstr within a line; returns the line's length if there is no match. */
static size_t find_in_line(line text, const char *wanted)
{
    const size_t length = strlen(wanted);

    for (size_t i = 0; i + length <= text.length; i++) {
        if (memcmp(text.bytes + i, wanted, length) == 0) {
            return i;
        }
    }
    return text.length;
}

static bool line_begins(line text, const char *with)
{
    return text.length >= strlen(with) &&
           memcmp(text.bytes, with, strlen(with)) == 0;
}

static bool is_bookmark(line text)
{
    return line_begins(text, "{\"type\":\"BOOKMARK\"");
}

static void put_line(kl__buf *out, line text)
{
    kl__buf_append(out, text.bytes, text.length);
}

/* Writes the line up to a member's value. */
static void put_until(kl__buf *out, line text, const char *member)
{
    size_t at = find_in_line(text, member);

    kl__buf_append(out, text.bytes, at);
    kl__buf_puts(out, member);
}

static void put_head(kl__sim_answer *answer, line text)
{
    put_until(&answer->out, text, "\"object\":");
    kl__sim_write_head(answer->view.kind, answer->view.api_version,
                       &answer->out);
}

static void put_unknown_type(kl__buf *out, line text)
{
    size_t at = find_in_line(text, "\"object\":");

    kl__buf_puts(out, "{\"type\":\"SURPRISED\",");
    kl__buf_append(out, text.bytes + at, text.length - at);
}

static void put_broken(kl__buf *out, line text)
{
    static const char member[] = "\"metadata\"";
    size_t at = find_in_line(text, member) + sizeof(member) - 1;

    if (at < text.length) {
        kl__buf_append(out, text.bytes, at);
        kl__buf_append(out, text.bytes + at + 1, text.length - at - 1);
    }
}

static void put_other_kind(kl__buf *out, line text)
{
    size_t at = find_in_line(text, "\"metadata\":");

    put_until(out, text, "\"object\":");
    kl__buf_puts(out, "{\"kind\":\"Gizmo\",\"apiVersion\":\"example.com/v1\",");
    kl__buf_append(out, text.bytes + at, text.length - at);
}

static void put_padded(kl__buf *out, line text, int64_t bytes)
{
    size_t at = find_in_line(text, "\"object\":{") + strlen("\"object\":{");
    size_t size = bytes != 0 ? (size_t)bytes : HUGE_BYTES;
    char *room;

    if (at > text.length) {
        put_line(out, text);
        return;
    }
    kl__buf_append(out, text.bytes, at);
    kl__buf_puts(out, "\"padding\":\"");
    room = kl__buf_reserve(out, size);
    if (room != NULL) {
        memset(room, 'x', size);
        out->length += size;
    }
    kl__buf_puts(out, "\",");
    kl__buf_append(out, text.bytes + at, text.length - at);
}

static void put_error(kl__sim_answer *answer, const kl__sim_rule *rule)
{
    kl__sim_status status = {.code =
                                 rule->status != 0 ? (int)rule->status : 500,
                             .reason = rule->reason};

    if (status.reason == NULL) {
        status.reason = kl__sim_reason(status.code);
    }
    snprintf(status.message, sizeof(status.message), "%s",
             rule->message != NULL ? rule->message
                                   : "a fault that was set in the simulator "
                                     "caused this answer");
    kl__buf_puts(&answer->out, "{\"type\":\"ERROR\",\"object\":");
    kl__sim_status_write(&status, &answer->out);
    kl__buf_puts(&answer->out, "}\n");
    answer->watch.ended = true;
}

/* Applies a rule to one event. */
static void change_event(kl__sim_answer *answer, kl__sim_applied *applied,
                         line text)
{
    const kl__sim_rule *rule = applied->rule;
    kl__buf *out = &answer->out;

    switch (rule->how) {
    case KL__SIM_DUPLICATE:
        put_line(out, text);
        put_line(out, text);
        break;
    case KL__SIM_SWAP:
        put_line(&applied->held, text);
        break;
    case KL__SIM_DROP:
        break;
    case KL__SIM_UNKNOWN_TYPE:
        put_unknown_type(out, text);
        break;
    case KL__SIM_BROKEN:
        put_broken(out, text);
        break;
    case KL__SIM_UNCLOSED:
        kl__buf_append(out, text.bytes, text.length - 3);
        kl__buf_putc(out, '\n');
        break;
    case KL__SIM_TRUNCATED:
        kl__buf_append(out, text.bytes, text.length / 2);
        answer->watch.ended = true;
        break;
    case KL__SIM_NO_METADATA:
        put_head(answer, text);
        kl__buf_puts(out, "\"spec\":{}}}\n");
        break;
    case KL__SIM_NO_OBJECT:
        put_until(out, text, "\"object\":");
        kl__buf_puts(out, "7}\n");
        break;
    case KL__SIM_OTHER_KIND:
        put_other_kind(out, text);
        break;
    case KL__SIM_ERROR:
        put_error(answer, rule);
        break;
    case KL__SIM_HUGE:
        put_padded(out, text, rule->bytes);
        break;
    default: /* KL__SIM_RAW */
        put_line(out, text);
        kl__buf_puts(out, rule->body);
        kl__buf_putc(out, '\n');
        break;
    }
}

static bool is_withheld(const kl__sim_rule *rule, line text)
{
    return is_bookmark(text) &&
           (rule->how == KL__SIM_ALL ||
            find_in_line(text, "\"k8s.io/initial-events-end\"") < text.length);
}

/* True if the rule applies to this event; counts it. */
static bool is_meant(kl__sim_applied *applied)
{
    const kl__sim_rule *rule = applied->rule;

    applied->lines++;
    return applied->lines >= rule->at &&
           (rule->events == 0 || applied->lines < rule->at + rule->events);
}

/* Appends the event that a rule kept back. */
static void put_held(kl__sim_answer *answer, kl__sim_applied *applied)
{
    put_line(&answer->out, (line){applied->held.bytes, applied->held.length});
    kl__buf_reset(&applied->held);
}

void kl__sim_tamper_release(kl__sim_answer *answer)
{
    kl__sim_plan *plan = answer->plan;

    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        kl__sim_applied *applied = &plan->applied[i];

        if (applied->rule->is_cleared && applied->held.length != 0) {
            put_held(answer, applied);
        }
    }
}

static void show_line(kl__sim_answer *answer, line text)
{
    kl__sim_plan *plan = answer->plan;
    kl__sim_applied *by = NULL;

    for (size_t i = 0; i < plan->count; i++) {
        kl__sim_applied *applied = &plan->applied[i];
        const kl__sim_rule *rule = applied->rule;

        if (rule->is_cleared) {
            continue;
        }
        if (rule->action == KL__SIM_BOOKMARKS && is_withheld(rule, text)) {
            return;
        }
        if (rule->action == KL__SIM_EVENT && !is_bookmark(text) &&
            is_meant(applied) && by == NULL) {
            by = applied;
        }
    }
    if (by == NULL) {
        put_line(&answer->out, text);
    } else {
        change_event(answer, by, text);
    }
    for (size_t i = 0; i < plan->count; i++) {
        kl__sim_applied *applied = &plan->applied[i];

        if (applied != by && applied->held.length != 0) {
            put_held(answer, applied);
        }
    }
}

static bool has_work(const kl__sim_answer *answer, size_t from)
{
    return answer->out.length > from &&
           (kl__sim_plan_rule(answer, KL__SIM_EVENT) != NULL ||
            kl__sim_plan_rule(answer, KL__SIM_BOOKMARKS) != NULL);
}

kl_code kl__sim_tamper(kl__sim_answer *answer, size_t from, kl_error *err)
{
    kl__buf *out = &answer->out;
    kl__buf lines = {0};
    bool failed;

    if (answer->plan == NULL || !has_work(answer, from)) {
        return KL_OK;
    }
    kl__buf_append(&lines, out->bytes + from, out->length - from);
    failed = lines.failed;
    out->length = from;
    for (size_t at = 0; !failed && at < lines.length;) {
        const char *end = memchr(lines.bytes + at, '\n', lines.length - at);
        size_t next =
            end != NULL ? (size_t)(end - lines.bytes) + 1 : lines.length;
        bool had_ended = answer->watch.ended;

        show_line(answer, (line){lines.bytes + at, next - at});
        at = answer->watch.ended && !had_ended ? lines.length : next;
    }
    kl__buf_deinit(&lines);
    for (size_t i = 0; i < answer->plan->count; i++) {
        failed = failed || answer->plan->applied[i].held.failed;
    }
    return !failed && !out->failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a watch");
}
