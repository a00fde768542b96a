/*
 * handle_spec.c - a handle that is closed while calls on it are under way: by a
 * callback that the call itself has caused, by another thread, or by both.
 */
#include "gate.h"
#include "informer_world.h"

#include "base/buf.h"
#include "base/mem.h"
#include "kubelua/memory.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 60, MANY = 2000 };

static void await_nothing_lives(void)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    while (kl_live_count(KL_LIVE_INFORMER) + kl_live_count(KL_LIVE_THREAD) +
                   kl_live_count(KL_LIVE_REGISTRATION) >
               0 &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
}

/* An informer whose cache holds the list. */
static void open_synced(informer_world *self)
{
    informer_world_open(self, "a@1 b@2 =10; ok");
    informer_world_await_synced(self);
}

static void end_round(informer_world *self)
{
    await_nothing_lives();
    self->informer = NULL;
    scripted_source_free(self->source);
    self->source = NULL;
}

/* An informer whose cache holds so many objects that the thread of a handler,
 * which sleeps while they are sorted for it, runs as soon as it is woken. */
static void open_large(informer_world *self)
{
    kl__buf script = {0};

    for (int i = 0; i < MANY; i++) {
        kl__buf_printf(&script, "p%d@%d ", i, i + 1);
    }
    kl__buf_puts(&script, "=9999; ok");
    informer_world_open(self, script.bytes);
    kl__buf_deinit(&script);
    informer_world_await_synced(self);
}

/* All threads on one core: a thread that is woken runs at once, and the one
 * that woke it goes on later. */
static void pin_to_one_core(void)
{
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &all) && CPU_COUNT(&one) == 0) {
            CPU_SET((size_t)cpu, &one);
        }
    }
    (void)sched_setaffinity(0, sizeof(one), &one);
}

static void close_on_add(void *context, kl_object *object, bool initial)
{
    informer_world *self = context;

    (void)object;
    (void)initial;
    kl_informer_close(self->informer);
}

static void
a_handler_may_close_the_only_handle_before_it_was_added(void **state)
{
    informer_world *self = *state;
    const kl_handler handler = {.add = close_on_add, .context = self};
    cpu_set_t all;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    pin_to_one_core();
    for (int i = 0; i < ROUNDS; i++) {
        open_large(self);
        assert_non_null(
            kl_informer_add_handler(self->informer, &handler, NULL, NULL));
        end_round(self);
    }
    (void)sched_setaffinity(0, sizeof(all), &all);
}

/* A thread that pulls events, and closes the handle at the first one. */
typedef struct puller {
    informer_world *world;
    kl_event_queue *queue;
} puller;

static void *close_on_tag(void *arg)
{
    puller *self = arg;

    while (kl_event_queue_next(self->queue) == NULL) {
        kl_event_queue_wait(self->queue, 60000);
    }
    kl_informer_close(self->world->informer);
    return NULL;
}

