/*
 * apply_spec.c - a few events are applied by the thread that has read them,
 * the reflector's; what has to wait is left to the informing task.
 */
#include "informer_world.h"

#include "base/mem.h"
#include "kubelua/event_queue.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000, ENOUGH = 1000 };

static bool is_thread(const char *wanted)
{
    char name[16] = "";

    return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
           strcmp(name, wanted) == 0;
}

/* Index functions run on the thread that applies an event. */
static atomic_int applied_by_reflector, applied_by_informer;

static kl_code note_thread(void *context, const kl_object *object,
                           const kl_value *root, kl_index_sink *sink)
{
    (void)context;
    (void)object;
    (void)root;
    (void)sink;
    atomic_fetch_add(&applied_by_reflector, is_thread("kl-reflector"));
    atomic_fetch_add(&applied_by_informer, is_thread("kl-informer"));
    return KL_OK;
}

static void open_and_note_threads(informer_world *self)
{
    atomic_store(&applied_by_reflector, 0);
    atomic_store(&applied_by_informer, 0);
    informer_world_open(self, "");
    assert_int_equal(kl_informer_add_index(self->informer, "x", note_thread,
                                           NULL, NULL, NULL),
                     KL_OK);
    informer_world_add_handler(self, NULL);
}

/* Each event comes when the one before was handled. While the informing task
 * still ends its turn the first events may be left to it; so there are several.
 */
static void a_lone_event_is_applied_by_the_thread_that_read_it(void **state)
{
    informer_world *self = *state;
    char word[32];

    open_and_note_threads(self);
    scripted_source_feed(self->source, "a@1 =10; ok");
    assert_true(event_record_await(&self->record, 2));
    assert_int_equal(atomic_load(&applied_by_informer), 1); /* the list */
    for (int i = 1; i <= ENOUGH && atomic_load(&applied_by_reflector) == 0;
         i++) {
        snprintf(word, sizeof(word), " ~a@%d", 10 + i);
        scripted_source_feed(self->source, word);
        assert_true(event_record_await(&self->record, 2 + i));
    }
    assert_true(atomic_load(&applied_by_reflector) > 0);
}

/* Waits until so many deltas are queued. */
static void await_queued(informer_world *self, size_t count)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    kl_informer_status status;

    do {
        sched_yield();
        kl_informer_status_get(self->informer, &status);
    } while (status.queued != count &&
             kl__clock_now(kl__clock_real()) < deadline);
    assert_int_equal(status.queued, count);
}

static int pull_all(kl_registration *registration, int count)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    int pulled = 0;

    while (pulled < count && kl__clock_now(kl__clock_real()) < deadline) {
        kl_event event;

        if (kl_registration_next(registration, &event)) {
            kl_registration_done(registration, &event);
            pulled++;
        } else {
            sched_yield();
        }
    }
    return pulled;
}

static void a_handler_without_room_does_not_stop_the_reading(void **state)
{
    const kl_handler_options options = {.every_change = true, .backlog = 1};
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);

    informer_world_open(self, "");
    self->registration =
        kl_informer_subscribe(self->informer, queue, NULL, &options, NULL);
    assert_non_null(self->registration);
    scripted_source_feed(self->source, "a@1 =10; ok");
    informer_world_await_synced(self);
    scripted_source_feed(self->source, " +b@11 ~b@12 -b@13");
    assert_true(scripted_source_await_played(self->source));
    await_queued(self, 3);
    assert_int_equal(pull_all(self->registration, 5), 5);
    await_queued(self, 0);
    kl_registration_remove(self->registration);
    self->registration = NULL;
    kl_event_queue_free(queue);
}

static atomic_bool is_closed_inside;
static atomic_int calls_of_index;

static kl_code close_inside(void *context, const kl_object *object,
                            const kl_value *root, kl_index_sink *sink)
{
    informer_world *self = context;

    (void)object;
    (void)root;
    (void)sink;
    if (is_thread("kl-reflector") &&
        !atomic_exchange(&is_closed_inside, true)) {
        kl_informer_close(self->informer);
    }
    atomic_fetch_add(&calls_of_index, 1);
    return KL_OK;
}

static void
the_reflector_may_close_its_informer_in_an_index_function(void **state)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    informer_world *self = *state;
    char word[32];

    atomic_store(&is_closed_inside, false);
    informer_world_open(self, "a@1 =10; ok");
    assert_int_equal(kl_informer_add_index(self->informer, "x", close_inside,
                                           self, NULL, NULL),
                     KL_OK);
    informer_world_await_synced(self);
    for (int i = 1; i <= ENOUGH && !atomic_load(&is_closed_inside); i++) {
        int indexed = atomic_load(&calls_of_index);

        snprintf(word, sizeof(word), " ~a@%d", 10 + i);
        scripted_source_feed(self->source, word);
        while (atomic_load(&calls_of_index) == indexed &&
               kl__clock_now(kl__clock_real()) < deadline) {
            sched_yield();
        }
    }
    while (kl_live_count(KL_LIVE_INFORMER) + kl_live_count(KL_LIVE_THREAD) >
               0 &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    assert_true(atomic_load(&is_closed_inside));
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
    self->informer = NULL;
}

#define WORLD_TEST(name)                                        \
    cmocka_unit_test_setup_teardown(name, informer_world_setup, \
                                    informer_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_lone_event_is_applied_by_the_thread_that_read_it),
        WORLD_TEST(a_handler_without_room_does_not_stop_the_reading),
        WORLD_TEST(the_reflector_may_close_its_informer_in_an_index_function),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
