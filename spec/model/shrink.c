/*
 * shrink.c - see shrink.h. Each try is a run in a process of its own.
 */
#include "shrink.h"

#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct search {
    uint64_t seed;
    char rule[64];
    time_t until;
    history_cut *best;
} search;

schedule_options shrink_options(const history *of)
{
    return (schedule_options){
        .seed = of->seed,
        .preemptions = of->switches.preemptions,
        .spurious_per_mille = of->switches.spurious_per_mille,
        .hurry_per_mille = of->switches.hurry_per_mille,
    };
}

void shrink_make(history *self, uint64_t seed, const history_cut *cut)
{
    history_draw(self, seed);
    history_apply(self, cut);
}

void shrink_try(uint64_t seed, const history_cut *cut,
                schedule_outcome *outcome)
{
    history made;
    schedule_options options;

    shrink_make(&made, seed, cut);
    options = shrink_options(&made);
    schedule_run_apart(&options, world_run, &made, outcome);
}

/* A message begins with the name of the broken rule, up to a colon. */
static void rule_of(const char *message, char *rule, size_t size)
{
    size_t length = strcspn(message, ":\n");

    snprintf(rule, size, "%.*s", (int)(length < size ? length : size - 1),
             message);
}

static bool keeps_failing(search *self, const history_cut *cut)
{
    schedule_outcome *outcome = malloc(sizeof(*outcome));
    char rule[64];
    bool fails;

    if (outcome == NULL || time(NULL) >= self->until) {
        free(outcome);
        return false;
    }
    shrink_try(self->seed, cut, outcome);
    rule_of(outcome->message, rule, sizeof(rule));
    fails = outcome->failed && strcmp(rule, self->rule) == 0;
    free(outcome);
    if (fails) {
        *self->best = *cut;
    }
    return fails;
}

/* Tries to drop `size` operations at a time. True: some were dropped. */
static bool drop_operations(search *self, int size)
{
    bool went = false;

    for (int first = 0; first < HISTORY_OPS_MAX; first += size) {
        history_cut cut = *self->best;

        for (int i = first; i < first + size && i < 64; i++) {
            cut.mask &= ~(UINT64_C(1) << i);
        }
        if (cut.mask != self->best->mask && keeps_failing(self, &cut)) {
            went = true;
        }
    }
    return went;
}

static void simplify(search *self)
{
    for (int bit = 0; bit < SIMPLER_BITS; bit++) {
        history_cut cut = *self->best;

        cut.simpler |= 1U << bit;
        keeps_failing(self, &cut);
    }
}

static void lower_preemptions(search *self)
{
    int known = self->best->preemptions;

    for (int tried = 0; tried < 4096; tried = tried == 0 ? 1 : tried * 2) {
        history_cut cut = *self->best;

        cut.preemptions = tried;
        if ((known >= 0 && tried >= known) || keeps_failing(self, &cut)) {
            return;
        }
    }
}

void shrink(uint64_t seed, const char *message, int seconds, history_cut *cut)
{
    search self = {.seed = seed, .until = time(NULL) + seconds, .best = cut};
    bool went = true;

    rule_of(message, self.rule, sizeof(self.rule));
    simplify(&self);
    while (went) {
        went = false;
        for (int size = HISTORY_OPS_MAX / 2; size > 0; size /= 2) {
            went |= drop_operations(&self, size);
        }
        lower_preemptions(&self);
        simplify(&self);
    }
}

void shrink_text(uint64_t seed, const history_cut *cut, char *text, size_t size)
{
    snprintf(text, size, "%" PRIu64 ":%" PRIx64 ":%x:%d", seed, cut->mask,
             cut->simpler, cut->preemptions);
}

bool shrink_parse(const char *text, uint64_t *seed, history_cut *cut)
{
    char *end;

    *cut = (history_cut){.mask = UINT64_MAX, .preemptions = -1};
    *seed = strtoull(text, &end, 10);
    if (end == text) {
        return false;
    }
    if (*end == ':') {
        cut->mask = strtoull(end + 1, &end, 16);
    }
    if (*end == ':') {
        cut->simpler = (unsigned)strtoul(end + 1, &end, 16);
    }
    if (*end == ':') {
        cut->preemptions = (int)strtol(end + 1, &end, 10);
    }
    return *end == '\0';
}