static void
a_loop_may_close_the_only_handle_before_it_has_subscribed(void **state)
{
    informer_world *self = *state;
    puller loop = {.world = self};
    pthread_t thread;
    kl_error err;

    for (int i = 0; i < ROUNDS; i++) {
        loop.queue = kl_event_queue_new(NULL);
        open_large(self);
        assert_int_equal(pthread_create(&thread, NULL, close_on_tag, &loop), 0);
        /* NULL: the thread closed the handle before it had joined. */
        assert_true(kl_informer_subscribe(self->informer, loop.queue, &loop,
                                          NULL, &err) != NULL ||
                    err.code == KL_ECLOSED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        end_round(self);
        kl_event_queue_free(loop.queue);
    }
}

/* An index function that closes a handle, once. */
typedef struct closing_index {
    informer_world *closes;
    gate *both; /* NULL, or where two functions meet before they close */
    atomic_int calls;
    atomic_int drops;
} closing_index;

static kl_code close_in_index(void *context, const kl_object *object,
                              const kl_value *root, kl_index_sink *sink)
{
    closing_index *self = context;

    (void)object;
    (void)root;
    if (atomic_fetch_add(&self->calls, 1) == 0) {
        if (self->both != NULL) {
            gate_pass(self->both);
            gate_await(self->both, 2);
        }
        kl_informer_close(self->closes->informer);
    }
    return kl_index_emit(sink, "x", 1);
}

static void count_index_drop(void *context)
{
    atomic_fetch_add(&((closing_index *)context)->drops, 1);
}

static void
an_index_function_may_close_the_only_handle_while_it_is_added(void **state)
{
    informer_world *self = *state;
    closing_index index = {.closes = self};

    open_synced(self);
    assert_int_equal(kl_informer_add_index(self->informer, "x", close_in_index,
                                           &index, count_index_drop, NULL),
                     KL_OK);
    end_round(self);
    assert_int_equal(atomic_load(&index.calls), 2); /* for both objects */
    assert_int_equal(atomic_load(&index.drops), 1);
}

/* Each closes the other's informer on its own informer's thread. */
static void two_index_functions_may_close_each_others_informer(void **state)
{
    informer_world *one = *state;
    void *second;
    informer_world *other;
    gate both;
    closing_index closes_other = {.both = &both}, closes_one = {.both = &both};

    gate_init(&both);
    assert_int_equal(informer_world_setup(&second), 0);
    other = second;
    closes_other.closes = other;
    closes_one.closes = one;
    informer_world_open(one, "");
    informer_world_open(other, "");
    assert_int_equal(kl_informer_add_index(one->informer, "x", close_in_index,
                                           &closes_other, count_index_drop,
                                           NULL),
                     KL_OK);
    assert_int_equal(kl_informer_add_index(other->informer, "x", close_in_index,
                                           &closes_one, count_index_drop, NULL),
                     KL_OK);
    scripted_source_feed(one->source, "a@1 =10; ok");
    scripted_source_feed(other->source, "a@1 =10; ok");
    await_nothing_lives();
    assert_int_equal(atomic_load(&closes_other.drops), 1);
    assert_int_equal(atomic_load(&closes_one.drops), 1);
    one->informer = NULL;
    other->informer = NULL;
    (void)informer_world_teardown(&second);
    gate_deinit(&both);
}

/* An index function that is running while another thread closes the handle. */
typedef struct slow_index {
    informer_world *world;
    gate entered;
    gate may_leave;
    atomic_bool has_left;
    kl_code code; /* of the call that adds it */
} slow_index;

static kl_code wait_in_index(void *context, const kl_object *object,
                             const kl_value *root, kl_index_sink *sink)
{
    slow_index *self = context;

    (void)object;
    (void)root;
    gate_pass(&self->entered);
    gate_await(&self->may_leave, 1);
    atomic_store(&self->has_left, true);
    return kl_index_emit(sink, "x", 1);
}

static void *add_slow_index(void *arg)
{
    slow_index *self = arg;

    self->code = kl_informer_add_index(self->world->informer, "x",
                                       wait_in_index, self, NULL, NULL);
    return NULL;
}

static void *let_index_leave(void *arg)
{
    slow_index *self = arg;

    while (kl_informer_check(self->world->informer, NULL) == KL_OK) {
        sched_yield();
    }
    gate_pass(&self->may_leave);
    return NULL;
}

static void a_close_waits_for_a_call_that_is_under_way(void **state)
{
    informer_world *self = *state;
    slow_index index = {.world = self};
    pthread_t adds, releases;

    gate_init(&index.entered);
    gate_init(&index.may_leave);
    open_synced(self);
    kl_informer_ref(self->informer); /* for the thread that looks */
    assert_int_equal(pthread_create(&adds, NULL, add_slow_index, &index), 0);
    assert_true(gate_await(&index.entered, 1));
    assert_int_equal(pthread_create(&releases, NULL, let_index_leave, &index),
                     0);
    kl_informer_close(self->informer);
    assert_true(atomic_load(&index.has_left));
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    assert_int_equal(pthread_join(adds, NULL), 0);
    assert_int_equal(pthread_join(releases, NULL), 0);
    assert_int_equal(index.code,
                     KL_OK); /* the informer has taken the context */
    kl_informer_unref(self->informer);
    self->informer = NULL;
    gate_deinit(&index.may_leave);
    gate_deinit(&index.entered);
}

/* A thread with a reference, which reads until it is told that the handle was
 * closed. */
static void *read_until_closed(void *arg)
{
    kl_informer *informer = arg;
    kl_code code = KL_OK;

    while (code == KL_OK) {
        kl_object_list list;

        kl_object_unref(kl_informer_get(informer, "a"));
        (void)kl_informer_count(informer);
        code = kl_informer_list(informer, NULL, NULL, &list, NULL);
        if (code == KL_OK && list.count != 2) {
            code = KL_EINVAL; /* neither the list nor the code */
        }
        kl_object_list_clear(&list);
    }
    kl_informer_unref(informer);
    return code == KL_ECLOSED ? NULL : arg;
}

static void nothing_is_freed_under_a_reader(void **state)
{
    enum { READERS = 3, TIMES = 20 };
    informer_world *self = *state;
    pthread_t readers[READERS];
    void *failed;

    for (int i = 0; i < TIMES; i++) {
        open_synced(self);
        for (int k = 0; k < READERS; k++) {
            assert_int_equal(pthread_create(&readers[k], NULL,
                                            read_until_closed,
                                            kl_informer_ref(self->informer)),
                             0);
        }
        kl_informer_close(self->informer);
        assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
        for (int k = 0; k < READERS; k++) {
            assert_int_equal(pthread_join(readers[k], &failed), 0);
            assert_null(failed);
        }
        end_round(self);
    }
}

/* A thread with a reference that never stops asking the cache. */
typedef struct endless_reader {
    kl_informer *informer;
    atomic_bool *stop;
} endless_reader;

static void *read_without_end(void *arg)
{
    const endless_reader *self = arg;

    while (!atomic_load(self->stop)) {
        (void)kl_informer_count(self->informer);
    }
    kl_informer_unref(self->informer);
    return NULL;
}

/* More readers than cores: some read at every moment. */
static void a_close_ends_beside_threads_that_never_stop_reading(void **state)
{
    enum { READERS = 8, TIMES = 40, LIMIT_MS = 3000 };
    informer_world *self = *state;
    pthread_t readers[READERS];
    atomic_bool stop;

    for (int i = 0; i < TIMES; i++) {
        endless_reader reader = {.stop = &stop};
        int64_t began_ms;

        open_synced(self);
        atomic_init(&stop, false);
        reader.informer = self->informer;
        for (int k = 0; k < READERS; k++) {
            kl_informer_ref(self->informer);
            assert_int_equal(
                pthread_create(&readers[k], NULL, read_without_end, &reader),
                0);
        }
        began_ms = kl__clock_now(kl__clock_real());
        kl_informer_close(self->informer);
        assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
        assert_true(kl__clock_now(kl__clock_real()) - began_ms < LIMIT_MS);
        atomic_store(&stop, true);
        for (int k = 0; k < READERS; k++) {
            assert_int_equal(pthread_join(readers[k], NULL), 0);
        }
        end_round(self);
    }
}

/* Asks a closed handle for everything; 0: all as promised. */
static int ask_closed(kl_informer *informer, kl_event_queue *queue)
{
    kl_object_list list;
    kl_string_list values;
    kl_unreadable_list unreadable;
    kl_informer_status status;
    char version[8] = "x";
    kl_error err = {0};
    int wrong = 0;

    wrong += kl_informer_check(informer, &err) != KL_ECLOSED;
    wrong += err.message[0] == '\0';
    wrong += kl_informer_has_synced(informer);
    wrong += kl_informer_get(informer, "a") != NULL;
    wrong += kl_informer_count(informer) != 0;
    kl_informer_resource_version(informer, version, sizeof(version));
    wrong += version[0] != '\0';
    kl_informer_told_version(informer, version, sizeof(version));
    wrong += version[0] != '\0';
    wrong += kl_informer_list(informer, NULL, NULL, &list, NULL) != KL_ECLOSED;
    wrong += list.items != NULL;
    wrong +=
        kl_informer_by_index(informer, "x", "y", &list, NULL) != KL_ECLOSED;
    wrong +=
        kl_informer_index_values(informer, "x", &values, NULL) != KL_ECLOSED;
    wrong += kl_informer_unreadable(informer, &unreadable, NULL) != KL_ECLOSED;
    wrong += kl_informer_add_path_index(informer, "x", "a", NULL) != KL_ECLOSED;
    wrong += kl_informer_add_index(informer, "x", wait_in_index, NULL, NULL,
                                   NULL) != KL_ECLOSED;
    wrong += kl_informer_wait_synced(informer, -1, NULL) != KL_ECLOSED;
    wrong += kl_informer_wake_synced(informer, queue, NULL) != KL_ECLOSED;
    wrong += kl_informer_wake_changed(informer, queue, NULL) != KL_ECLOSED;
    wrong +=
        kl_informer_add_handler(informer, &(kl_handler){0}, NULL, &err) != NULL;
    wrong += err.code != KL_ECLOSED;
    wrong += kl_informer_subscribe(informer, queue, &err, NULL, NULL) != NULL;
    kl_informer_status_get(informer, &status);
    wrong += status.state != KL_STATE_STOPPED;
    wrong += status.error.code != KL_ECLOSED;
    return wrong;
}

static void every_call_on_a_closed_handle_says_so(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);

    open_synced(self);
    kl_informer_ref(self->informer);
    kl_informer_close(self->informer);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    assert_int_equal(ask_closed(self->informer, queue), 0);
    kl_informer_ref(self->informer);
    kl_informer_close(self->informer); /* the second close drops only that */
    assert_int_equal(ask_closed(self->informer, queue), 0);
    kl_informer_unref(self->informer);
    self->informer = NULL;
    kl_event_queue_free(queue);
}

