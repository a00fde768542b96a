/*
 * loads_spec.c - what workers know together of endpoints: rows, requests in
 * flight, failures, averages; and that nothing stays of a process that died.
 */
#include "kubelua/shared_load.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

enum { ENDPOINTS = 128, COLUMNS = 8, KEYS = 60, THREADS = 4, KILLS = 40 };

#define NOW ((int64_t)1000000)

static kl_loads *open_loads(const char *name)
{
    const kl_loads_options options = {
        .name = name, .endpoints = ENDPOINTS, .processes = COLUMNS};
    kl_loads *loads = kl_loads_open(&options, NULL);

    assert_non_null(loads);
    return loads;
}

static kl_load_row find_at(kl_loads *loads, uint64_t identity, int64_t now_ms)
{
    kl_load_row row;

    kl_loads_find(loads, identity, 0, now_ms, &row);
    return row;
}

static uint32_t row_of(kl_loads *loads, uint64_t identity)
{
    kl_load_row row = find_at(loads, identity, NOW);

    assert_int_not_equal(row.row, KL_LOADS_NONE);
    return row.row;
}

static uint32_t join(kl_loads *loads)
{
    uint32_t column = kl_loads_join(loads);

    assert_int_not_equal(column, KL_LOADS_NONE);
    return column;
}

static uint64_t total_of_all(const kl_loads *loads)
{
    uint32_t rows[ENDPOINTS];

    for (uint32_t i = 0; i < ENDPOINTS; i++) {
        rows[i] = i;
    }
    return kl_loads_total(loads, rows, ENDPOINTS);
}

static void an_area_is_found_again_by_its_name(void **state)
{
    kl_loads *a = open_loads("a"), *b = open_loads("b");
    kl_loads *again = kl_loads_open(&(kl_loads_options){.name = "a"}, NULL);
    kl_loads_status status;

    (void)state;
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    row_of(a, 7);
    kl_loads_get_status(again, &status);
    assert_int_equal(status.endpoints, ENDPOINTS);
    assert_int_equal(status.processes, COLUMNS);
    assert_int_equal(status.used, 1);
    assert_int_equal(status.joined, 0);
    kl_loads_close(a);
    kl_loads_close(b);
    kl_loads_close(again);
}

static void an_area_that_became_too_small_is_made_anew(void **state)
{
    kl_loads *small = open_loads("grows");
    kl_loads_options options = {.name = "grows", .processes = COLUMNS + 1};
    kl_loads *wide = kl_loads_open(&options, NULL);
    kl_loads *same = open_loads("grows");
    kl_loads_status status;
    kl_loads *tall;

    (void)state;
    assert_ptr_not_equal(small, wide);
    assert_ptr_equal(same, wide); /* the newest that is large enough */
    kl_loads_get_status(wide, &status);
    assert_int_equal(status.processes, COLUMNS + 1);
    row_of(small, 7);
    kl_loads_get_status(wide, &status);
    assert_int_equal(status.used, 0);
    options.endpoints = 2 * KL_LOADS_ENDPOINTS;
    tall = kl_loads_open(&options, NULL);
    assert_ptr_not_equal(tall, wide);
    kl_loads_get_status(tall, &status);
    assert_int_equal(status.endpoints, 2 * KL_LOADS_ENDPOINTS);
    kl_loads_close(small);
    kl_loads_close(wide);
    kl_loads_close(same);
    kl_loads_close(tall);
}

static void an_area_that_is_too_large_is_refused(void **state)
{
    const kl_loads_options rows = {.endpoints = KL_LOADS_ENDPOINTS_MAX + 1};
    const kl_loads_options columns = {.processes = KL_LOADS_PROCESSES_MAX + 1};
    kl_error err;

    (void)state;
    assert_null(kl_loads_open(&rows, &err));
    assert_int_equal(err.code, KL_EINVAL);
    assert_null(kl_loads_open(&columns, &err));
    assert_int_equal(err.code, KL_EINVAL);
}

