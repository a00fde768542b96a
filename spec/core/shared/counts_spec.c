/*
 * counts_spec.c - what workers count together: series by name, their sums over
 * processes that end or die, and what becomes of series that are forgotten.
 */
#include "kubelua/shared_count.h"
#include "shared/counts.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

enum { SERIES = 128, THREADS = 4, ADDS = 20000, WORKERS = 4, NAMES = 40 };

#define NOW ((int64_t)1000000)
#define LATER (NOW + KL_COUNTS_REST_MS + 1)

static kl_counts *open_counts(const char *name)
{
    const kl_counts_options options = {
        .name = name, .series = SERIES, .stripes = 4};
    kl_counts *counts = kl_counts_open(&options, NULL);

    assert_non_null(counts);
    return counts;
}

static kl_count_row find_at(kl_counts *counts, const char *name, int64_t now_ms)
{
    kl_count_row row;

    kl_counts_find(counts, name, strlen(name), now_ms, &row);
    return row;
}

static kl_count_row find(kl_counts *counts, const char *name)
{
    kl_count_row row = find_at(counts, name, NOW);

    assert_int_not_equal(row.row, KL_COUNTS_NONE);
    return row;
}

static kl_count_series read_series(const kl_counts *counts, kl_count_row row)
{
    kl_count_series series;

    assert_true(kl_counts_read(counts, row.row, &series));
    assert_int_equal(series.key, row.key);
    return series;
}

static void an_area_is_found_again_by_its_name(void **state)
{
    kl_counts *a = open_counts("a"), *b = open_counts("b");
    kl_counts *again = kl_counts_open(&(kl_counts_options){.name = "a"}, NULL);

    (void)state;
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    assert_int_equal(kl_counts_rows(again), SERIES);
    kl_counts_close(a);
    kl_counts_close(b);
    kl_counts_close(again);
}

static void an_area_that_is_too_large_is_refused(void **state)
{
    const kl_counts_options series = {.series = KL_COUNTS_SERIES_MAX + 1};
    const kl_counts_options stripes = {.stripes = KL_COUNTS_STRIPES_MAX + 1};
    kl_error err;

    (void)state;
    assert_null(kl_counts_open(&series, &err));
    assert_int_equal(err.code, KL_EINVAL);
    assert_null(kl_counts_open(&stripes, &err));
    assert_int_equal(err.code, KL_EINVAL);
}

static void a_series_has_counters_and_a_histogram(void **state)
{
    kl_counts *counts = open_counts("cells");
    kl_count_row row = find(counts, "route web/shop");
    kl_count_series series;

    (void)state;
    for (uint32_t stripe = 0; stripe < 9; stripe++) {
        assert_true(kl_counts_add(counts, &row, stripe, 2, 5));
    }
    assert_true(kl_counts_add(counts, &row, 0, 5, -1));
    assert_true(kl_counts_add(counts, &row, 0, 7, 6));
    assert_true(kl_counts_add(counts, &row, 1, 2, 0));
    assert_true(kl_counts_add(counts, &row, 1, 2, 10001));
    series = read_series(counts, row);
    assert_string_equal(series.name, "route web/shop");
    assert_int_equal(series.length, 14);
    assert_int_equal(series.kinds[2], 11);
    assert_int_equal(series.kinds[5], 1);
    assert_int_equal(series.kinds[7], 1);
    assert_int_equal(series.kinds[0], 0);
    assert_int_equal(kl_counts_bounds()[2], 5);
    assert_int_equal(series.buckets[0], 1);
    assert_int_equal(series.buckets[2], 9);
    assert_int_equal(series.buckets[3], 1);
    assert_int_equal(series.buckets[KL_COUNTS_BUCKETS - 1], 1);
    assert_int_equal(series.sum_ms, 9 * 5 + 6 + 10001);
    kl_counts_close(counts);
}

static void what_is_no_series_is_refused(void **state)
{
    kl_counts *counts = open_counts("wrong");
    kl_count_row row = find(counts, "a");
    const kl_count_row none = {.row = KL_COUNTS_NONE, .key = row.key};
    const kl_count_row beyond = {.row = SERIES, .key = row.key};
    kl_count_row other;
    char name[KL_COUNTS_NAME_MAX + 1];
    kl_count_series series;

    (void)state;
    memset(name, 'x', sizeof(name));
    kl_counts_find(counts, name, sizeof(name), NOW, &row);
    assert_int_equal(row.row, KL_COUNTS_NONE);
    kl_counts_find(counts, name, 0, NOW, &row);
    assert_int_equal(row.row, KL_COUNTS_NONE);
    kl_counts_find(counts, name, KL_COUNTS_NAME_MAX, NOW, &row);
    series = read_series(counts, row);
    assert_int_equal(series.length, KL_COUNTS_NAME_MAX);
    other = (kl_count_row){.row = row.row, .key = row.key + 1};
    assert_false(kl_counts_add(counts, &none, 0, 0, 0));
    assert_false(kl_counts_add(counts, &beyond, 0, 0, 0));
    assert_false(kl_counts_add(counts, &row, 0, KL_COUNTS_KINDS, 0));
    assert_false(kl_counts_add(counts, &other, 0, 0, 0));
    assert_false(kl_counts_read(counts, SERIES, &series));
    assert_false(kl_counts_read(counts, (row.row + 1) % SERIES, &series));
    assert_false(kl_counts_forget(counts, &beyond, NOW));
    assert_false(kl_counts_forget(counts, &other, NOW));
    assert_int_equal(kl_counts_full(counts), 0);
    kl_counts_close(counts);
}

