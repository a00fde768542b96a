/*
 * sim_vet_batch.c - see sim_vet.h: validates Jobs and CronJobs. What the
 * policies of failure and success of a Job say is not checked.
 */
#include "sim/core/vet/sim_vet.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Checks the spec of a Job, the current value. */
static void vet_job_spec(kl__vet *vet, const kl__node *spec)
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

    vet_job_spec(vet, spec);
    kl__vet_selector(vet, spec, "selector");
    if (has_member(spec, "selector") &&
        !kl__vet_selects(kl__node_get(spec, "selector"), labels)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "template.metadata.labels",
                      labels, "`selector` does not match template `labels`");
    }
    kl__vet_back(vet, mark);
}

/* ---- CronJobs ---- */

/* --- Schedules. ----------------------------------------------------------- */

enum { FIELDS = 5 };

typedef struct bounds {
    long low, high;
    /* names of the numbers from `low` on; NULL: none */
    const char *const *names;
} bounds;

static const char *const months[] = {"jan", "feb", "mar", "apr", "may",
                                     "jun", "jul", "aug", "sep", "oct",
                                     "nov", "dec", NULL};
static const char *const days[] = {"sun", "mon", "tue", "wed",
                                   "thu", "fri", "sat", NULL};
static const bounds columns[FIELDS] = {
    {0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, months}, {0, 6, days}};

/* Reads a number or a name. -1: it is neither, and `why` explains. */
static long read_schedule_number(const char *text, size_t length,
                                 const bounds *range, char *why, size_t size)
{
    char word[32], lower[32];
    char *end = NULL;
    long number;

    snprintf(word, sizeof(word), "%.*s", (int)(length < 31 ? length : 31),
             text);
    for (size_t i = 0; i < sizeof(word); i++) {
        lower[i] = (char)tolower((unsigned char)word[i]);
    }
    for (size_t i = 0; range->names != NULL && range->names[i] != NULL; i++) {
        if (strcmp(lower, range->names[i]) == 0) {
            return range->low + (long)i;
        }
    }
    number = strtol(word, &end, 10);
    if (end == word || *end != '\0') {
        snprintf(why, size,
                 "failed to parse int from %s: strconv.Atoi: parsing \"%s\": "
                 "invalid syntax",
                 word, word);
        return -1;
    }
    return number;
}

/* Checks one range of a field: "*", "1", "1-5", each with or without a step
 * ("/2"). */
static bool check_range(const char *text, const bounds *range, char *why,
                        size_t size)
{
    size_t whole = strcspn(text, "/"), first = strcspn(text, "-/");
    bool is_any = whole == 1 && (*text == '*' || *text == '?');
    long low = range->low, high = range->high;

    *why = '\0';
    if (!is_any) {
        low = read_schedule_number(text, first, range, why, size);
        high = text[first] == '-'
                   ? read_schedule_number(text + first + 1, whole - first - 1,
                                          range, why, size)
               : text[whole] == '/' ? range->high
                                    : low;
    }
    if (*why == '\0' && low < range->low) {
        snprintf(why, size,
                 "beginning of range (%ld) below minimum (%ld): %.100s", low,
                 range->low, text);
    } else if (*why == '\0' && high > range->high) {
        snprintf(why, size, "end of range (%ld) above maximum (%ld): %.100s",
                 high, range->high, text);
    } else if (*why == '\0' && low > high) {
        snprintf(why, size,
                 "beginning of range (%ld) beyond end of range (%ld): %.100s",
                 low, high, text);
    } else if (*why == '\0' && text[whole] == '/' &&
               read_schedule_number(text + whole + 1, strlen(text + whole + 1),
                                    &(bounds){1, 0, NULL}, why, size) == 0) {
        snprintf(why, size, "step of range should be a positive number: %.100s",
                 text);
    }
    return *why == '\0';
}

