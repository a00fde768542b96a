/*
 * main.c - the model checker's second program: runs thousands of histories of
 * workqueues. Its seeds mean nothing to the first program.
 */
#include "scene.h"

#include "blocks.h"
#include "schedule.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TWICE_EVERY = 64, COVERED_FROM = 2000 };

/* One in three runs has spurious wake-ups. Time never hurries, so that a late
 * run shows. */
static schedule_options options_of(uint64_t seed)
{
    return (schedule_options){.seed = seed,
                              .preemptions = -1,
                              .spurious_per_mille = seed % 3 == 0 ? 20 : 0,
                              .max_steps = 400000};
}

static const char *run_one(uint64_t seed, uint64_t *hash)
{
    static schedule_outcome outcome;
    schedule_options options = options_of(seed);
    long before = blocks_count();

    schedule_run(&options, scene_run, NULL, &outcome);
    if (outcome.failed) {
        return outcome.message;
    }
    *hash = outcome.hash;
    return blocks_count() == before ? NULL : "left: memory was not given back";
}

/* Runs a seed. False: it failed, and the process cannot run another one. */
static bool try_seed(uint64_t seed, uint64_t done)
{
    char text[64];
    uint64_t hash = 0;
    uint64_t again = 0;
    const char *failure;

    snprintf(text, sizeof(text), "model_queue --replay %" PRIu64, seed);
    schedule_describe(text);
    failure = run_one(seed, &hash);
    if (failure == NULL && seed % TWICE_EVERY == 0) {
        failure = run_one(seed, &again);
        if (failure == NULL && again != hash) {
            failure = "deterministic: the same seed made another run";
        }
    }
    if (failure == NULL) {
        return true;
    }
    printf("FAILED  seed %" PRIu64 ", after %" PRIu64 " histories\n%s\n", seed,
           done, failure);
    printf("again, with a trace: %s\n", text);
    return false;
}

static bool print_counts(uint64_t done)
{
    static const char *const texts[SCENE_COUNT_KINDS] = {
#define SCENE_TEXT(constant, text) text,
        SCENE_COUNTS(SCENE_TEXT)
#undef SCENE_TEXT
    };
    bool is_hollow = false;

    for (int i = 0; i < SCENE_COUNT_KINDS; i++) {
        printf("%s%12" PRIu64 "  %s\n", scene_counts[i] == 0 ? "*" : " ",
               scene_counts[i], texts[i]);
        is_hollow |= scene_counts[i] == 0;
    }
    return is_hollow && done >= COVERED_FROM;
}

static int usage(void)
{
    fprintf(stderr, "usage: model_queue [--seed FIRST] --histories N | "
                    "--replay SEED\n"
                    "Without a seed: from the time of day.\n");
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t first = (uint64_t)time(NULL) * 1000;
    uint64_t count = 0;
    uint64_t hash;

    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);

        if (strcmp(argv[i], "--seed") == 0) {
            first = value;
        } else if (strcmp(argv[i], "--histories") == 0) {
            count = value;
        } else if (strcmp(argv[i], "--shrink") == 0) {
            /* spec/model/mutate passes it to each program; it is ignored here,
             * as a replay is short enough */
            continue;
        } else if (strcmp(argv[i], "--replay") == 0) {
            const char *failure;

            schedule_trace(true);
            failure = run_one(value, &hash);
            printf("%s\n", failure != NULL ? failure : "it holds");
            return failure != NULL ? 1 : 0;
        } else {
            return usage();
        }
    }
    if (count == 0) {
        return usage();
    }
    blocks_watch();
    for (uint64_t i = 0; i < count; i++) {
        if (!try_seed(first + i, i)) {
            return 1;
        }
    }
    if (print_counts(count)) {
        printf("FAILED  what is marked with * never happened\n");
        return 1;
    }
    printf("%" PRIu64 " histories from seed %" PRIu64 " hold\n", count, first);
    return 0;
}
