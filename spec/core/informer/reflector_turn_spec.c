/*
 * reflector_turn_spec.c - the turn that a reflector lends (http/turn.h), taken
 * by a source that the spec plays: what it reads, and what it leaves to the
 * reflector's thread.
 */
#include "informer/reflector.h"

#include "base/mem.h"
#include "base/str.h"
#include "gate.h"
#include "pods.h"
#include "reflector_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 40, FOR_EVER = -1 };

/* A source of ADDED events, all of which are there when the reflector first
 * rests. The turn is carried out then; later rests last until the stop. */
typedef struct played {
    kl__list_watch base;
    kl__clock *clock; /* stands still */
    kl__cancel stop;
    kl__delta_fifo *fifo;
    kl__indexer *indexer;
    kl__health health;
    kl__reflector *reflector;
    reflector_runner runner;
    kl__thread thread;

    kl__item_type last; /* what follows the events; OBJECT: nothing */
    kl_code broken;     /* what follows the events, once; KL_OK: nothing */
    int count;          /* of the events */
    bool is_open;       /* the events may be read */
    int next;           /* the next one */
    bool is_listed;     /* a page is asked for, and not read yet */
    int watches;        /* watches that were opened */
    char resumed[32];   /* the version that the second one began at */
    int waits;
    int refusals;   /* watches that fail before */
    bool is_silent; /* the first wait lasts ten seconds, without a turn */
    bool is_late;   /* the time of the first wait passes in its turn */
    int64_t ages;   /* what the silence is in the turn */
    _Atomic int64_t silence_ms; /* what it is now; read by status */
    bool was_done;              /* what the turn returned */
    int taken;                  /* how many events it read */
    size_t queued;              /* the length of the queue then */
    gate may_begin;
    gate has_turned;  /* the turn has ended */
    gate has_resumed; /* the second watch was opened */
} played;

static played *played_of(kl__list_watch *source)
{
    return (played *)(void *)source;
}

static kl_code resolve(kl__list_watch *source, kl__cancel *cancel,
                       kl_error *err)
{
    (void)source;
    (void)cancel;
    (void)err;
    return KL_OK;
}

static kl_code list(kl__list_watch *source, const kl__list_params *params,
                    kl__cancel *cancel, kl_error *err)
{
    (void)params;
    played_of(source)->is_listed = true;
    return resolve(source, cancel, err);
}

static kl_code watch(kl__list_watch *source, const kl__watch_params *params,
                     kl__cancel *cancel, kl_error *err)
{
    played *self = played_of(source);

    if (self->refusals-- > 0) {
        return kl_error_set(err, KL_EUNAVAILABLE, "no route");
    }
    self->silence_ms = 0;
    if (self->watches++ == 1) {
        snprintf(self->resumed, sizeof(self->resumed), "%s",
                 params->resource_version);
        gate_pass(&self->has_resumed);
    }
    return resolve(source, cancel, err);
}

static kl_code end_or_time_out(played *self, kl__item *item, kl_error *err)
{
    kl_code code = KL_ETIMEOUT;

    if (self->is_open && self->last != KL__ITEM_OBJECT) {
        item->type = self->last;
        return KL_OK;
    }
    if (self->is_open && self->broken != KL_OK) {
        code = self->broken;
        self->broken = KL_OK;
    }
    return kl_error_set(err, code, "nothing more");
}

static kl_code next(kl__list_watch *source, kl__item *item, int64_t timeout_ms,
                    kl__cancel *cancel, kl_error *err)
{
    played *self = played_of(source);
    char name[16];

    (void)cancel;
    *item = (kl__item){0};
    if (self->is_listed) { /* the server has nothing newer than what it sent */
        self->is_listed = false;
        item->type = KL__ITEM_PAGE;
        item->continue_token = kl__strdup("");
        snprintf(item->version, sizeof(item->version), "%d", 10 + self->next);
        return KL_OK;
    }
    assert_int_equal(timeout_ms, 0);
    if (!self->is_open || self->next == self->count) {
        return end_or_time_out(self, item, err);
    }
    snprintf(name, sizeof(name), "p%d", self->next);
    item->type = KL__ITEM_ADDED;
    item->object = pod(name, name, 11 + self->next++);
    snprintf(item->version, sizeof(item->version), "%s",
             kl_object_resource_version(item->object));
    return KL_OK;
}

