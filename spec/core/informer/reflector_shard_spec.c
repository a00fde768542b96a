/*
 * reflector_shard_spec.c - kl__reflector_set_shard: whatever the reflector
 * does, a list of the new shard follows, and nothing is lost meanwhile.
 */
#include "reflector_world.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void set_shard_by(threaded_reflector *self, const char *text,
                         kl_shard_by by)
{
    kl__shard shards;

    assert_int_equal(kl__shard_parse(text, by, &shards, NULL), KL_OK);
    kl__reflector_set_shard(self->reflector, &shards);
}

static void set_shard(threaded_reflector *self, const char *text)
{
    set_shard_by(self, text, KL_SHARD_BY_UID);
}

static kl_informer_status status_of(threaded_reflector *self)
{
    kl_informer_status status = {0};

    kl__reflector_status(self->reflector, &status);
    return status;
}

/* Pops deltas up to a list, and asserts its version and the number of its
 * shard. */
static void expect_list(threaded_reflector *self, const char *version,
                        uint64_t shard)
{
    bool is_list = false;

    while (!is_list) {
        kl__delta_batch batch = {0};

        assert_int_equal(kl__delta_fifo_pop(self->fifo, &batch, 1, -1), KL_OK);
        is_list = batch.items[0].type == KL__DELTA_REPLACED;
        if (is_list) {
            assert_string_equal(batch.items[0].version, version);
            assert_int_equal(batch.items[0].listed->shard, shard);
        }
        kl__delta_batch_clear(&batch);
    }
}

static void expect_requests(threaded_reflector *self, int count,
                            const char *requests)
{
    assert_true(scripted_source_await(self->source, count));
    assert_string_equal(scripted_source_requests(self->source), requests);
}

#define WATCHES "resolve; list limit=500; watch rv=10"
#define RELISTS "; shard 00-3f; list rv=11 match=NotOlderThan; watch rv=12"

static void
a_new_shard_ends_the_watch_and_is_listed_from_its_version(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "a@1 =10; +b@11", 0, false);
    assert_true(scripted_source_await(self->source, 3));
    assert_true(scripted_source_await_played(self->source));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    scripted_source_feed(self->source, "; a@1 =12; ok");
    set_shard(self, "0/4");
    expect_list(self, "10", 0);
    expect_list(self, "12", 1);
    expect_requests(self, 6, WATCHES RELISTS);
    assert_int_equal(status_of(self).failures, 0);
    assert_int_equal(status_of(self).error.code, KL_OK);
    assert_int_equal(status_of(self).reconnects[KL_RECONNECT_RESHARDED], 1);
    assert_int_equal(kl__reflector_shard(self->reflector), 1);
}

static void the_same_shard_again_does_nothing(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "a@1 =10; ok", 0, false);
    set_shard(self, "");
    set_shard(self, "0/4,1/4,2/4,3/4");
    assert_int_equal(kl__reflector_shard(self->reflector), 0);
    expect_list(self, "10", 0);
    expect_requests(self, 3, WATCHES);
}

static void a_list_of_the_old_shard_is_given_up(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "a@1", 0, false); /* and no end */
    assert_true(scripted_source_await(self->source, 2));
    assert_true(scripted_source_await_played(self->source));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    scripted_source_feed(self->source, "; a@1 =12; ok");
    set_shard(self, "0/4");
    expect_list(self, "12", 1);
    expect_requests(self, 5,
                    "resolve; list limit=500; shard 00-3f; list limit=500; "
                    "watch rv=12");
    assert_int_equal(status_of(self).failures, 0);
}

static void a_shard_of_a_backoff_is_listed_after_it(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(
        self, "a@1 =10; !too_many_requests:429/60000; =12; ok", 0, false);
    assert_true(scripted_source_await(self->source, 3));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    set_shard(self, "3/4");
    assert_int_equal(status_of(self).state, KL_STATE_BACKOFF);
    kl__clock_advance(self->clock, status_of(self).retry_in_ms);
    expect_list(self, "10", 0);
    expect_list(self, "12", 1);
    expect_requests(self, 6,
                    WATCHES "; shard c0-ff; list rv=10 match=NotOlderThan; "
                            "watch rv=12");
}