static bool check_column(char *text, const bounds *range, char *why,
                         size_t size)
{
    while (text != NULL) {
        char *comma = strchr(text, ',');

        if (comma != NULL) {
            *comma = '\0';
        }
        if (*text != '\0' && !check_range(text, range, why, size)) {
            return false;
        }
        text = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

/* True for schedules with a name, such as "@daily". */
static bool is_named(const char *schedule)
{
    static const char *const names[] = {"@yearly", "@annually", "@monthly",
                                        "@weekly", "@daily",    "@midnight",
                                        "@hourly"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(schedule, names[i]) == 0) {
            return true;
        }
    }
    return strncmp(schedule, "@every ", 7) == 0;
}

/* True if a schedule is valid; else `why` explains. */
static bool is_schedule(const char *schedule, char *why, size_t size)
{
    char copy[256], *words[FIELDS] = {0}, *at = copy;
    size_t count = 0;

    snprintf(copy, sizeof(copy), "%s", schedule);
    if (*copy == '@') {
        snprintf(why, size, "unrecognized descriptor: %.200s", schedule);
        return is_named(schedule);
    }
    while (*(at += strspn(at, " \t")) != '\0') {
        size_t length = strcspn(at, " \t");

        if (count < FIELDS) {
            words[count] = at;
        }
        count++;
        at += length;
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    if (count != FIELDS) {
        snprintf(why, size, "expected exactly 5 fields, found %zu: [%.200s]",
                 count, schedule);
        return false;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (!check_column(words[i], &columns[i], why, size)) {
            return false;
        }
    }
    return true;
}

static void check_schedule(kl__vet *vet, const kl__node *spec)
{
    const char *schedule = kl__vet_text(spec, "schedule");
    bool is_zoned = strncmp(schedule, "TZ=", 3) == 0 ||
                    strncmp(schedule, "CRON_TZ=", 8) == 0;
    const char *times = is_zoned ? strchr(schedule, ' ') : schedule;
    char why[400] = "";

    times = times != NULL ? times + strspn(times, " ") : schedule;
    if (kl__vet_required(vet, spec, "schedule") &&
        !is_schedule(times, why, sizeof(why))) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "schedule", schedule, why);
    }
    if (strstr(schedule, "TZ") != NULL) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "schedule", schedule,
                      "cannot use TZ or CRON_TZ in schedule, use timeZone "
                      "field instead");
    }
}

/* --- Time zones. ---------------------------------------------------------- */

/* The zone itself is not looked up: not all machines know the same ones. */
static void check_zone(kl__vet *vet, const kl__node *spec)
{
    const char *name = kl__node_text(spec, "timeZone");

    if (name == NULL) {
        return;
    }
    if (*name == '\0') {
        kl__vet_fault(vet, KL__FIELD_INVALID, "timeZone", name,
                      "timeZone must be nil or non-empty string");
    } else if (strcasecmp(name, "Local") == 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "timeZone", name,
                      "timeZone must be an explicit time zone as defined in "
                      "https://www.iana.org/time-zones");
    }
}

void kl__vet_cron_job(kl__vet *vet, const kl__node *object)
{
    static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};
    const kl__node *spec = kl__node_get(object, "spec");
    const char *name = kl__vet_text(kl__node_get(object, "metadata"), "name");
    const kl__node *job =
        kl__node_get(kl__node_get(spec, "jobTemplate"), "spec");
    size_t outer, mark, inner;

    outer = kl__vet_into(vet, "spec");
    check_schedule(vet, spec);
    check_zone(vet, spec);
    kl__vet_not_negative(vet, spec, "startingDeadlineSeconds");
    kl__vet_enum(vet, spec, "concurrencyPolicy", policies);
    mark = kl__vet_into(vet, "jobTemplate");
    inner = kl__vet_into(vet, "spec");
    vet_job_spec(vet, job);
    if (kl__node_bool(kl__node_get(job, "manualSelector"))) {
        kl__vet_value(vet, KL__FIELD_UNSUPPORTED, "manualSelector",
                      kl__node_get(job, "manualSelector"),
                      "supported values: \"nil\", \"false\"");
    }
    kl__vet_back(vet, inner);
    kl__vet_back(vet, mark);
    kl__vet_not_negative(vet, spec, "successfulJobsHistoryLimit");
    kl__vet_not_negative(vet, spec, "failedJobsHistoryLimit");
    kl__vet_back(vet, outer);
    if (strlen(name) > 52) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "metadata.name", name,
                      "must be no more than 52 characters");
    }
}
