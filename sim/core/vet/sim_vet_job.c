/*
 * sim_vet_job.c - see sim_vet.h: validates Jobs: numbers, indexes, and policies
 * of failure and success.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARALLEL = 100000 };

/* The Job that is being checked. */
typedef struct job_check {
    kl__vet *vet;
    const kl__node *spec;
    int64_t completions;
} job_check;

static bool has_member(const kl__node *object, const char *member)
{
    return kl__node_get(object, member) != NULL;
}

static void refuse_number(kl__vet *vet, const kl__node *object,
                          const char *member, const char *why)
{
    const kl__node *value = kl__node_get(object, member);

    if (value != NULL) {
        kl__vet_value(vet, KL__FIELD_INVALID, member, value, why);
    }
}

/* --- Failure. ------------------------------------------------------------- */

static bool has_container(const kl__node *spec, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const kl__node *pod = kl__node_get(kl__node_get(spec, "template"), "spec");

    for (size_t i = 0; i < 2; i++) {
        const kl__node *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(kl__node_get(pod, lists[i]), &iter,
                                          NULL, NULL)) != NULL) {
            if (strcmp(kl__vet_text(container, "name"), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void check_values(kl__vet *vet, const kl__node *codes)
{
    const kl__node *list = kl__node_get(codes, "values"), *value;
    bool is_in = strcmp(kl__vet_text(codes, "operator"), "In") == 0;
    bool ordered = true;
    int64_t before = INT64_MIN, index = 0;
    kl__node_iter iter = {0};
    size_t outer = kl__vet_into(vet, "values");

    while ((value = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        int64_t number = kl__node_integer(value);
        size_t mark = kl__vet_at(vet, (size_t)index++);

        if (is_in && number == 0) {
            kl__vet_value(vet, KL__FIELD_INVALID, NULL, value,
                          "must not be 0 for the In operator");
        }
        /* the list must be sorted, so equal numbers are neighbours */
        if (number == before) {
            kl__vet_value(vet, KL__FIELD_DUPLICATE, NULL, value, "");
        }
        ordered = ordered && number >= before;
        before = number;
        kl__vet_back(vet, mark);
    }
    if (index == 0) {
        kl__vet_shown(vet, KL__FIELD_INVALID, "[]",
                      "at least one value is required");
    } else if (!ordered) {
        kl__vet_value(vet, KL__FIELD_INVALID, NULL, list, "must be ordered");
    }
    kl__vet_back(vet, outer);
}

static void check_codes(const job_check *self, const kl__node *codes)
{
    static const char *const operators[] = {"In", "NotIn", NULL};
    const char *name = kl__vet_text(codes, "containerName");
    size_t mark = kl__vet_into(self->vet, "onExitCodes");

    kl__vet_unsupported(self->vet, "operator", kl__vet_text(codes, "operator"),
                        operators);
    if (has_member(codes, "containerName") &&
        !has_container(self->spec, name)) {
        kl__vet_fault(self->vet, KL__FIELD_INVALID, "containerName", name,
                      "must be one of the container or initContainer names in "
                      "the pod template");
    }
    check_values(self->vet, codes);
    kl__vet_back(self->vet, mark);
}

static void check_condition(kl__vet *vet, const kl__node *condition)
{
    static const char *const statuses[] = {"False", "True", "Unknown", NULL};

    kl__vet_qualified(vet, "type", kl__vet_text(condition, "type"));
    kl__vet_unsupported(vet, "status", kl__vet_text(condition, "status"),
                        statuses);
}

static void check_failure(const job_check *self, const kl__node *rule)
{
    static const char *const actions[] = {"Count", "FailIndex", "FailJob",
                                          "Ignore", NULL};
    const char *action = kl__vet_text(rule, "action");
    const kl__node *codes = kl__node_get(rule, "onExitCodes");
    bool conditions = kl__node_size(kl__node_get(rule, "onPodConditions")) != 0;

    if (*action == '\0') {
        kl__vet_fault(self->vet, KL__FIELD_REQUIRED, "action", NULL,
                      "valid values: [\"Count\" \"FailIndex\" \"FailJob\" "
                      "\"Ignore\"]");
    } else if (strcmp(action, "FailIndex") == 0 &&
               !has_member(self->spec, "backoffLimitPerIndex")) {
        kl__vet_fault(self->vet, KL__FIELD_INVALID, "action", action,
                      "requires the backoffLimitPerIndex to be set");
    } else {
        kl__vet_unsupported(self->vet, "action", action, actions);
    }
    if (codes != NULL) {
        check_codes(self, codes);
    }
    kl__vet_each(self->vet, rule, "onPodConditions", check_condition);
    if ((codes != NULL) == conditions) {
        kl__vet_fault(self->vet, KL__FIELD_INVALID, NULL, NULL,
                      conditions ? "specifying both OnExitCodes and "
                                   "OnPodConditions is not supported"
                                 : "specifying one of OnExitCodes and "
                                   "OnPodConditions is required");
    }
}

/* --- Success. ------------------------------------------------------------- */

/* Reads an index. If it is invalid, `why` gets the message. */
static int64_t read_index(const job_check *self, const char *text, char *why,
                          size_t size)
{
    char *end;
    long long number = strtoll(text, &end, 10);

    if (end == text || *end != '\0') {
        snprintf(why, size,
                 "cannot convert string to integer for index: "
                 "\"%.60s\"",
                 text);
    } else if (number >= self->completions) {
        snprintf(why, size, "too large index: \"%.60s\"", text);
    }
    return number;
}

/* Counts the indexes in a text such as "0-2,5". If it is invalid, `why` gets
 * the message, and the result is 0. */
static int64_t count_indexes(const job_check *self, const char *text, char *why,
                             size_t size)
{
    int64_t total = 0, last = -1;

    while (*text != '\0' && *why == '\0') {
        size_t length = strcspn(text, ",");
        char part[128], *dash;
        int64_t from, to;

        snprintf(part, sizeof(part), "%.*s", (int)length, text);
        dash = strchr(part, '-');
        if (dash != NULL) {
            *dash = '\0';
        }
        from = to = read_index(self, part, why, size);
        if (dash != NULL && *why == '\0') {
            to = read_index(self, dash + 1, why, size);
        }
        if (*why == '\0' && from > to) {
            snprintf(why, size,
                     "non-increasing order, previous: %lld, "
                     "current: %lld",
                     (long long)from, (long long)to);
        } else if (*why == '\0' && from <= last) {
            snprintf(why, size,
                     "non-increasing order, previous: %lld, "
                     "current: %lld",
                     (long long)last, (long long)from);
        }
        total += to - from + 1;
        last = to;
        text += length + (text[length] == ',');
    }
    return *why == '\0' ? total : 0;
}

static void check_count(const job_check *self, const kl__node *rule,
                        int64_t listed)
{
    const kl__node *count = kl__node_get(rule, "succeededCount");
    char why[160];

    if (count == NULL) {
        return;
    }
    kl__vet_not_negative(self->vet, rule, "succeededCount");
    if (kl__node_integer(count) > self->completions) {
        snprintf(why, sizeof(why),
                 "must be less than or equal to %lld (the number of specified "
                 "completions)",
                 (long long)self->completions);
        refuse_number(self->vet, rule, "succeededCount", why);
    }
    if (has_member(rule, "succeededIndexes") &&
        kl__node_integer(count) > listed) {
        snprintf(why, sizeof(why),
                 "must be less than or equal to %lld (the number of indexes in "
                 "the specified succeededIndexes field)",
                 (long long)listed);
        refuse_number(self->vet, rule, "succeededCount", why);
    }
}

static void check_success(const job_check *self, const kl__node *rule)
{
    const char *indexes = kl__vet_text(rule, "succeededIndexes");
    char why[200] = "", words[260];
    int64_t listed;

    if (!has_member(rule, "succeededCount") &&
        !has_member(rule, "succeededIndexes")) {
        kl__vet_fault(self->vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "at least one of succeededCount or succeededIndexes must "
                      "be specified");
    }
    listed = count_indexes(self, indexes, why, sizeof(why));
    if (*why != '\0') {
        snprintf(words, sizeof(words), "error parsing succeededIndexes: %s",
                 why);
        kl__vet_fault(self->vet, KL__FIELD_INVALID, "succeededIndexes", indexes,
                      words);
    }
    check_count(self, rule, listed);
}

/* Calls `check` for each rule of a policy. */
static void each_rule(const job_check *self, const char *policy,
                      void (*check)(const job_check *self,
                                    const kl__node *rule))
{
    const kl__node *list =
        kl__node_get(kl__node_get(self->spec, policy), "rules");
    const kl__node *rule;
    size_t outer = kl__vet_into(self->vet, policy), index = 0;
    kl__node_iter iter = {0};

    kl__vet_into(self->vet, "rules");
    while ((rule = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(self->vet, index++);

        check(self, rule);
        kl__vet_back(self->vet, mark);
    }
    kl__vet_back(self->vet, outer);
}

/* Refuses a success policy. The message shows it as Go prints it. */
static void refuse_success(const job_check *self)
{
    const kl__node *list =
        kl__node_get(kl__node_get(self->spec, "successPolicy"), "rules");
    const kl__node *rule;
    size_t mark = kl__vet_into(self->vet, "successPolicy");
    kl__node_iter iter = {0};
    kl__buf shown = {0};

    kl__buf_puts(&shown, "{\"Rules\":[");
    while ((rule = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *indexes = kl__node_text(rule, "succeededIndexes");
        const kl__node *count = kl__node_get(rule, "succeededCount");

        kl__buf_puts(&shown, iter.index > 1 ? "," : "");
        kl__buf_puts(&shown, "{\"SucceededIndexes\":");
        if (indexes != NULL) {
            kl__go_quote(&shown, indexes, strlen(indexes));
        } else {
            kl__buf_puts(&shown, "null");
        }
        kl__buf_puts(&shown, ",\"SucceededCount\":");
        if (count != NULL) {
            kl__buf_printf(&shown, "%lld", (long long)kl__node_integer(count));
        } else {
            kl__buf_puts(&shown, "null");
        }
        kl__buf_putc(&shown, '}');
    }
    kl__buf_puts(&shown, "]}");
    self->vet->errors->failed |= shown.failed;
    kl__vet_shown(self->vet, KL__FIELD_INVALID, shown.bytes,
                  "requires indexed completion mode");
    kl__buf_deinit(&shown);
    kl__vet_back(self->vet, mark);
}

/* --- Numbers and modes. --------------------------------------------------- */

static void check_numbers(kl__vet *vet, const kl__node *spec)
{
    static const char *const numbers[] = {"parallelism",
                                          "completions",
                                          "activeDeadlineSeconds",
                                          "backoffLimit",
                                          "ttlSecondsAfterFinished",
                                          "backoffLimitPerIndex",
                                          "maxFailedIndexes"};
    const char *manager = kl__vet_text(spec, "managedBy");
    const char *slash = strchr(manager, '/');

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        kl__vet_not_negative(vet, spec, numbers[i]);
    }
    if (has_member(spec, "maxFailedIndexes") &&
        !has_member(spec, "backoffLimitPerIndex")) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "backoffLimitPerIndex", NULL,
                      "when maxFailedIndexes is specified");
    }
    if (has_member(spec, "managedBy") &&
        (slash == NULL || slash == manager || slash[1] == '\0')) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "managedBy", manager,
                      "must be a domain-prefixed path (such as "
                      "\"acme.io/foo\")");
    }
}

static void check_indexed(const job_check *self)
{
    kl__vet *vet = self->vet;
    const kl__node *spec = self->spec;

    if (!has_member(spec, "completions")) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "completions", NULL,
                      "when completion mode is Indexed");
    }
    if (kl__node_integer(kl__node_get(spec, "parallelism")) > MOST_PARALLEL) {
        refuse_number(vet, spec, "parallelism",
                      "must be less than or equal to 100000 when completion "
                      "mode is Indexed");
    }
    if (has_member(spec, "completions") &&
        kl__node_integer(kl__node_get(spec, "maxFailedIndexes")) >
            self->completions) {
        refuse_number(vet, spec, "maxFailedIndexes",
                      "must be less than or equal to completions");
    }
}

