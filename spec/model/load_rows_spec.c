/*
 * load_rows_spec.c - the rows of core/shared/load_rows.c under every order of
 * workers: an endpoint has one row, and no count, failure or average is lost.
 * Columns are joined before the run, as they need system calls.
 */
#include "schedule.h"

#include "base/thread.h"
#include "kubelua/shared_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 20000, WORKERS = 3, ENDPOINTS = 4, ROWS = 16 };

#define NOW ((int64_t)1000000)

typedef struct worker {
    struct world *world;
    uint32_t column;
    uint32_t rows[ENDPOINTS]; /* what this worker found */
    kl__thread thread;
} worker;

typedef struct world {
    kl_loads *loads;
    worker workers[WORKERS];
    int known; /* rows that were there when a worker looked for them */
} world;

static void *send_requests(void *worker_)
{
    worker *self = worker_;
    kl_loads *loads = self->world->loads;

    for (uint64_t i = 0; i < ENDPOINTS; i++) {
        kl_load_row row;

        kl_loads_find(loads, 1 + i, 0, NOW + 1500 * self->column, &row);
        schedule_check(row.row != KL_LOADS_NONE, "no row");
        self->rows[i] = row.row;
        self->world->known += (int)row.is_known;
        kl_loads_begin(loads, row.row, self->column);
        schedule_check(kl_loads_in_flight(loads, row.row) >= 1, "no request");
        kl_loads_fail(loads, row.row, NOW);
        kl_loads_seed(loads, row.row, 1, NOW);
        kl_loads_observe(loads, row.row, (double)(2 + self->column), NOW);
        kl_loads_end(loads, row.row, self->column);
    }
    return NULL;
}

static void check_rows(const world *self)
{
    for (int i = 0; i < ENDPOINTS; i++) {
        uint32_t row = self->workers[0].rows[i];

        for (int k = 1; k < WORKERS; k++) {
            schedule_check(self->workers[k].rows[i] == row, "two rows");
        }
        schedule_check(kl_loads_in_flight(self->loads, row) == 0, "a count");
        schedule_check(kl_loads_fails(self->loads, row) == WORKERS,
                       "%u failures", kl_loads_fails(self->loads, row));
        schedule_check(kl_loads_latency(self->loads, row, NOW) == WORKERS + 1,
                       "the peak is lost");
    }
    schedule_check(self->known == (WORKERS - 1) * ENDPOINTS,
                   "%d rows were known", self->known);
}

static void run_workers(void *world_)
{
    world *self = world_;

    for (int i = 0; i < WORKERS; i++) {
        kl__thread_start(&self->workers[i].thread, "worker", send_requests,
                         &self->workers[i], NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        kl__thread_join(&self->workers[i].thread);
    }
    check_rows(self);
}

/* Gives all rows to endpoints that were last looked for long ago, and that
 * have failed and answered. */
static void fill_rows(kl_loads *loads)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        int64_t then = NOW - KL_LOADS_STALE_MS - 2000 * (int64_t)(i % 5 + 1);
        kl_load_row row;

        kl_loads_find(loads, 100 + i, 0, then, &row);
        kl_loads_fail(loads, row.row, then);
        kl_loads_observe(loads, row.row, 9, then);
    }
}

static void run_in_all_orders(bool is_full)
{
    const kl_loads_options options = {.endpoints = ROWS, .processes = WORKERS};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static world self;
        static schedule_outcome outcome;
        const schedule_options wanted = {.seed = seed, .preemptions = -1};

        memset(&self, 0, sizeof(self));
        self.loads = kl_loads_open(&options, NULL);
        for (int i = 0; i < WORKERS; i++) {
            self.workers[i].world = &self;
            self.workers[i].column = kl_loads_join(self.loads);
        }
        if (is_full) {
            fill_rows(self.loads);
        }
        schedule_run(&wanted, run_workers, &self, &outcome);
        if (outcome.failed) {
            fail_msg("seed %llu: %s", (unsigned long long)seed,
                     outcome.message);
        }
        kl_loads_close(self.loads);
    }
}

static void an_endpoint_has_one_row_and_nothing_is_lost(void **state)
{
    (void)state;
    run_in_all_orders(false);
}

static void a_row_of_a_former_endpoint_is_given_to_one_other(void **state)
{
    (void)state;
    run_in_all_orders(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_has_one_row_and_nothing_is_lost),
        cmocka_unit_test(a_row_of_a_former_endpoint_is_given_to_one_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