static void an_endpoint_keeps_its_row_and_a_new_pod_has_its_own(void **state)
{
    kl_loads *loads = open_loads("rows");
    kl_load_row first, again, of_pod;

    (void)state;
    kl_loads_find(loads, 42, 1, NOW, &first);
    kl_loads_find(loads, 42, 1, NOW, &again);
    kl_loads_find(loads, 42, 2, NOW, &of_pod);
    assert_int_equal(first.is_known, 0);
    assert_int_equal(again.is_known, 1);
    assert_int_equal(of_pod.is_known, 0);
    assert_int_equal(first.row, again.row);
    assert_int_not_equal(first.row, of_pod.row);
    kl_loads_close(loads);
}

static void requests_in_flight_are_the_sum_of_all_columns(void **state)
{
    kl_loads *loads = open_loads("sum");
    uint32_t a = join(loads), b = join(loads), row = row_of(loads, 1);

    (void)state;
    assert_int_not_equal(a, b);
    kl_loads_begin(loads, row, a);
    kl_loads_begin(loads, row, b);
    kl_loads_begin(loads, row, b);
    kl_loads_begin(loads, row_of(loads, 2), b);
    assert_int_equal(kl_loads_in_flight(loads, row), 3);
    assert_int_equal(total_of_all(loads), 4);
    kl_loads_end(loads, row, b);
    kl_loads_end(loads, row, a);
    kl_loads_end(loads, row, a); /* one too many */
    assert_int_equal(kl_loads_in_flight(loads, row), 1);
    kl_loads_leave(loads, b);
    assert_int_equal(total_of_all(loads), 0);
    kl_loads_close(loads);
}

static void without_a_row_or_a_column_nothing_is_counted(void **state)
{
    kl_loads *loads = open_loads("none");
    uint32_t row = row_of(loads, 1);

    (void)state;
    kl_loads_begin(loads, row, KL_LOADS_NONE);
    kl_loads_begin(loads, KL_LOADS_NONE, join(loads));
    kl_loads_fail(loads, KL_LOADS_NONE, NOW);
    kl_loads_observe(loads, KL_LOADS_NONE, 1, NOW);
    kl_loads_arrive(loads, KL_LOADS_NONE, NOW);
    assert_int_equal(total_of_all(loads), 0);
    assert_int_equal(kl_loads_in_flight(loads, KL_LOADS_NONE), 0);
    assert_false(kl_loads_is_out(loads, KL_LOADS_NONE, 1, 10, NOW));
    assert_true(kl_loads_latency(loads, KL_LOADS_NONE, NOW) < 0);
    assert_int_equal(kl_loads_age(loads, KL_LOADS_NONE, NOW), -1);
    kl_loads_close(loads);
}

static void all_columns_can_be_taken_and_given_back(void **state)
{
    kl_loads *loads = open_loads("columns");
    kl_loads_status status;

    (void)state;
    for (uint32_t i = 0; i < COLUMNS; i++) {
        assert_int_equal(kl_loads_join(loads), i);
    }
    assert_int_equal(kl_loads_join(loads), KL_LOADS_NONE);
    kl_loads_leave(loads, 3);
    kl_loads_get_status(loads, &status);
    assert_int_equal(status.joined, COLUMNS - 1);
    assert_int_equal(kl_loads_join(loads), 3);
    kl_loads_close(loads);
}

/* A process that has requests in flight at each endpoint, until it is killed;
 * `ready` is set once it has counted some. */
static pid_t fork_worker(kl_loads *loads, atomic_int *ready)
{
    pid_t child = fork();

    if (child == 0) {
        uint32_t column = kl_loads_join(loads);

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if this spec fails */
        for (uint64_t i = 0;; i++) {
            kl_load_row row = find_at(loads, 1 + i % KEYS, NOW);

            kl_loads_begin(loads, row.row, column);
            if (i % 3 != 0) {
                kl_loads_end(loads, row.row, column);
            }
            if (i == KEYS) {
                atomic_fetch_add(ready, 1);
            }
            if (i > 100000) {
                pause();
            }
        }
    }
    assert_true(child > 0);
    return child;
}

static atomic_int *shared_counter(void)
{
    atomic_int *counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(counter != MAP_FAILED);
    return counter;
}

static void await_workers(const atomic_int *ready, int count)
{
    for (int i = 0; i < 100000 && atomic_load(ready) < count; i++) {
        usleep(100);
    }
    assert_int_equal(atomic_load(ready), count);
}