static void a_registration_outlives_the_close_with_a_reference(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_registration *pulled;
    kl_event event;

    open_synced(self);
    informer_world_add_handler(self, NULL);
    pulled = kl_informer_subscribe(self->informer, queue, self, NULL, NULL);
    assert_non_null(pulled);
    assert_true(event_record_await(&self->record, 3));
    kl_informer_ref(self->informer);
    kl_informer_close(self->informer);
    assert_int_equal(event_record_dropped(&self->record), 1);
    assert_false(kl_registration_next(pulled, &event));
    assert_int_equal(kl_registration_backlog(pulled), 0);
    assert_false(kl_registration_has_synced(pulled));
    assert_true(kl_registration_has_synced(self->registration));
    kl_event_queue_again(queue, pulled);
    kl_registration_remove(pulled); /* the close has removed it */
    kl_registration_remove(self->registration);
    self->registration = NULL;
    kl_informer_unref(self->informer);
    self->informer = NULL;
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    kl_event_queue_free(queue);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
}

static void the_last_unref_closes_an_open_handle(void **state)
{
    informer_world *self = *state;

    open_synced(self);
    informer_world_add_handler(self, NULL);
    kl_informer_ref(self->informer);
    kl_informer_unref(self->informer);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 1);
    self->registration = NULL;
    kl_informer_unref(self->informer);
    self->informer = NULL;
    assert_int_equal(event_record_dropped(&self->record), 1);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    kl_informer_unref(NULL);
}