static void check_mode(const job_check *self)
{
    static const char *const modes[] = {"NonIndexed", "Indexed", NULL};
    static const char needs[] = "requires indexed completion mode";
    const char *mode = kl__vet_text(self->spec, "completionMode");
    bool is_indexed = strcmp(mode, modes[1]) == 0;

    kl__vet_enum(self->vet, self->spec, "completionMode", modes);
    if (is_indexed) {
        check_indexed(self);
    } else if (*mode == '\0' || strcmp(mode, modes[0]) == 0) {
        refuse_number(self->vet, self->spec, "backoffLimitPerIndex", needs);
        refuse_number(self->vet, self->spec, "maxFailedIndexes", needs);
    }
    each_rule(self, "podFailurePolicy", check_failure);
    if (!has_member(self->spec, "successPolicy")) {
        return;
    }
    if (is_indexed) {
        each_rule(self, "successPolicy", check_success);
    } else {
        refuse_success(self);
    }
}

static void check_restarts(kl__vet *vet, const kl__node *spec)
{
    static const char *const restarts[] = {"OnFailure", "Never", NULL};
    static const char member[] = "template.spec.restartPolicy";
    const char *restart = kl__vet_text(
        kl__node_get(kl__node_get(spec, "template"), "spec"), "restartPolicy");

    if (*restart == '\0' || strcmp(restart, "Always") == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, member, NULL,
                      "valid values: \"OnFailure\", \"Never\"");
        return;
    }
    kl__vet_unsupported(vet, member, restart, restarts);
    if (has_member(spec, "podFailurePolicy") &&
        strcmp(restart, restarts[0]) == 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, restart,
                      "only \"Never\" is supported when podFailurePolicy is "
                      "specified");
    }
}

void kl__vet_job_spec(kl__vet *vet, const kl__node *spec)
{
    static const char *const replacements[] = {"Failed", "TerminatingOrFailed",
                                               NULL};
    const job_check self = {
        vet, spec, kl__node_integer(kl__node_get(spec, "completions"))};

    check_numbers(vet, spec);
    check_mode(&self);
    kl__vet_enum(vet, spec, "podReplacementPolicy", replacements);
    kl__vet_template(vet, kl__node_get(spec, "template"), NULL);
    check_restarts(vet, spec);
}

void kl__vet_job(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *labels = kl__node_get(
        kl__node_get(kl__node_get(spec, "template"), "metadata"), "labels");
    size_t mark = kl__vet_into(vet, "spec");

    kl__vet_job_spec(vet, spec);
    kl__vet_selector(vet, spec, "selector");
    if (has_member(spec, "selector") &&
        !kl__vet_selects(kl__node_get(spec, "selector"), labels)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "template.metadata.labels",
                      labels, "`selector` does not match template `labels`");
    }
    kl__vet_back(vet, mark);
}
