/*
 * reflector_young_spec.c - when a reflector packs the objects that a watch
 * brought: while it waits, for events or for the end of a backoff, and before a
 * list.
 */
#include "informer/reflector.h"
#include "scripted_source.h"

#include "base/mem.h"
#include "object/object.h"
#include "object/packer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define LIST "a@1 b@2 c@3 d@4 e@5 f@6 =10; "

enum { YOUNG_MS = 4000, PATIENCE_S = 60 };

typedef struct threaded {
    kl__clock *clock; /* stands still until told */
    kl__cancel stop;
    kl__delta_fifo *fifo;
    kl__health health;
    scripted_source *source;
    kl__reflector *reflector;
    kl__thread thread;
    kl_object *object; /* of the last delta that was popped */
} threaded;

static int choose_limits(void **state)
{
    static const kl__pack_limits few = KL__PACK_EAGER(false);

    (void)state;
    kl__pack_limits_chosen = &few;
    return 0;
}

static int setup(void **state)
{
    threaded *self = kl__calloc(1, sizeof(*self));

    assert_non_null(self);
    self->clock = kl__clock_fake(1000);
    kl__cancel_init(&self->stop);
    kl__health_init(&self->health, self->clock);
    *state = self;
    return 0;
}

static void start(threaded *self, const char *script, size_t bound)
{
    self->fifo = kl__delta_fifo_new(bound, self->clock);
    self->source = scripted_source_new(script, self->clock, NULL);
    self->reflector = kl__reflector_new(&(kl__reflector_options){
        .source = scripted_source_list_watch(self->source),
        .fifo = self->fifo,
        .health = &self->health,
        .stop = &self->stop,
        .clock = self->clock,
        .name = "pods",
        .no_streaming_list = true,
        .compress = true,
        .seed = 42,
    });
    assert_non_null(self->reflector);
    assert_int_equal(kl__thread_start(&self->thread, "reflector",
                                      kl__reflector_run, self->reflector, NULL),
                     KL_OK);
}

static int teardown(void **state)
{
    threaded *self = *state;

    kl__cancel_fire(&self->stop);
    kl__thread_join(&self->thread);
    kl__reflector_free(self->reflector);
    scripted_source_free(self->source);
    kl__delta_fifo_free(self->fifo);
    kl__health_deinit(&self->health);
    kl__cancel_deinit(&self->stop);
    kl__clock_fake_free(self->clock);
    kl_object_unref(self->object);
    kl__free(self);
    return kl_live_count(KL_LIVE_OBJECT) == 0 &&
                   kl_live_count(KL_LIVE_THREAD) == 0 &&
                   kl__text_slab_total() == 0
               ? 0
               : -1;
}

/* Pops deltas up to one about an object, and keeps that object. */
static void pop_object(threaded *self)
{
    kl_object_unref(self->object);
    self->object = NULL;
    while (self->object == NULL) {
        kl__delta_batch batch = {0};

        assert_int_equal(kl__delta_fifo_pop(self->fifo, &batch, 1, -1), KL_OK);
        if (batch.items[0].object != NULL) {
            self->object = kl_object_ref(batch.items[0].object);
        }
        kl__delta_batch_clear(&batch);
    }
}

/* Waits until the object is packed, for at most a minute. */
static void await_packed(const threaded *self)
{
    const struct timespec pause = {0, 1000000};

    for (int i = 0; !kl__object_is_packed(self->object); i++) {
        assert_in_range(i, 0, PATIENCE_S * 1000);
        nanosleep(&pause, NULL);
    }
}

static void an_object_is_packed_in_a_silent_watch(void **state)
{
    threaded *self = *state;

    start(self, LIST "~a@11", 0);
    pop_object(self);
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(self->object));
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(self);
    assert_string_equal(kl_object_resource_version(self->object), "11");
    assert_string_equal(scripted_source_requests(self->source),
                        "resolve; list limit=500; watch rv=10");
}

static void many_objects_are_packed_in_turns(void **state)
{
    enum { COUNT = 40 };
    threaded *self = *state;
    kl_object *objects[COUNT];
    char script[1000] = LIST;

    for (int i = 0; i < COUNT; i++) {
        size_t used = strlen(script);

        snprintf(script + used, sizeof(script) - used, " ~a@%d", 11 + i);
    }
    start(self, script, 0);
    for (int i = 0; i < COUNT; i++) {
        pop_object(self);
        objects[i] = kl_object_ref(self->object);
    }
    assert_true(kl__clock_await_waiters(self->clock, 1));
    for (int i = 0; i < COUNT; i++) {
        assert_false(kl__object_is_packed(objects[i]));
    }
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(self);
    for (int i = 0; i < COUNT; i++) {
        assert_true(kl__object_is_packed(objects[i]));
        kl_object_unref(objects[i]);
    }
}

static void an_object_is_packed_in_a_long_backoff(void **state)
{
    threaded *self = *state;

    start(self, LIST "~a@11 !unavailable:503/60000", 0);
    pop_object(self);
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(self->object));
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(self);
    assert_true(scripted_source_await(self->source, 3));
    assert_string_equal(scripted_source_requests(self->source),
                        "resolve; list limit=500; watch rv=10");
}

static void an_object_stays_young_over_a_new_watch(void **state)
{
    threaded *self = *state;

    start(self, LIST "~a@11 %1500 $; ok ~a@12", 0);
    pop_object(self);
    assert_true(scripted_source_await(self->source, 4));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(self->object));
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(self);
}

static void objects_are_packed_before_a_list(void **state)
{
    threaded *self = *state;

    start(self, LIST "~a@11 !gone:410", 0);
    pop_object(self);
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(self->object));
    kl__clock_advance(self->clock, 1000);
    await_packed(self);
}

static void objects_are_packed_before_a_wait_for_room(void **state)
{
    threaded *self = *state;

    start(self, LIST "~a@11 ~b@12 ~c@13", 2);
    pop_object(self);
    while (kl__delta_fifo_length(self->fifo) < 2) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
    }
    scripted_source_feed(self->source, " ~d@14");
    assert_true(scripted_source_await_played(self->source));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(self->object));
    kl__clock_advance(self->clock, 15000);
    assert_true(scripted_source_await_end(self->source));
    await_packed(self);
}

#define REFLECTOR_TEST(name) \
    cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REFLECTOR_TEST(an_object_is_packed_in_a_silent_watch),
        REFLECTOR_TEST(many_objects_are_packed_in_turns),
        REFLECTOR_TEST(an_object_is_packed_in_a_long_backoff),
        REFLECTOR_TEST(an_object_stays_young_over_a_new_watch),
        REFLECTOR_TEST(objects_are_packed_before_a_list),
        REFLECTOR_TEST(objects_are_packed_before_a_wait_for_room),
    };

    return cmocka_run_group_tests(tests, choose_limits, NULL);
}
