/*
 * count_rows_spec.c - the rows of core/shared/count_rows.c under every order of
 * workers, while one of them forgets series: no count of a series that stays is
 * lost, and none shows up in another series.
 */
#include "schedule.h"

#include "base/thread.h"
#include "kubelua/shared_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 20000, WORKERS = 3, ROUNDS = 3, ROWS = 8 };

#define NOW ((int64_t)1000000)

typedef struct world {
    kl_counts *counts;
    kl__thread threads[WORKERS];
} world;

typedef struct worker {
    world *world;
    int number;
} worker;

/* Series of one name have one kind of counts: another kind is a count of
 * another series. */
static const char *const names[] = {"stay", "gone", "late"};

enum { NAMES = sizeof(names) / sizeof(names[0]), STAY = 0, FIRST_KIND = 7 };

static void count_once(world *self, int name, uint32_t kind)
{
    kl_count_row row;

    do {
        kl_counts_find(self->counts, names[name], 4, NOW, &row);
    } while (row.row != KL_COUNTS_NONE &&
             !kl_counts_add(self->counts, &row, 0, kind, 7));
    schedule_check(row.row != KL_COUNTS_NONE || name != STAY, "no row");
}

/* Returns the index of the name. */
static int check_kinds(const kl_count_series *series)
{
    int name = 0;

    while (name < NAMES && strcmp(series->name, names[name]) != 0) {
        name++;
    }
    schedule_check(name < NAMES, "the name %s", series->name);
    for (int kind = 0; kind < NAMES; kind++) {
        schedule_check(kind == name || series->kinds[kind] == 0,
                       "%s has a count of %s", series->name, names[kind]);
    }
    return name;
}

static void forget_all(world *self)
{
    kl_count_series series;

    for (uint32_t i = 0; i < ROWS; i++) {
        if (kl_counts_read(self->counts, i, &series) &&
            check_kinds(&series) != STAY) {
            const kl_count_row row = {.row = i, .key = series.key};

            kl_counts_forget(self->counts, &row, NOW);
        }
    }
}

static void *count_all(void *worker_)
{
    worker *self = worker_;

    for (int i = 0; i < ROUNDS; i++) {
        for (int name = 0; name < NAMES; name++) {
            count_once(self->world, name, (uint32_t)name);
        }
        if (self->number == 0) {
            forget_all(self->world);
        }
    }
    return NULL;
}

static void check_series(const world *self)
{
    uint64_t stayed = 0, timed = 0;
    kl_count_series series;

    for (uint32_t i = 0; i < ROWS; i++) {
        if (kl_counts_read(self->counts, i, &series) &&
            check_kinds(&series) == STAY) {
            stayed += series.kinds[STAY];
            timed += series.buckets[3];
        }
    }
    schedule_check(stayed == WORKERS * ROUNDS, "%llu counts of %d",
                   (unsigned long long)stayed, WORKERS * ROUNDS);
    schedule_check(timed == stayed + 1, "a time is lost"); /* the first one */
}

static void run_workers(void *world_)
{
    static worker workers[WORKERS];
    world *self = world_;

    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.world = self, .number = i};
        kl__thread_start(&self->threads[i], "worker", count_all, &workers[i],
                         NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        kl__thread_join(&self->threads[i]);
    }
    check_series(self);
}

static void a_series_that_stays_loses_no_count(void **state)
{
    const kl_counts_options options = {.series = ROWS};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static world self;
        static schedule_outcome outcome;
        const schedule_options wanted = {.seed = seed, .preemptions = -1};

        memset(&self, 0, sizeof(self));
        self.counts = kl_counts_open(&options, NULL);
        count_once(&self, STAY, FIRST_KIND); /* so that it is not crowded out */
        schedule_run(&wanted, run_workers, &self, &outcome);
        if (outcome.failed) {
            fail_msg("seed %llu: %s", (unsigned long long)seed,
                     outcome.message);
        }
        kl_counts_close(self.counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_series_that_stays_loses_no_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
