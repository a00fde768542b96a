/*
 * delta_fifo_spec.c - the queue keeps the order of the stream, is bounded, and
 * lets no thread wait for ever; one that gathers a burst may let its consumer
 * sleep, but the end of the burst wakes it. It has the cases of client-go's
 * RealFIFO tests that apply.
 */
#include "cache/delta_fifo.h"

#include "failing_alloc.h"
#include "pods.h"

#include "base/mem.h"
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { FOR_EVER = -1, MAX = 1000 };

static void add(kl__delta_fifo *fifo, kl_object *object)
{
    assert_int_equal(
        kl__delta_fifo_push(fifo, KL__DELTA_ADDED, object, FOR_EVER, NULL),
        KL_OK);
}

/* The types and names of the next batch, as "A:a U:b R:2@7". */
static const char *pop(kl__delta_fifo *fifo, size_t max)
{
    static const char letters[] = "AUDLRSBE";
    static char text[512];
    kl__delta_batch batch = {0};
    size_t used = 0;

    text[0] = '\0';
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, max, 0), KL_OK);
    for (size_t i = 0; i < batch.count; i++) {
        const kl__delta *delta = &batch.items[i];
        const char *name = "";
        int written;

        if (delta->object != NULL) {
            name = kl_object_name(delta->object);
        } else if (delta->version != NULL) {
            name = delta->version;
        } else if (delta->error != NULL) {
            name = delta->error->message;
        }
        written = snprintf(text + used, sizeof(text) - used, "%s%c:%s",
                           i > 0 ? " " : "", letters[delta->type], name);
        used += (size_t)written;
    }
    kl__delta_batch_clear(&batch);
    return text;
}

static void deltas_are_popped_in_the_order_of_the_stream(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);

    (void)state;
    add(fifo, pod("a", "1", 1));
    add(fifo, pod("b", "2", 2));
    kl__delta_fifo_push(fifo, KL__DELTA_UPDATED, pod("a", "1", 3), FOR_EVER,
                        NULL);
    kl__delta_fifo_push(fifo, KL__DELTA_UPDATED, pod("a", "1", 4), FOR_EVER,
                        NULL);
    kl__delta_fifo_push(fifo, KL__DELTA_DELETED, pod("b", "2", 5), FOR_EVER,
                        NULL);
    kl__delta_fifo_push(fifo, KL__DELTA_DELETED, pod("b", "2", 5), FOR_EVER,
                        NULL);
    kl__delta_fifo_bookmark(fifo, "6");
    assert_int_equal(kl__delta_fifo_length(fifo), 7);
    assert_string_equal(pop(fifo, MAX), "A:a A:b U:a U:a D:b D:b B:6");
    assert_int_equal(kl__delta_fifo_length(fifo), 0);
    kl__delta_fifo_free(fifo);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void a_batch_is_cut_at_its_maximum(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);

    (void)state;
    add(fifo, pod("a", "1", 1));
    add(fifo, pod("b", "2", 2));
    add(fifo, pod("c", "3", 3));
    assert_string_equal(pop(fifo, 2), "A:a A:b");
    assert_string_equal(pop(fifo, 2), "A:c");
    kl__delta_fifo_free(fifo);
}