static void kill_worker(pid_t worker)
{
    kill(worker, SIGKILL);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
}

static void a_sweep_takes_back_what_killed_processes_had(void **state)
{
    kl_loads *loads = open_loads("killed");
    atomic_int *ready = shared_counter();
    uint32_t mine = join(loads), row = row_of(loads, 1);
    kl_loads_status status;

    (void)state;
    kl_loads_begin(loads, row, mine);
    for (int i = 0; i < KILLS; i++) {
        pid_t a = fork_worker(loads, ready), b = fork_worker(loads, ready);

        await_workers(ready, 2 * i + 2);
        assert_int_equal(kl_loads_sweep(loads), 0); /* they live */
        assert_true(total_of_all(loads) > 1);
        kill_worker(a);
        kill_worker(b);
        assert_true(total_of_all(loads) > 1);
        assert_int_equal(kl_loads_sweep(loads), 2);
        assert_int_equal(total_of_all(loads), 1);
    }
    assert_int_equal(kl_loads_in_flight(loads, row), 1);
    kl_loads_get_status(loads, &status);
    assert_int_equal(status.swept, 2 * KILLS);
    assert_int_equal(status.joined, 1);
    munmap(ready, sizeof(*ready));
    kl_loads_close(loads);
}

static void a_process_that_joins_clears_what_a_dead_one_has_left(void **state)
{
    kl_loads *loads = open_loads("reused");
    atomic_int *ready = shared_counter();
    pid_t worker = fork_worker(loads, ready);

    (void)state;
    await_workers(ready, 1);
    kill_worker(worker);
    assert_true(total_of_all(loads) > 0);
    assert_int_equal(join(loads), 0);
    assert_int_equal(total_of_all(loads), 0);
    munmap(ready, sizeof(*ready));
    kl_loads_close(loads);
}