static bool lends(kl__list_watch *source)
{
    (void)source;
    return true;
}

static bool lend(kl__list_watch *source, const kl__stream_turn *turn)
{
    played *self = played_of(source);

    if (self->waits++ > 0) {
        return true;
    }
    gate_await(&self->may_begin, 1);
    if (self->is_silent) {
        kl__clock_advance(self->clock, 10000);
        gate_pass(&self->has_turned);
        turn->wake(turn->arg); /* real time is not waited for */
        return true;
    }
    self->is_open = true;
    self->silence_ms = self->ages;
    self->was_done = turn->run(turn->arg);
    self->taken = self->next;
    self->queued = kl__delta_fifo_length(self->fifo);
    gate_pass(&self->has_turned);
    if (!self->was_done || self->is_late) {
        turn->wake(turn->arg);
    }
    return true;
}

static int64_t look_again_ms(kl__list_watch *source)
{
    (void)source;
    return -1;
}

static int64_t silence_ms(kl__list_watch *source)
{
    return played_of(source)->silence_ms;
}

static char *take_continue(kl__list_watch *source)
{
    (void)source;
    return NULL;
}

static void ignore(kl__list_watch *source)
{
    (void)source;
}

static played self;

/* Begins with `count` events and a queue of this bound, and takes the list out
 * of the queue; then the turn. */
static void play(int count, size_t bound)
{
    static const kl__list_watch_ops ops = {.resolve = resolve,
                                           .list = list,
                                           .watch = watch,
                                           .next = next,
                                           .lends = lends,
                                           .lend = lend,
                                           .retract = ignore,
                                           .look_again_ms = look_again_ms,
                                           .silence_ms = silence_ms,
                                           .take_continue = take_continue,
                                           .end = ignore,
                                           .free = ignore};
    bool will_back_off = self.refusals > 0;
    kl__delta_batch batch = {0};

    self.base.ops = &ops;
    self.count = count;
    self.clock = kl__clock_fake(1000);
    kl__cancel_init(&self.stop);
    kl__health_init(&self.health, self.clock);
    gate_init(&self.may_begin);
    gate_init(&self.has_turned);
    gate_init(&self.has_resumed);
    self.indexer = kl__indexer_new();
    self.fifo = kl__delta_fifo_new(bound, self.clock);
    reflector_runner_init(&self.runner, &self.stop);
    self.reflector = kl__reflector_new(&(kl__reflector_options){
        .source = &self.base,
        .fifo = self.fifo,
        .known = self.indexer,
        .health = &self.health,
        .stop = &self.stop,
        .clock = self.clock,
        .name = "pods",
        .no_streaming_list = true,
        .wake = reflector_runner_wake,
        .context = &self.runner,
    });
    assert_non_null(self.reflector);
    self.runner.reflector = self.reflector;
    assert_int_equal(kl__thread_start(&self.thread, "reflector",
                                      reflector_runner_run, &self.runner, NULL),
                     KL_OK);
    assert_int_equal(kl__delta_fifo_pop(self.fifo, &batch, 1, FOR_EVER), KL_OK);
    kl__delta_batch_clear(&batch);
    gate_pass(&self.may_begin);
    if (will_back_off) { /* the backoff is shorter than a minute */
        assert_true(kl__clock_await_waiters(self.clock, 1));
        kl__clock_advance(self.clock, 60000);
    }
    assert_true(gate_await(&self.has_turned, 1));
}

static void await_queued(size_t queued)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    while (kl__delta_fifo_length(self.fifo) < queued) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
    }
}

static int stop(void **state)
{
    (void)state;
    kl__cancel_fire(&self.stop);
    kl__thread_join(&self.thread);
    reflector_runner_deinit(&self.runner);
    kl__reflector_free(self.reflector);
    kl__delta_fifo_free(self.fifo);
    kl__indexer_free(self.indexer);
    gate_deinit(&self.has_resumed);
    gate_deinit(&self.has_turned);
    gate_deinit(&self.may_begin);
    kl__health_deinit(&self.health);
    kl__cancel_deinit(&self.stop);
    kl__clock_fake_free(self.clock);
    self = (played){0};
    return kl_live_count(KL_LIVE_OBJECT) == 0 ? 0 : -1;
}