static void a_replaced_a_sync_or_an_error_is_a_batch_of_one(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__listed list = {.objects =
                           pod_list(2, pod("a", "1", 1), pod("b", "2", 1))};
    kl_error error = {.code = KL_EFORBIDDEN, .message = "no"};

    (void)state;
    add(fifo, pod("x", "9", 1));
    assert_int_equal(kl__delta_fifo_replace(fifo, &list, "7", FOR_EVER, NULL),
                     KL_OK);
    assert_null(list.objects.items);
    kl__delta_fifo_resync(fifo);
    add(fifo, pod("y", "8", 8));
    kl__delta_fifo_error(fifo, &error, 1);
    add(fifo, pod("z", "7", 9));
    assert_string_equal(pop(fifo, MAX), "A:x");
    assert_string_equal(pop(fifo, MAX), "R:7");
    assert_string_equal(pop(fifo, MAX), "S:");
    assert_string_equal(pop(fifo, MAX), "A:y");
    assert_string_equal(pop(fifo, MAX), "E:no");
    assert_string_equal(pop(fifo, MAX), "A:z");
    kl__delta_fifo_free(fifo);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void bookmarks_syncs_and_equal_errors_in_a_row_are_merged(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl_error no = {.code = KL_EFORBIDDEN, .message = "no"};
    kl_error gone = {.code = KL_EGONE, .message = "gone"};

    (void)state;
    kl__delta_fifo_bookmark(fifo, "1");
    kl__delta_fifo_bookmark(fifo, "2");
    kl__delta_fifo_resync(fifo);
    kl__delta_fifo_resync(fifo);
    kl__delta_fifo_error(fifo, &no, 1);
    kl__delta_fifo_error(fifo, &no, 1);
    kl__delta_fifo_error(fifo, &gone, 1);
    kl__delta_fifo_bookmark(fifo, "3");
    assert_int_equal(kl__delta_fifo_length(fifo), 5);
    assert_string_equal(pop(fifo, MAX), "B:2");
    assert_string_equal(pop(fifo, MAX), "S:");
    assert_string_equal(pop(fifo, MAX), "E:no");
    assert_string_equal(pop(fifo, MAX), "E:gone");
    assert_string_equal(pop(fifo, MAX), "B:3");
    kl__delta_fifo_free(fifo);
}

static void a_push_to_a_full_queue_times_out(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(2, NULL);

    (void)state;
    add(fifo, pod("a", "1", 1));
    assert_true(kl__delta_fifo_wait_room(fifo, 0, NULL));
    add(fifo, pod("b", "2", 2));
    assert_false(kl__delta_fifo_wait_room(fifo, 0, NULL));
    assert_int_equal(
        kl__delta_fifo_push(fifo, KL__DELTA_ADDED, pod("c", "3", 3), 1, NULL),
        KL_ETIMEOUT);
    assert_int_equal(kl__delta_fifo_bookmark(fifo, "9"), KL_OK);
    assert_int_equal(kl__delta_fifo_length(fifo), 3);
    assert_string_equal(pop(fifo, 1), "A:a");
    assert_true(kl__delta_fifo_wait_room(fifo, 0, NULL));
    kl__delta_fifo_free(fifo);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

/* A thread in one blocking call, and the call's result. */
typedef struct waiter {
    kl__delta_fifo *fifo;
    kl__cancel *cancel;
    kl__thread thread;
    kl_code code;
} waiter;

static void *add_one(void *arg)
{
    waiter *self = arg;

    self->code =
        kl__delta_fifo_push(self->fifo, KL__DELTA_ADDED, pod("late", "9", 9),
                            3600000, self->cancel);
    return NULL;
}

static void *pop_one(void *arg)
{
    waiter *self = arg;
    kl__delta_batch batch = {0};

    self->code = kl__delta_fifo_pop(self->fifo, &batch, MAX, 3600000);
    kl__delta_batch_clear(&batch);
    return NULL;
}

static void start(waiter *self, void *(*entry)(void *))
{
    assert_int_equal(
        kl__thread_start(&self->thread, "waiter", entry, self, NULL), KL_OK);
}

static void a_blocked_push_continues_when_there_is_room(void **state)
{
    kl__clock *clock = kl__clock_fake(0);
    waiter self = {.fifo = kl__delta_fifo_new(1, clock)};

    (void)state;
    add(self.fifo, pod("a", "1", 1));
    start(&self, add_one);
    assert_true(kl__clock_await_waiters(clock, 1));
    assert_string_equal(pop(self.fifo, MAX), "A:a");
    kl__thread_join(&self.thread);
    assert_int_equal(self.code, KL_OK);
    assert_string_equal(pop(self.fifo, MAX), "A:late");
    kl__delta_fifo_free(self.fifo);
    kl__clock_fake_free(clock);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

static void a_waiting_producer_can_be_cancelled(void **state)
{
    kl__clock *clock = kl__clock_fake(0);
    kl__cancel cancel;
    waiter self = {kl__delta_fifo_new(1, clock), &cancel, {0}, KL_OK};

    (void)state;
    kl__cancel_init(&cancel);
    add(self.fifo, pod("a", "1", 1));
    start(&self, add_one);
    assert_true(kl__clock_await_waiters(clock, 1));
    kl__cancel_fire(&cancel);
    kl__thread_join(&self.thread);
    assert_int_equal(self.code, KL_ECANCELED);
    assert_int_equal(kl__delta_fifo_length(self.fifo), 1);
    assert_int_equal(kl__delta_fifo_push(self.fifo, KL__DELTA_ADDED,
                                         pod("b", "2", 2), 0, &cancel),
                     KL_ECANCELED);
    kl__delta_fifo_free(self.fifo);
    kl__cancel_deinit(&cancel);
    kl__clock_fake_free(clock);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void a_waiting_producer_and_consumer_wake_on_close(void **state)
{
    kl__clock *clock = kl__clock_fake(0);
    waiter producer = {.fifo = kl__delta_fifo_new(1, clock)};
    waiter consumer = {.fifo = kl__delta_fifo_new(1, clock)};

    (void)state;
    add(producer.fifo, pod("a", "1", 1));
    start(&producer, add_one);
    start(&consumer, pop_one);
    assert_true(kl__clock_await_waiters(clock, 2));
    kl__delta_fifo_close(producer.fifo);
    kl__delta_fifo_close(consumer.fifo);
    kl__thread_join(&producer.thread);
    kl__thread_join(&consumer.thread);
    assert_int_equal(producer.code, KL_ECLOSED);
    assert_int_equal(consumer.code, KL_ECLOSED);
    kl__delta_fifo_free(producer.fifo);
    kl__delta_fifo_free(consumer.fifo);
    kl__clock_fake_free(clock);
}

static void queued_deltas_can_be_popped_after_close(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__delta_batch batch = {0};

    (void)state;
    add(fifo, pod("a", "1", 1));
    kl__delta_fifo_close(fifo);
    assert_int_equal(kl__delta_fifo_bookmark(fifo, "9"), KL_ECLOSED);
    assert_string_equal(pop(fifo, MAX), "A:a");
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, FOR_EVER),
                     KL_ECLOSED);
    kl__delta_fifo_free(fifo);
}

static void a_consumer_waits_until_its_deadline(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__delta_batch batch = {0};

    (void)state;
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 1), KL_ETIMEOUT);
    assert_null(batch.items);
    kl__delta_fifo_free(fifo);
}