static void the_child_of_a_fork_has_no_column_of_its_parent(void **state)
{
    kl_loads *loads = open_loads("fork");
    uint32_t column = join(loads);
    int status = 0;
    pid_t child;

    (void)state;
    kl_loads_begin(loads, row_of(loads, 1), column);
    child = fork();
    if (child == 0) {
        uint32_t own = kl_loads_join(loads);

        kl_loads_leave(loads, column); /* not its own: nothing happens */
        _exit(own == column || total_of_all(loads) != 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(kl_loads_sweep(loads), 1);
    assert_int_equal(total_of_all(loads), 1);
    kl_loads_close(loads);
}

static void a_full_area_gives_away_rows_that_nobody_looks_for(void **state)
{
    kl_loads *loads = kl_loads_open(
        &(kl_loads_options){.name = "full", .endpoints = 4}, NULL);
    uint32_t column = join(loads), busy = row_of(loads, 1);
    int64_t later = NOW + KL_LOADS_STALE_MS + 1000;
    kl_loads_status status;
    kl_load_row row;

    (void)state;
    kl_loads_begin(loads, busy, column);
    for (uint64_t i = 2; i <= 4; i++) {
        kl_loads_fail(loads, row_of(loads, i), NOW);
    }
    assert_int_equal(find_at(loads, 5, NOW).row, KL_LOADS_NONE);
    kl_loads_get_status(loads, &status);
    assert_int_equal(status.full, 1);
    find_at(loads, 2, later - 10);
    for (uint64_t i = 5; i <= 6; i++) {
        row = find_at(loads, i, later);
        assert_int_not_equal(row.row, KL_LOADS_NONE);
        assert_int_equal(row.is_known, 0);
        assert_int_equal(kl_loads_fails(loads, row.row), 0);
    }
    /* what is left has a request, was looked for, or is new */
    assert_int_equal(find_at(loads, 7, later).row, KL_LOADS_NONE);
    assert_int_equal(find_at(loads, 1, later).row, busy);
    assert_int_equal(find_at(loads, 2, later).is_known, 1);
    kl_loads_close(loads);
}

/* True if the endpoint is out, with max_fails 2 and a fail_timeout of 10 s. */
static bool is_out(kl_loads *loads, uint32_t row, int64_t seconds)
{
    return kl_loads_is_out(loads, row, 2, 10000, NOW + seconds * 1000);
}

static void failures_count_as_in_nginx(void **state)
{
    kl_loads *loads = open_loads("fails");
    uint32_t row = row_of(loads, 1);

    (void)state;
    kl_loads_fail(loads, row, NOW);
    assert_false(is_out(loads, row, 0));
    kl_loads_succeed(loads, row); /* too early to forget */
    assert_int_equal(kl_loads_fails(loads, row), 1);
    kl_loads_fail(loads, row, NOW + 1000);
    assert_true(is_out(loads, row, 1));
    assert_true(is_out(loads, row, 11));
    assert_false(kl_loads_is_out(loads, row, 0, 10000, NOW));
    assert_false(kl_loads_is_out(loads, row, 3, 10000, NOW));
    /* one request tries it; for others it is out */
    assert_false(is_out(loads, row, 12));
    kl_loads_try(loads, row, 10000, NOW + 12000);
    assert_true(is_out(loads, row, 12));
    kl_loads_fail(loads, row, NOW + 13000);
    assert_true(is_out(loads, row, 23));
    kl_loads_try(loads, row, 10000, NOW + 24000);
    kl_loads_succeed(loads, row);
    assert_false(is_out(loads, row, 24));
    assert_int_equal(kl_loads_fails(loads, row), 0);
    kl_loads_close(loads);
}

static void a_slow_answer_counts_at_once_and_is_forgotten_slowly(void **state)
{
    kl_loads *loads = open_loads("latency");
    uint32_t row = row_of(loads, 1);

    (void)state;
    assert_true(kl_loads_latency(loads, row, NOW) < 0);
    kl_loads_observe(loads, row, 0.1, NOW);
    assert_float_equal(kl_loads_latency(loads, row, NOW), 0.1, 1e-6);
    kl_loads_observe(loads, row, 2, NOW + 2);
    assert_float_equal(kl_loads_latency(loads, row, NOW + 2), 2, 1e-6);
    kl_loads_observe(loads, row, 0.1, NOW + 10002);
    /* 2 / e + 0.1 * (1 - 1 / e) */
    assert_float_equal(kl_loads_latency(loads, row, NOW + 10002), 0.79897,
                       1e-3);
    /* without answers it falls, too */
    assert_float_equal(kl_loads_latency(loads, row, NOW + 20002), 0.29392,
                       1e-3);
    kl_loads_observe(loads, row, -1, NOW + 20002);
    assert_float_equal(kl_loads_latency(loads, row, NOW + 20002), 0.29392,
                       1e-3);
    kl_loads_close(loads);
}

static void a_new_endpoint_gets_an_average_once(void **state)
{
    kl_loads *loads = open_loads("seed");
    uint32_t row = row_of(loads, 1);

    (void)state;
    kl_loads_seed(loads, row, 0.5, NOW);
    kl_loads_seed(loads, row, 0.7, NOW);
    assert_float_equal(kl_loads_latency(loads, row, NOW), 0.5, 1e-6);
    kl_loads_close(loads);
}

static void an_endpoint_is_as_old_as_was_said_first(void **state)
{
    kl_loads *loads = open_loads("age");
    uint32_t row = row_of(loads, 1);

    (void)state;
    assert_int_equal(kl_loads_age(loads, row, NOW), -1);
    kl_loads_arrive(loads, row, NOW);
    kl_loads_arrive(loads, row, NOW + 5000);
    assert_int_equal(kl_loads_age(loads, row, NOW + 9000), 9000);
    assert_int_equal(kl_loads_age(loads, row, NOW - 1), 0);
    kl_loads_close(loads);
}

static void a_look_shows_an_endpoint_and_makes_no_row(void **state)
{
    kl_loads *loads = open_loads("look");
    uint32_t column = join(loads), row;
    kl_loads_status status;
    kl_load_state seen;

    (void)state;
    assert_false(kl_loads_look(loads, 1, 0, NOW, &seen));
    kl_loads_get_status(loads, &status);
    assert_int_equal(status.used, 0);
    row = row_of(loads, 1);
    assert_true(kl_loads_look(loads, 1, 0, NOW, &seen));
    assert_int_equal(seen.failed_ms, -1);
    assert_int_equal(seen.age_ms, -1);
    assert_true(seen.latency < 0);
    kl_loads_begin(loads, row, column);
    kl_loads_fail(loads, row, NOW);
    kl_loads_arrive(loads, row, NOW);
    kl_loads_observe(loads, row, 0.5, NOW);
    assert_true(kl_loads_look(loads, 1, 0, NOW + 100, &seen));
    assert_int_equal(seen.in_flight, 1);
    assert_int_equal(seen.fails, 1);
    assert_int_equal(seen.failed_ms, 100);
    assert_int_equal(seen.age_ms, 100);
    assert_float_equal(seen.latency, 0.495, 1e-3);
    kl_loads_close(loads);
}

typedef struct crowd {
    kl_loads *loads;
    pthread_barrier_t *start;
    uint32_t rows[KEYS]; /* what this thread found */
    uint32_t known;
} crowd;

static void *use_all_endpoints(void *crowd_)
{
    crowd *self = crowd_;
    uint32_t column = kl_loads_join(self->loads);

    pthread_barrier_wait(self->start);
    for (uint64_t i = 0; i < KEYS; i++) {
        kl_load_row row = find_at(self->loads, 1 + i, NOW);

        self->rows[i] = row.row;
        self->known += row.is_known;
        kl_loads_begin(self->loads, row.row, column);
        kl_loads_try(self->loads, row.row, 0, NOW + (int64_t)i);
        kl_loads_fail(self->loads, row.row, NOW);
        kl_loads_observe(self->loads, row.row, 0.1, NOW);
        kl_loads_in_flight(self->loads, row.row);
        kl_loads_end(self->loads, row.row, column);
        kl_loads_sweep(self->loads);
    }
    kl_loads_leave(self->loads, column);
    return NULL;
}

static void threads_find_one_row_for_an_endpoint(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        kl_loads *loads = open_loads("crowd");
        crowd members[THREADS] = {0};
        pthread_t threads[THREADS];
        pthread_barrier_t start;
        uint32_t known = 0;

        pthread_barrier_init(&start, NULL, THREADS);
        for (int i = 0; i < THREADS; i++) {
            members[i] = (crowd){.loads = loads, .start = &start};
            pthread_create(&threads[i], NULL, use_all_endpoints, &members[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            known += members[i].known;
            assert_memory_equal(members[i].rows, members[0].rows,
                                sizeof(members[0].rows));
        }
        /* one thread made each row, and no failure was lost */
        assert_int_equal(known, (THREADS - 1) * KEYS);
        for (int i = 0; i < KEYS; i++) {
            assert_int_equal(kl_loads_fails(loads, members[0].rows[i]),
                             THREADS);
        }
        assert_int_equal(total_of_all(loads), 0);
        pthread_barrier_destroy(&start);
        kl_loads_close(loads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_area_is_found_again_by_its_name),
        cmocka_unit_test(an_area_that_became_too_small_is_made_anew),
        cmocka_unit_test(an_area_that_is_too_large_is_refused),
        cmocka_unit_test(an_endpoint_keeps_its_row_and_a_new_pod_has_its_own),
        cmocka_unit_test(requests_in_flight_are_the_sum_of_all_columns),
        cmocka_unit_test(without_a_row_or_a_column_nothing_is_counted),
        cmocka_unit_test(all_columns_can_be_taken_and_given_back),
        cmocka_unit_test(a_sweep_takes_back_what_killed_processes_had),
        cmocka_unit_test(a_process_that_joins_clears_what_a_dead_one_has_left),
        cmocka_unit_test(the_child_of_a_fork_has_no_column_of_its_parent),
        cmocka_unit_test(a_full_area_gives_away_rows_that_nobody_looks_for),
        cmocka_unit_test(failures_count_as_in_nginx),
        cmocka_unit_test(a_slow_answer_counts_at_once_and_is_forgotten_slowly),
        cmocka_unit_test(a_new_endpoint_gets_an_average_once),
        cmocka_unit_test(an_endpoint_is_as_old_as_was_said_first),
        cmocka_unit_test(a_look_shows_an_endpoint_and_makes_no_row),
        cmocka_unit_test(threads_find_one_row_for_an_endpoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