static void a_turn_reads_what_is_there(void **state)
{
    (void)state;
    play(3, 0);
    assert_true(self.was_done);
    assert_int_equal(self.taken, 3);
    assert_int_equal(self.queued, 3);
}

/* The turn would block the transport thread. */
static void a_turn_never_waits_for_room_in_the_queue(void **state)
{
    (void)state;
    play(3, 2);
    assert_false(self.was_done);
    assert_int_equal(self.taken, 2);
    assert_int_equal(self.queued, 2);
}

static void a_turn_ends_after_some_events_and_the_reader_goes_on(void **state)
{
    (void)state;
    play(ITEMS, 0);
    assert_false(self.was_done);
    assert_in_range(self.taken, 1, ITEMS - 1);
    await_queued(ITEMS);
}

static void a_turn_leaves_the_end_of_the_watch_to_the_reader(void **state)
{
    (void)state;
    self.last = KL__ITEM_END;
    play(2, 0);
    assert_false(self.was_done);
    assert_int_equal(self.taken, 2);
    assert_int_equal(self.queued, 2);
}

static void a_turn_leaves_an_error_to_the_reader(void **state)
{
    kl_informer_status status = {0};
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    (void)state;
    self.broken = KL_EFORBIDDEN;
    play(1, 0);
    assert_false(self.was_done);
    while (status.state != KL_STATE_BACKOFF) {
        kl__reflector_status(self.reflector, &status);
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
    }
    assert_int_equal(status.error.code, KL_EFORBIDDEN);
}

/* The reader's time passes while another thread has the turn. */
static void a_turn_that_ends_late_keeps_its_error(void **state)
{
    kl_informer_status status = {0};
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    (void)state;
    self.broken = KL_EGONE;
    self.is_late = true;
    play(1, 0);
    assert_false(self.was_done);
    assert_true(kl__clock_await_waiters(self.clock, 1)); /* in the backoff */
    kl__reflector_status(self.reflector, &status);
    assert_int_equal(status.error.code, KL_EGONE);
    kl__clock_advance(self.clock, 60000);
    while (status.lists < 2) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        kl__reflector_status(self.reflector, &status);
    }
}

/* The idle timeout is over while another thread has the turn: the next watch
 * goes on behind the last event that had come. */
static void a_watch_is_not_silent_before_what_has_come_is_read(void **state)
{
    (void)state;
    self.ages = 200000;
    self.is_late = true;
    play(ITEMS, 0);
    assert_false(self.was_done);
    assert_in_range(self.taken, 1, ITEMS - 1);
    assert_true(gate_await(&self.has_resumed, 1));
    assert_string_equal(self.resumed, "50");
}

/* The reader would sleep for longer than its idle timeout allows. */
static void a_turn_that_leaves_less_time_wakes_the_reader(void **state)
{
    (void)state;
    self.ages = 50000;
    play(1, 0);
    assert_false(self.was_done);
    assert_int_equal(self.taken, 1);
}

/* The failure before is over then, although no event came. */
static void a_watch_that_waits_long_enough_is_healthy(void **state)
{
    kl_informer_status status;
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    (void)state;
    self.refusals = 1;
    self.is_silent = true;
    play(0, 0);
    do {
        kl__reflector_status(self.reflector, &status);
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
    } while (status.error.code != KL_OK);
    assert_int_equal(status.failures, 1);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_teardown(name, stop)
    const struct CMUnitTest tests[] = {
        SPEC(a_turn_reads_what_is_there),
        SPEC(a_turn_never_waits_for_room_in_the_queue),
        SPEC(a_turn_ends_after_some_events_and_the_reader_goes_on),
        SPEC(a_turn_leaves_the_end_of_the_watch_to_the_reader),
        SPEC(a_turn_leaves_an_error_to_the_reader),
        SPEC(a_turn_that_ends_late_keeps_its_error),
        SPEC(a_watch_is_not_silent_before_what_has_come_is_read),
        SPEC(a_turn_that_leaves_less_time_wakes_the_reader),
        SPEC(a_watch_that_waits_long_enough_is_healthy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
