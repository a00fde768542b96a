/*
 * gather_spec.c - a queue that gathers a burst may let its consumer sleep, but
 * the end of a burst wakes the consumer. It is tried many times, as the
 * consumer may not have slept.
 */
#include "cache/delta_fifo.h"

#include "base/mem.h"
#include "base/thread.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX = 1000, PATIENCE_MS = 10000, BURSTS = 300, ENOUGH = 64 };

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

static void add(world *self, int count)
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
        add(*state, 3);
        kl__delta_fifo_gather(((world *)*state)->fifo, false);
        arrive(*state, 3 * i);
    }
}

static void a_bookmark_wakes_the_consumer_during_a_burst(void **state)
{
    for (size_t i = 1; i <= BURSTS; i++) {
        add(*state, 2);
        kl__delta_fifo_bookmark(((world *)*state)->fifo, "3");
        arrive(*state, 3 * i);
    }
}

/* Sixty-four are enough to wake the consumer, which may leave up to 63: the
 * queue, which holds no more than 64, goes on taking objects. */
static void an_endless_burst_still_wakes_the_consumer(void **state)
{
    add(*state, BURSTS * ENOUGH);
    kl__delta_fifo_gather(((world *)*state)->fifo, false);
    arrive(*state, BURSTS * ENOUGH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_end_of_a_burst_wakes_the_consumer,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_bookmark_wakes_the_consumer_during_a_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_endless_burst_still_wakes_the_consumer, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