static void *close_with_reference(void *arg)
{
    kl_informer_close(arg);
    return NULL;
}

static void two_threads_may_close_one_handle(void **state)
{
    enum { TIMES = 50 };
    informer_world *self = *state;
    pthread_t thread;

    for (int i = 0; i < TIMES; i++) {
        open_synced(self);
        assert_int_equal(pthread_create(&thread, NULL, close_with_reference,
                                        kl_informer_ref(self->informer)),
                         0);
        kl_informer_close(self->informer);
        assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        end_round(self);
    }
}

/* Reads the cache in a handler that is running while the handle is closed. */
typedef struct late_reader {
    informer_world *world;
    gate entered;
    kl_code listed;
    bool found;
} late_reader;

static void read_after_the_close(void *context, kl_object *object, bool initial)
{
    late_reader *self = context;
    kl_informer *informer = self->world->informer;
    kl_object_list list;

    (void)object;
    (void)initial;
    gate_pass(&self->entered);
    while (kl_informer_check(informer, NULL) == KL_OK) {
        sched_yield();
    }
    self->listed = kl_informer_list(informer, NULL, NULL, &list, NULL);
    object = kl_informer_get(informer, "a");
    self->found = object != NULL;
    kl_object_unref(object);
}

/* A handler must not take a closed handle for an object that is missing. */
static void a_running_handler_finds_objects_until_it_returns(void **state)
{
    informer_world *self = *state;
    late_reader reader = {.world = self};
    const kl_handler handler = {.add = read_after_the_close,
                                .context = &reader};

    gate_init(&reader.entered);
    informer_world_open(self, "a@1 =10; ok");
    informer_world_await_synced(self);
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
    assert_true(gate_await(&reader.entered, 1));
    kl_informer_close(self->informer);
    self->informer = NULL;
    assert_int_equal(reader.listed, KL_ECLOSED);
    assert_true(reader.found);
    gate_deinit(&reader.entered);
}

#define WORLD_TEST(name)                                        \
    cmocka_unit_test_setup_teardown(name, informer_world_setup, \
                                    informer_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_handler_may_close_the_only_handle_before_it_was_added),
        WORLD_TEST(a_loop_may_close_the_only_handle_before_it_has_subscribed),
        WORLD_TEST(
            an_index_function_may_close_the_only_handle_while_it_is_added),
        WORLD_TEST(two_index_functions_may_close_each_others_informer),
        WORLD_TEST(a_close_waits_for_a_call_that_is_under_way),
        WORLD_TEST(nothing_is_freed_under_a_reader),
        WORLD_TEST(a_close_ends_beside_threads_that_never_stop_reading),
        WORLD_TEST(every_call_on_a_closed_handle_says_so),
        WORLD_TEST(a_registration_outlives_the_close_with_a_reference),
        WORLD_TEST(the_last_unref_closes_an_open_handle),
        WORLD_TEST(two_threads_may_close_one_handle),
        WORLD_TEST(a_running_handler_finds_objects_until_it_returns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