static void a_series_that_is_forgotten_begins_anew(void **state)
{
    kl_counts *counts = open_counts("forgotten");
    kl_count_row row = find(counts, "a"), again;
    kl_count_series series;

    (void)state;
    kl_counts_add(counts, &row, 0, 0, 5);
    again = (kl_count_row){.row = row.row, .key = row.key + 1};
    assert_false(kl_counts_forget(counts, &again, NOW));
    assert_true(kl_counts_forget(counts, &row, NOW));
    assert_false(kl_counts_read(counts, row.row, &series));
    assert_false(kl_counts_add(counts, &row, 0, 0, 5));
    assert_false(kl_counts_forget(counts, &row, NOW));
    /* its row rests, so it gets another one */
    again = find_at(counts, "a", NOW + KL_COUNTS_REST_MS);
    assert_int_not_equal(again.row, row.row);
    assert_true(kl_counts_forget(counts, &again, NOW));
    again = find_at(counts, "a", LATER);
    assert_int_equal(again.row, row.row);
    series = read_series(counts, again);
    assert_int_equal(series.kinds[0], 0);
    assert_int_equal(series.buckets[2], 0);
    assert_int_equal(series.sum_ms, 0);
    kl_counts_close(counts);
}

static void a_series_is_found_behind_one_that_was_forgotten(void **state)
{
    kl_counts *counts = kl_counts_open(
        &(kl_counts_options){.name = "chain", .series = 2}, NULL);
    kl_count_row a = find(counts, "a"), b = find(counts, "b");

    (void)state;
    assert_true(kl_counts_forget(counts, &a, NOW));
    assert_int_equal(find_at(counts, "b", LATER).row, b.row);
    assert_int_equal(find_at(counts, "c", NOW).row, KL_COUNTS_NONE);
    assert_int_equal(kl_counts_full(counts), 1);
    assert_int_equal(find_at(counts, "c", LATER).row, a.row);
    kl_counts_close(counts);
}

static void a_name_that_its_maker_did_not_write_is_written(void **state)
{
    kl_counts *counts = open_counts("unnamed");
    kl_count_row row = find(counts, "a");
    kl_count_series series;

    (void)state;
    atomic_store(&kl__counts_row(counts, row.row)->length, 0);
    assert_false(kl_counts_read(counts, row.row, &series));
    find(counts, "a");
    assert_string_equal(read_series(counts, row).name, "a");
    atomic_store(&kl__counts_row(counts, row.row)->name[0], 'b');
    assert_false(kl_counts_read(counts, row.row, &series));
    atomic_store(&kl__counts_row(counts, row.row)->length, UINT64_MAX);
    assert_false(kl_counts_read(counts, row.row, &series));
    find(counts, "a");
    assert_string_equal(read_series(counts, row).name, "a");
    kl_counts_close(counts);
}

static void processes_that_are_killed_lose_no_count(void **state)
{
    kl_counts *counts = open_counts("killed");
    kl_count_row row = find(counts, "a");
    kl_count_series series;

    (void)state;
    for (uint32_t i = 0; i < WORKERS; i++) {
        pid_t child = fork();

        if (child == 0) {
            kl_count_row own = find(counts, "a");

            for (int k = 0; k < ADDS; k++) {
                kl_counts_add(counts, &own, i, 1, 1);
            }
            kill(getpid(), SIGKILL);
        }
        assert_true(child > 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_true(wait(NULL) > 0);
    }
    series = read_series(counts, row);
    assert_int_equal(series.kinds[1], WORKERS * ADDS);
    assert_int_equal(series.buckets[0], WORKERS * ADDS);
    assert_int_equal(series.sum_ms, WORKERS * ADDS);
    kl_counts_close(counts);
}

static void *count_all(void *counts_)
{
    kl_counts *counts = counts_;

    for (int i = 0; i < ADDS; i++) {
        char name[32];
        kl_count_row row;

        snprintf(name, sizeof(name), "route %d", i % NAMES);
        row = find(counts, name);
        kl_counts_add(counts, &row, 0, 0, i % 100);
    }
    return NULL;
}

static void threads_count_the_same_series_exactly(void **state)
{
    kl_counts *counts = open_counts("threads");
    pthread_t threads[THREADS];
    uint64_t sum = 0, found = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_all, counts),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint32_t i = 0; i < SERIES; i++) {
        kl_count_series series;

        if (kl_counts_read(counts, i, &series)) {
            sum += series.kinds[0];
            found++;
        }
    }
    assert_int_equal(found, NAMES);
    assert_int_equal(sum, THREADS * ADDS);
    kl_counts_close(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_area_is_found_again_by_its_name),
        cmocka_unit_test(an_area_that_is_too_large_is_refused),
        cmocka_unit_test(a_series_has_counters_and_a_histogram),
        cmocka_unit_test(what_is_no_series_is_refused),
        cmocka_unit_test(a_series_that_is_forgotten_begins_anew),
        cmocka_unit_test(a_series_is_found_behind_one_that_was_forgotten),
        cmocka_unit_test(a_name_that_its_maker_did_not_write_is_written),
        cmocka_unit_test(processes_that_are_killed_lose_no_count),
        cmocka_unit_test(threads_count_the_same_series_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