static kl_code use_all(void *context)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl_object_list *template = context;
    kl_object_list list = {0};
    kl__listed listed = {0};
    kl_error error = {.code = KL_EGONE};
    kl__delta_batch batch = {0};
    kl_code code = KL_ENOMEM;

    list.items = kl__malloc(template->count * sizeof(kl_object *));
    if (fifo == NULL || list.items == NULL) {
        goto end;
    }
    while (list.count < template->count) {
        list.items[list.count] = kl_object_ref(template->items[list.count]);
        list.count++;
    }
    listed.objects = list;
    list = (kl_object_list){0};
    code = kl__delta_fifo_replace(fifo, &listed, "7", 0, NULL);
    for (size_t i = 0; code == KL_OK && i < 20; i++) {
        code = kl__delta_fifo_push(fifo, KL__DELTA_ADDED,
                                   kl_object_ref(template->items[0]), 0, NULL);
    }
    code = code == KL_OK ? kl__delta_fifo_bookmark(fifo, "8") : code;
    code = code == KL_OK ? kl__delta_fifo_error(fifo, &error, 1) : code;
    code = code == KL_OK ? kl__delta_fifo_pop(fifo, &batch, 9, 0) : code;

end:
    kl__delta_batch_clear(&batch);
    kl_object_list_clear(&list);
    kl__delta_fifo_free(fifo);
    return code;
}

