/*
 * backoff_spec.c - failures wait longer and longer, health forgets them.
 */
#include "informer/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SEEDS = 200 };

static void each_failure_waits_uniformly_between_d_and_twice_d(void **state)
{
    static const int64_t d[] = {800,   1600,  3200,  6400,
                                12800, 25600, 30000, 30000};
    int64_t low = INT64_MAX, high = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kl__backoff backoff;

        kl__backoff_init(&backoff, seed * 7919);
        for (size_t i = 0; i < sizeof(d) / sizeof(d[0]); i++) {
            int64_t delay = kl__backoff_next(&backoff, 0, -1);

            assert_in_range(delay, d[i], 2 * d[i] - 1);
            if (i == 0) {
                low = delay < low ? delay : low;
                high = delay > high ? delay : high;
            }
        }
    }
    assert_in_range(low, 800, 840);
    assert_in_range(high, 1560, 1599);
}

static void a_reset_makes_the_next_failure_a_first_one(void **state)
{
    kl__backoff backoff;

    (void)state;
    kl__backoff_init(&backoff, 1);
    assert_true(kl__backoff_at_rest(&backoff));
    for (int i = 0; i < 10; i++) {
        kl__backoff_next(&backoff, 0, -1);
        assert_false(kl__backoff_at_rest(&backoff));
    }
    kl__backoff_reset(&backoff);
    assert_true(kl__backoff_at_rest(&backoff));
    assert_in_range(kl__backoff_next(&backoff, 0, -1), 800, 1599);
}

static void retry_after_is_the_shortest_wait(void **state)
{
    kl__backoff backoff;

    (void)state;
    kl__backoff_init(&backoff, 3);
    assert_in_range(kl__backoff_next(&backoff, 0, 10000), 10000, 10799);
    assert_in_range(kl__backoff_next(&backoff, 0, 10000), 10000, 11599);
    assert_in_range(kl__backoff_next(&backoff, 0, 0), 3200, 6399);
}

static void an_absurd_retry_after_counts_as_five_minutes(void **state)
{
    kl__backoff backoff;

    (void)state;
    kl__backoff_init(&backoff, 3);
    assert_in_range(kl__backoff_next(&backoff, 0, INT64_MAX), 300000, 300799);
}

static void a_cap_makes_retries_more_frequent(void **state)
{
    kl__backoff backoff;

    (void)state;
    kl__backoff_init(&backoff, 5);
    for (int i = 0; i < 20; i++) {
        assert_in_range(kl__backoff_next(&backoff, 5000, -1), 800, 9999);
    }
}

static void a_seed_of_zero_still_jitters(void **state)
{
    kl__backoff backoff;
    int64_t first;
    bool differs = false;

    (void)state;
    kl__backoff_init(&backoff, 0);
    first = kl__backoff_jitter(&backoff, 0, 1000);
    for (int i = 0; i < 20; i++) {
        differs |= kl__backoff_jitter(&backoff, 0, 1000) != first;
    }
    assert_true(differs);
    assert_int_equal(kl__backoff_jitter(&backoff, 5, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_waits_uniformly_between_d_and_twice_d),
        cmocka_unit_test(a_reset_makes_the_next_failure_a_first_one),
        cmocka_unit_test(retry_after_is_the_shortest_wait),
        cmocka_unit_test(an_absurd_retry_after_counts_as_five_minutes),
        cmocka_unit_test(a_cap_makes_retries_more_frequent),
        cmocka_unit_test(a_seed_of_zero_still_jitters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
