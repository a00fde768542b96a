/*
 * sim_vet_job.c - see sim_vet.h: validates Jobs. What their policies of failure
 * and success say is not checked.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdint.h>
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