static void a_stream_of_the_old_shard_is_given_up(void **state)
{
    threaded_reflector *self = *state;

    self->streams = true;
    threaded_reflector_start(self, "+a@1 ^^10 +b@11", 0, false);
    expect_list(self, "10", 0);
    assert_true(scripted_source_await_played(self->source));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    scripted_source_feed(self->source, "; +b@11 ^^12");
    set_shard(self, "0/2");
    expect_list(self, "12", 1);
    expect_requests(self, 4, "resolve; stream; shard 00-7f; stream rv=11");
}

/* Of many changes the last one counts, whenever they come. */
static void the_last_of_many_shards_is_listed(void **state)
{
    enum { CHANGES = 200 };
    threaded_reflector *self = *state;
    kl__delta_batch batch = {0};
    uint64_t shard = 0;

    threaded_reflector_start(self, "", 0, false);
    for (int i = 1; i <= CHANGES; i++) {
        set_shard(self, i % 2 == 0 ? "0/4" : "1/4");
    }
    scripted_source_feed(self->source, "=12; ok");
    while (shard != CHANGES) {
        assert_int_equal(kl__delta_fifo_pop(self->fifo, &batch, 1, -1), KL_OK);
        shard = batch.items[0].listed->shard;
        kl__delta_batch_clear(&batch);
        scripted_source_feed(self->source, "; =12; ok");
    }
    assert_int_equal(status_of(self).failures, 0);
}

/* The namespace web is in the third fourth of the hashes. */
static void a_namespace_of_another_shard_is_left_alone(void **state)
{
    threaded_reflector *self = *state;

    self->within = "web";
    threaded_reflector_start(self, "web/a@1 =10; ok; web/a@1 =11; ok", 0,
                             false);
    assert_true(scripted_source_await(self->source, 3));
    set_shard_by(self, "0/4", KL_SHARD_BY_NAMESPACE);
    expect_list(self, "10", 0);
    expect_list(self, "10", 1);
    assert_true(reflector_runner_await_rest(&self->runner));
    set_shard_by(self, "1/4", KL_SHARD_BY_NAMESPACE);
    expect_list(self, "10", 2);
    assert_true(reflector_runner_await_rest(&self->runner));
    set_shard_by(self, "1/4,2/4", KL_SHARD_BY_NAMESPACE);
    expect_list(self, "11", 3);
    expect_requests(self, 8,
                    WATCHES "; shard 00-3f; shard 40-7f; shard 40-bf; "
                            "list rv=10 match=NotOlderThan; watch rv=11");
    assert_int_equal(status_of(self).failures, 0);
}

static void a_streaming_list_is_not_asked_for_either(void **state)
{
    threaded_reflector *self = *state;

    self->streams = true;
    self->within = "web";
    threaded_reflector_start(self, "+web/a@1 ^^10; +web/a@1 ^^11", 0, false);
    expect_list(self, "10", 0);
    set_shard_by(self, "0/4", KL_SHARD_BY_NAMESPACE);
    expect_list(self, "10", 1);
    assert_true(reflector_runner_await_rest(&self->runner));
    set_shard_by(self, "2/4", KL_SHARD_BY_NAMESPACE);
    expect_list(self, "11", 2);
    expect_requests(self, 5,
                    "resolve; stream; shard 00-3f; shard 80-bf; stream rv=10");
}

static void a_namespace_of_another_shard_is_no_reason_not_to_stop(void **state)
{
    threaded_reflector *self = *state;

    self->within = "web";
    threaded_reflector_start(self, "web/a@1 =10; ok", 0, false);
    assert_true(scripted_source_await(self->source, 3));
    set_shard_by(self, "0/4", KL_SHARD_BY_NAMESPACE);
    expect_list(self, "10", 0);
    expect_list(self, "10", 1);
    kl__cancel_fire(&self->stop);
    threaded_reflector_join(self);
    assert_int_equal(status_of(self).state, KL_STATE_STOPPED);
}

#define CASE(name)                                                  \
    cmocka_unit_test_setup_teardown(name, threaded_reflector_setup, \
                                    threaded_reflector_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_new_shard_ends_the_watch_and_is_listed_from_its_version),
        CASE(the_same_shard_again_does_nothing),
        CASE(a_list_of_the_old_shard_is_given_up),
        CASE(a_shard_of_a_backoff_is_listed_after_it),
        CASE(a_stream_of_the_old_shard_is_given_up),
        CASE(the_last_of_many_shards_is_listed),
        CASE(a_namespace_of_another_shard_is_left_alone),
        CASE(a_streaming_list_is_not_asked_for_either),
        CASE(a_namespace_of_another_shard_is_no_reason_not_to_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
