/*
 * loads_calls_spec.c - every public call on loads, counts, parts of hashes and
 * shards, with each of its allocations failing.
 */
#include "every_call.h"
#include "failing_alloc.h"

#include "kubelua/memory.h"
#include "kubelua/shard.h"
#include "kubelua/shared_count.h"
#include "kubelua/shared_hash.h"
#include "kubelua/shared_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct world {
    kl_loads *loads; /* of one run */
    kl_counts *counts;
} world;

static const kl_loads_options small = {.name = "small", .endpoints = 16};

static kl_code open_loads(void *world_, kl_error *err)
{
    (void)world_;
    kl_loads_close(kl_loads_open(&small, err));
    return err->code;
}

static kl_code begin(void *world_, kl_error *err)
{
    world *self = world_;

    self->loads = kl_loads_open(&small, err);
    return err->code;
}

static kl_code use_columns(void *world_, kl_error *err)
{
    world *self = world_;
    kl_loads_status status;

    (void)err;
    assert_int_equal(kl_loads_join(self->loads), 0);
    assert_int_equal(kl_loads_sweep(self->loads), 0);
    kl_loads_get_status(self->loads, &status);
    assert_int_equal(status.joined, 1);
    kl_loads_leave(self->loads, 0);
    kl_loads_close(self->loads);
    return KL_OK;
}

static kl_code use_rows(void *world_, kl_error *err)
{
    world *self = world_;
    int64_t now = kl_loads_now();
    kl_load_state state;
    kl_load_row row;

    (void)err;
    kl_loads_find(self->loads, 1, 0, now, &row);
    kl_loads_begin(self->loads, row.row, 0);
    assert_int_equal(kl_loads_in_flight(self->loads, row.row), 0);
    assert_int_equal(kl_loads_total(self->loads, &row.row, 1), 0);
    kl_loads_end(self->loads, row.row, 0);
    kl_loads_seed(self->loads, row.row, 1, now);
    kl_loads_observe(self->loads, row.row, 2, now);
    assert_true(kl_loads_latency(self->loads, row.row, now) > 1);
    kl_loads_arrive(self->loads, row.row, now);
    assert_int_equal(kl_loads_age(self->loads, row.row, now), 0);
    kl_loads_fail(self->loads, row.row, now);
    kl_loads_try(self->loads, row.row, 10, now);
    kl_loads_succeed(self->loads, row.row);
    assert_int_equal(kl_loads_fails(self->loads, row.row), 1);
    assert_true(kl_loads_is_out(self->loads, row.row, 1, 10, now));
    assert_true(kl_loads_look(self->loads, 1, 0, now, &state));
    assert_int_equal(state.fails, 1);
    kl_loads_close(self->loads);
    return KL_OK;
}

static kl_code use_hashes(void *world_, kl_error *err)
{
    static uint16_t winners[KL_HASH_PARTS];
    const uint64_t identities[] = {7, 9};
    const kl_hash_endpoints endpoints = {.identities = identities, .count = 2};
    const uint16_t moved[] = {1, 2};

    (void)world_;
    (void)err;
    winners[5] = (uint16_t)(1 + kl_hash_choose(&endpoints, 5));
    kl_hash_change(winners, moved, &endpoints, NULL, 0);
    assert_int_equal(winners[5], 1 + kl_hash_choose(&endpoints, 5));
    return KL_OK;
}

static const kl_counts_options few = {.name = "few", .series = 16};

static kl_code open_counts(void *world_, kl_error *err)
{
    (void)world_;
    kl_counts_close(kl_counts_open(&few, err));
    return err->code;
}

static kl_code begin_counts(void *world_, kl_error *err)
{
    world *self = world_;

    self->counts = kl_counts_open(&few, err);
    return err->code;
}

static kl_code use_counts(void *world_, kl_error *err)
{
    world *self = world_;
    kl_counts *counts = self->counts;
    kl_count_series series;
    kl_count_row row;

    (void)err;
    kl_counts_find(counts, "a", 1, 0, &row);
    assert_true(kl_counts_add(counts, &row, 0, 0, kl_counts_bounds()[0]));
    assert_int_equal(kl_counts_rows(counts), 16);
    assert_true(kl_counts_read(counts, row.row, &series));
    assert_int_equal(series.buckets[0], 1);
    assert_true(kl_counts_forget(counts, &row, 0));
    assert_int_equal(kl_counts_full(counts), 0);
    kl_counts_close(counts);
    return KL_OK;
}

static kl_code share_out(void *world_, kl_error *err)
{
    const char *const members[] = {"one", "two"};
    uint16_t owners[KL_SHARD_PARTS];

    (void)world_;
    (void)err;
    kl_shard_assign(members, 2, owners);
    assert_in_range(owners[kl_shard_part("web/a", 5)], 0, 1);
    assert_int_equal(kl_shard_part("web/a", 5),
                     kl_shard_mixed_hash("web/a", 5) >> 56);
    assert_int_equal(kl_shard_part_of_uid("foobar", 6),
                     kl_shard_hash("foobar", 6) >> 56);
    return KL_OK;
}

static const every_call calls[] = {
    REFUSES(kl_loads_open, open_loads),
    REFUSES(kl_loads_close, open_loads),
    NEVER_ALLOCATES_AFTER(kl_loads_join, use_columns, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_sweep, use_columns, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_get_status, use_columns, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_leave, use_columns, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_now, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_find, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_look, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_begin, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_end, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_in_flight, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_total, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_seed, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_observe, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_latency, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_arrive, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_age, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_fail, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_try, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_succeed, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_fails, use_rows, begin),
    NEVER_ALLOCATES_AFTER(kl_loads_is_out, use_rows, begin),
    REFUSES(kl_counts_open, open_counts),
    REFUSES(kl_counts_close, open_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_find, use_counts, begin_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_add, use_counts, begin_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_bounds, use_counts, begin_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_rows, use_counts, begin_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_read, use_counts, begin_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_forget, use_counts, begin_counts),
    NEVER_ALLOCATES_AFTER(kl_counts_full, use_counts, begin_counts),
    NEVER_ALLOCATES(kl_hash_choose, use_hashes),
    NEVER_ALLOCATES(kl_hash_change, use_hashes),
    NEVER_ALLOCATES(kl_shard_hash, share_out),
    NEVER_ALLOCATES(kl_shard_part, share_out),
    NEVER_ALLOCATES(kl_shard_mixed_hash, share_out),
    NEVER_ALLOCATES(kl_shard_part_of_uid, share_out),
    NEVER_ALLOCATES(kl_shard_assign, share_out),
};

static void each_call_on_loads_survives_each_failed_allocation(void **state)
{
    world self;

    (void)state;
    failing_alloc_install();
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &self});
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
    assert_int_equal(kl_live_count(KL_LIVE_SHARED), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_loads_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