static void out_of_memory_fails_the_call_and_loses_no_delta(void **state)
{
    kl_object_list list = pod_list(2, pod("a", "1", 1), pod("b", "2", 1));

    (void)state;
    failing_alloc_each(use_all, &list);
    kl_object_list_clear(&list);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

enum { HAMMERED = 20000 };

static void *produce(void *arg)
{
    waiter *self = arg;
    kl_object *object = pod("a", "1", 1);

    for (int i = 0; i < HAMMERED; i++) {
        self->code = kl__delta_fifo_push(self->fifo, KL__DELTA_ADDED,
                                         kl_object_ref(object), FOR_EVER, NULL);
        if (i % 16 == 0) {
            kl__delta_fifo_resync(self->fifo);
        }
    }
    kl_object_unref(object);
    kl__delta_fifo_close(self->fifo);
    return NULL;
}

static void a_fast_producer_is_held_to_the_bound_and_loses_nothing(void **state)
{
    waiter self = {.fifo = kl__delta_fifo_new(8, NULL)};
    kl__delta_batch batch = {0};
    size_t added = 0;

    (void)state;
    start(&self, produce);
    while (kl__delta_fifo_pop(self.fifo, &batch, 5, FOR_EVER) == KL_OK) {
        assert_true(batch.count <= 5);
        for (size_t i = 0; i < batch.count; i++) {
            added += batch.items[i].type == KL__DELTA_ADDED;
        }
        kl__delta_batch_clear(&batch);
    }
    kl__thread_join(&self.thread);
    assert_int_equal(added, HAMMERED);
    kl__delta_fifo_free(self.fifo);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

enum { PATIENCE_MS = 10000, BURSTS = 300, ENOUGH = 64 };

typedef struct world {
    kl__delta_fifo *fifo;
    kl__thread consumer;
    kl__mutex mutex; /* guards `seen` */
    kl__cond cond;
    size_t seen; /* deltas that the consumer took */
} world;

/* Takes what there is until the queue is closed. */
static void *consume(void *arg)
{
    world *self = arg;
    kl__delta_batch batch = {0};

    while (kl__delta_fifo_pop(self->fifo, &batch, MAX, -1) == KL_OK) {
        kl__mutex_lock(&self->mutex);
        self->seen += batch.count;
        kl__cond_signal(&self->cond);
        kl__mutex_unlock(&self->mutex);
        kl__delta_batch_clear(&batch);
    }
    return NULL;
}

static int set_up(void **state)
{
    static world self;

    self = (world){.fifo = kl__delta_fifo_new(ENOUGH, NULL)};
    kl__mutex_init(&self.mutex, KL__RANK_REFLECTOR);
    kl__cond_init(&self.cond);
    kl__delta_fifo_gather(self.fifo, true);
    *state = &self;
    return kl__thread_start(&self.consumer, "consumer", consume, &self, NULL) ==
                   KL_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__delta_fifo_close(self->fifo);
    kl__thread_join(&self->consumer);
    kl__delta_fifo_free(self->fifo);
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
    return kl_live_count(KL_LIVE_OBJECT) != 0 ||
           kl_live_count(KL_LIVE_THREAD) != 0;
}

static void add_many(world *self, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(kl__delta_fifo_push(self->fifo, KL__DELTA_ADDED,
                                             pod("a", "1", i + 1), PATIENCE_MS,
                                             NULL),
                         KL_OK);
    }
}

/* Asserts that the consumer takes so many deltas since the beginning, in
 * time. */
static void arrive(world *self, size_t count)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool in_time = true;
    size_t seen;

    kl__mutex_lock(&self->mutex);
    while (self->seen < count && in_time) {
        in_time = kl__cond_wait(&self->cond, &self->mutex, deadline);
    }
    seen = self->seen;
    kl__mutex_unlock(&self->mutex);
    assert_int_equal(seen, count);
}

static void the_end_of_a_burst_wakes_the_consumer(void **state)
{
    for (size_t i = 1; i <= BURSTS; i++) {
        kl__delta_fifo_gather(((world *)*state)->fifo, true);
        add_many(*state, 3);
        kl__delta_fifo_gather(((world *)*state)->fifo, false);
        arrive(*state, 3 * i);
    }
}

static void a_bookmark_wakes_the_consumer_during_a_burst(void **state)
{
    for (size_t i = 1; i <= BURSTS; i++) {
        add_many(*state, 2);
        kl__delta_fifo_bookmark(((world *)*state)->fifo, "3");
        arrive(*state, 3 * i);
    }
}

/* Sixty-four are enough to wake the consumer, which may leave up to 63: the
 * queue, which holds no more than 64, goes on taking objects. */
static void an_endless_burst_still_wakes_the_consumer(void **state)
{
    add_many(*state, BURSTS * ENOUGH);
    kl__delta_fifo_gather(((world *)*state)->fifo, false);
    arrive(*state, BURSTS * ENOUGH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_are_popped_in_the_order_of_the_stream),
        cmocka_unit_test(a_batch_is_cut_at_its_maximum),
        cmocka_unit_test(a_replaced_a_sync_or_an_error_is_a_batch_of_one),
        cmocka_unit_test(bookmarks_syncs_and_equal_errors_in_a_row_are_merged),
        cmocka_unit_test(a_push_to_a_full_queue_times_out),
        cmocka_unit_test(a_blocked_push_continues_when_there_is_room),
        cmocka_unit_test(a_waiting_producer_can_be_cancelled),
        cmocka_unit_test(a_waiting_producer_and_consumer_wake_on_close),
        cmocka_unit_test(queued_deltas_can_be_popped_after_close),
        cmocka_unit_test(a_consumer_waits_until_its_deadline),
        cmocka_unit_test(out_of_memory_fails_the_call_and_loses_no_delta),
        cmocka_unit_test(
            a_fast_producer_is_held_to_the_bound_and_loses_nothing),
        cmocka_unit_test_setup_teardown(the_end_of_a_burst_wakes_the_consumer,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_bookmark_wakes_the_consumer_during_a_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_endless_burst_still_wakes_the_consumer, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
