/*
 * informer_close_spec.c - the ways to end an informer, at the worst moment too
 * (while a handler of it runs, removes itself, registers others, or is still
 * reading), and the lack of memory.
 */
#include "informer_world.h"
#include "gate.h"

#include "base/mem.h"
#include "kubelua/memory.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void *wait_for_an_hour(void *arg)
{
    static kl_code code;

    code = kl_informer_wait_synced(arg, 3600000, NULL);
    return &code;
}

static void a_close_ends_a_wait(void **state)
{
    informer_world *self = *state;
    pthread_t waiter;
    void *code;

    informer_world_open(self, "a@1");
    assert_true(scripted_source_await(self->source, 2));
    assert_int_equal(
        pthread_create(&waiter, NULL, wait_for_an_hour, self->informer), 0);
    assert_true(kl__clock_await_waiters(self->clock, 2));
    kl_informer_close(self->informer);
    self->informer = NULL;
    assert_int_equal(pthread_join(waiter, &code), 0);
    assert_int_equal(*(kl_code *)code, KL_ECLOSED);
}

static void close_in_handler(void *context, kl_object *object, bool initial)
{
    informer_world *self = context;

    (void)object;
    (void)initial;
    kl_informer_close(self->informer);
}

static void count_drop(void *context)
{
    informer_world *self = context;
    kl_handler handler = event_record_handler(&self->record);

    handler.drop_context(handler.context);
}

static bool await_drop(informer_world *self)
{
    return event_record_await_dropped(&self->record);
}

static void await_nothing_lives(void)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    while (kl_live_count(KL_LIVE_INFORMER) + kl_live_count(KL_LIVE_THREAD) +
                   kl_live_count(KL_LIVE_REGISTRATION) >
               0 &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
}

static void an_informer_may_be_closed_inside_its_handler(void **state)
{
    informer_world *self = *state;
    kl_handler handler = {
        .add = close_in_handler,
        .context = self,
        .drop_context = count_drop,
    };

    informer_world_open(self, "");
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
    scripted_source_feed(self->source, "a@1 b@2 =10");
    assert_true(await_drop(self));
    await_nothing_lives();
    self->informer = NULL;
}

static atomic_bool closed_in_index;

static kl_code close_in_index(void *context, const kl_object *object,
                              const kl_value *root, kl_index_sink *sink)
{
    informer_world *self = context;

    (void)object;
    (void)root;
    if (!atomic_exchange(&closed_in_index, true)) {
        kl_informer_close(self->informer);
    }
    return kl_index_emit(sink, "x", 1);
}

static void an_informer_may_be_closed_inside_an_index_function(void **state)
{
    informer_world *self = *state;

    atomic_store(&closed_in_index, false);
    informer_world_open(self, "");
    assert_int_equal(kl_informer_add_index(self->informer, "x", close_in_index,
                                           self, count_drop, NULL),
                     KL_OK);
    scripted_source_feed(self->source, "a@1 =10");
    assert_true(await_drop(self)); /* with the last of the cache */
    await_nothing_lives();
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 0);
    self->informer = NULL;
}

static void registrations_end_with_their_informer(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "a@1 =10; ok");
    informer_world_add_handler(self, NULL);
    assert_true(event_record_await(&self->record, 2));
    self->registration = NULL;
    kl_informer_close(self->informer);
    self->informer = NULL;
    assert_int_equal(event_record_dropped(&self->record), 1);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
}

/* What an informer says in a child of fork(); 0: all as promised. */
static int ask_in_child(kl_informer *informer)
{
    kl_object_list list = {0};
    kl_string_list values = {0};
    kl_informer_status status;
    char version[8] = "x";
    int wrong = 0;

    wrong += kl_informer_has_synced(informer);
    wrong += kl_informer_get(informer, "a") != NULL;
    wrong += kl_informer_count(informer) != 0;
    kl_informer_resource_version(informer, version, sizeof(version));
    wrong += version[0] != '\0';
    wrong += kl_informer_list(informer, NULL, NULL, &list, NULL) != KL_EFORKED;
    wrong +=
        kl_informer_by_index(informer, "x", "y", &list, NULL) != KL_EFORKED;
    wrong +=
        kl_informer_index_values(informer, "x", &values, NULL) != KL_EFORKED;
    wrong += kl_informer_add_path_index(informer, "x", "a", NULL) != KL_EFORKED;
    wrong += kl_informer_wait_synced(informer, -1, NULL) != KL_EFORKED;
    kl_informer_status_get(informer, &status);
    wrong += status.state != KL_STATE_STOPPED;
    wrong += status.error.code != KL_EFORKED;
    kl_informer_close(informer);
    return wrong;
}

/* Waits until both threads wait on the clock: what one of them has in hand at a
 * fork is lost in the child, and memcheck takes that for a leak. Only where a
 * resync is to come is the informing task's wait one on the clock. */
static void await_rest(informer_world *self, kl_event_queue *queue)
{
    const kl_handler_options options = {.resync_ms = 3600000};

    self->registration =
        kl_informer_subscribe(self->informer, queue, NULL, &options, NULL);
    assert_non_null(self->registration);
    assert_true(kl__clock_await_waiters(self->clock, 2));
}

static void a_child_of_fork_waits_for_nothing(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    int status = -1;
    pid_t child;

    informer_world_open(self, "a@1 =10; ok");
    informer_world_await_synced(self);
    await_rest(self, queue);
    child = fork();
    if (child == 0) {
        alarm(20); /* a call that waits for ever ends the child */
        status = ask_in_child(self->informer);
        close(kl_event_queue_fd(queue)); /* for memcheck: nothing is freed */
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    kl_registration_remove(self->registration);
    self->registration = NULL;
    kl_event_queue_free(queue);
}

/* Fails what the informing task allocates, and nothing else. */
static atomic_bool informer_starves;

static bool is_starving(void)
{
    char name[16] = "";

    return atomic_load(&informer_starves) &&
           pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
           strcmp(name, "kl-informer") == 0;
}

static void *starving_malloc(size_t size)
{
    return is_starving() ? NULL : malloc(size);
}

static void *starving_realloc(void *block, size_t size)
{
    return is_starving() ? NULL : realloc(block, size);
}

static void out_of_memory_delays_changes_and_loses_none(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "");
    informer_world_add_handler(self, NULL);
    atomic_store(&informer_starves, true);
    scripted_source_feed(self->source, "a@1 =10; +b@11 ~a@12 -b@13");
    assert_true(scripted_source_await_played(self->source));
    assert_true(kl__clock_await_waiters(self->clock, 2));
    assert_false(kl_informer_has_synced(self->informer));
    atomic_store(&informer_starves, false);
    kl__clock_advance(self->clock, 500);
    informer_world_expect(self, 5,
                          "+a@1 initial; synced; +b@11; ~a@1>12; -b@13");
}

static void a_close_during_starvation_is_not_held_up(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "");
    atomic_store(&informer_starves, true);
    scripted_source_feed(self->source, "a@1 =10; ok");
    assert_true(scripted_source_await(self->source, 3));
    assert_true(kl__clock_await_waiters(self->clock, 2));
    kl_informer_close(self->informer);
    self->informer = NULL;
    atomic_store(&informer_starves, false);
}

/* Waits in a thread of its own. */
typedef struct waiting {
    kl_registration *registration;
    kl_code code;
} waiting;

static void *wait_without_end(void *arg)
{
    waiting *self = arg;

    self->code = kl_registration_wait_synced(self->registration, -1, NULL);
    return NULL;
}

static void a_wait_for_a_handler_ends_when_it_has_synced(void **state)
{
    informer_world *self = *state;
    waiting waits = {0};
    pthread_t thread;
    kl_error err;

    informer_world_open(self, "");
    informer_world_add_handler(self, NULL);
    assert_int_equal(kl_registration_wait_synced(self->registration, 0, &err),
                     KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "has not synced"));
    waits.registration = self->registration;
    assert_int_equal(pthread_create(&thread, NULL, wait_without_end, &waits),
                     0);
    scripted_source_feed(self->source, "a@1 =10; ok");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waits.code, KL_OK);
    assert_true(kl_registration_has_synced(self->registration));
}

static void a_wait_for_a_handler_ends_with_its_informer(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    waiting waits = {0};
    pthread_t thread;

    informer_world_open(self, "a@1 =10; ok");
    informer_world_await_synced(self);
    waits.registration =
        kl_informer_subscribe(self->informer, queue, self, NULL, NULL);
    kl_informer_ref(self->informer);
    assert_int_equal(pthread_create(&thread, NULL, wait_without_end, &waits),
                     0);
    kl_informer_close(self->informer);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waits.code, KL_ECLOSED); /* nothing pulled its events */
    assert_int_equal(kl_registration_wait_synced(waits.registration, -1, NULL),
                     KL_ECLOSED);
    kl_informer_unref(self->informer);
    self->informer = NULL;
    kl_event_queue_free(queue);
}

/* A handler that waits for its own sync. */
static void wait_inside(void *context, kl_object *object, bool initial)
{
    informer_world *self = context;
    kl_registration *own;

    (void)object;
    (void)initial;
    do {
        own = __atomic_load_n(&self->registration, __ATOMIC_SEQ_CST);
    } while (own == NULL && sched_yield() == 0);
    assert_int_equal(kl_registration_wait_synced(own, -1, NULL), KL_EINVAL);
}

static void a_handler_does_not_wait_for_itself(void **state)
{
    informer_world *self = *state;
    const kl_handler handler = {.add = wait_inside, .context = self};
    kl_registration *registration;

    informer_world_open(self, "a@1 =10; ok");
    registration =
        kl_informer_add_handler(self->informer, &handler, NULL, NULL);
    __atomic_store_n(&self->registration, registration, __ATOMIC_SEQ_CST);
    assert_int_equal(kl_registration_wait_synced(registration, -1, NULL),
                     KL_OK);
}

#define WORLD_TEST(name)                                        \
    cmocka_unit_test_setup_teardown(name, informer_world_setup, \
                                    informer_world_teardown)

/* A handler that is inside of its callback while the informer is closed: it
 * goes on once the close has told another handler, the bystander, to end. */
typedef struct scene {
    informer_world *world;
    kl_registration *registration; /* the handler's own */
    gate entered;
    gate told; /* the bystander's context was dropped */
    gate left;
    kl_code code; /* what the callback got */
    size_t count;
} scene;

static void scene_begin(scene *self, informer_world *world)
{
    *self = (scene){.world = world};
    gate_init(&self->entered);
    gate_init(&self->told);
    gate_init(&self->left);
}

static void scene_end(scene *self)
{
    gate_deinit(&self->left);
    gate_deinit(&self->told);
    gate_deinit(&self->entered);
}

static void pass_told(void *context)
{
    gate_pass(&((scene *)context)->told);
}

static void pass_left(void *context)
{
    gate_pass(&((scene *)context)->left);
}

static kl_registration *add(scene *self, kl_handler handler)
{
    handler.context = self;
    return kl_informer_add_handler(self->world->informer, &handler, NULL, NULL);
}

/* Closes the informer while `handler` is in its callback; both have to come to
 * an end, and to leave nothing behind. */
static void close_around(scene *self, kl_handler handler)
{
    informer_world_open(self->world, "a@1 =10; ok");
    informer_world_await_synced(self->world);
    handler.drop_context = pass_left;
    self->registration = add(self, handler);
    assert_non_null(self->registration);
    assert_non_null(add(self, (kl_handler){.drop_context = pass_told}));
    gate_pass(&self->entered);
    assert_true(gate_await(&self->entered, 2));
    kl_informer_close(self->world->informer);
    self->world->informer = NULL;
    assert_int_equal(self->left.count, 1);
}

/* Until both threads know where they are, and the close waits. */
static void await_close(scene *self)
{
    gate_await(&self->entered, 1);
    gate_pass(&self->entered);
    gate_await(&self->told, 1);
}

static void remove_itself(void *context, kl_object *object, bool initial)
{
    scene *self = context;

    (void)object;
    (void)initial;
    await_close(self);
    kl_registration_remove(self->registration);
}

static void a_handler_may_remove_itself_while_a_close_waits(void **state)
{
    scene self;

    scene_begin(&self, *state);
    close_around(&self, (kl_handler){.add = remove_itself});
    scene_end(&self);
}

static void register_another(void *context, kl_object *object, bool initial)
{
    scene *self = context;
    kl_error err = {0};

    (void)object;
    (void)initial;
    await_close(self);
    kl_informer_add_handler(self->world->informer, &(kl_handler){0}, NULL,
                            &err);
    self->code = err.code;
}

static void no_handler_is_added_to_a_closing_informer(void **state)
{
    scene self;

    scene_begin(&self, *state);
    close_around(&self, (kl_handler){.add = register_another});
    assert_int_equal(self.code, KL_ECLOSED);
    scene_end(&self);
}

static void close_the_informer(void *context, kl_object *object, bool initial)
{
    scene *self = context;

    (void)object;
    (void)initial;
    gate_await(&self->entered, 1);
    kl_informer_close(self->world->informer);
    gate_pass(&self->told);
}

static void read_the_informer(void *context, kl_object *object, bool initial)
{
    scene *self = context;

    (void)object;
    (void)initial;
    gate_pass(&self->entered);
    gate_await(&self->told, 1);
    self->count = kl_informer_count(self->world->informer);
}

static void a_handler_may_read_what_another_one_closes(void **state)
{
    informer_world *world = *state;
    scene self;

    scene_begin(&self, world);
    informer_world_open(world, "");
    assert_non_null(add(&self, (kl_handler){.add = close_the_informer,
                                            .drop_context = pass_left}));
    assert_non_null(add(&self, (kl_handler){.add = read_the_informer,
                                            .drop_context = pass_left}));
    scripted_source_feed(world->source, "a@1 =10; ok");
    assert_true(gate_await(&self.left, 2));
    assert_int_equal(self.count, 1);
    await_nothing_lives();
    world->informer = NULL;
    scene_end(&self);
}

static void remove_itself_twice(void *context, kl_object *object, bool initial)
{
    scene *self = context;

    (void)object;
    (void)initial;
    gate_await(&self->entered, 1);
    kl_registration_remove(self->registration);
    kl_registration_remove(self->registration);
}

static void a_second_removal_inside_the_handler_is_harmless(void **state)
{
    informer_world *world = *state;
    scene self;

    scene_begin(&self, world);
    informer_world_open(world, "a@1 =10; ok");
    self.registration = add(&self, (kl_handler){.add = remove_itself_twice,
                                                .drop_context = pass_left});
    assert_non_null(self.registration);
    gate_pass(&self.entered);
    kl_informer_close(world->informer); /* waits for it all the same */
    world->informer = NULL;
    assert_int_equal(self.left.count, 1);
    await_nothing_lives(); /* its thread is detached */
    scene_end(&self);
}

static void a_resync_in_the_far_future_never_comes(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "a@1 =10; ok");
    informer_world_add_handler(self,
                               &(kl_handler_options){.resync_ms = INT64_MAX});
    assert_true(event_record_await(&self->record, 2));
    scripted_source_feed(self->source, " +b@11");
    informer_world_expect(self, 3, "+a@1 initial; synced; +b@11");
}

static bool is_woken(kl_event_queue *queue)
{
    return kl_event_queue_wait(queue, 60000) == KL_OK &&
           kl_event_queue_next(queue) == NULL;
}

static void a_queue_is_woken_when_the_first_list_is_there(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);

    informer_world_open(self, "");
    for (int i = 0; i < 2; i++) { /* the second time adds nothing */
        assert_int_equal(kl_informer_wake_synced(self->informer, queue, NULL),
                         KL_OK);
    }
    assert_int_equal(kl_event_queue_wait(queue, 0), KL_ETIMEOUT);
    scripted_source_feed(self->source, "a@1 =10; ok");
    assert_true(is_woken(queue));
    assert_true(kl_informer_has_synced(self->informer));
    assert_int_equal(kl_informer_wake_synced(self->informer, queue, NULL),
                     KL_OK);
    assert_true(is_woken(queue)); /* at once, now */
    kl_event_queue_free(queue);
}

static void a_queue_is_woken_by_the_next_change_of_the_cache(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_informer_status status;
    char version[8];

    informer_world_open(self, "a@1 =10; ok");
    assert_int_equal(kl_informer_wait_synced(self->informer, 60000, NULL),
                     KL_OK);
    kl_informer_status_get(self->informer, &status);
    assert_int_equal(status.lists_held, 1);
    for (int i = 0; i < 2; i++) { /* the second time adds nothing */
        assert_int_equal(kl_informer_wake_changed(self->informer, queue, NULL),
                         KL_OK);
    }
    assert_int_equal(kl_event_queue_wait(queue, 0), KL_ETIMEOUT);
    scripted_source_feed(self->source, " ^12");
    assert_true(is_woken(queue));
    kl_informer_resource_version(self->informer, version, sizeof(version));
    assert_string_equal(version, "12");
    scripted_source_feed(self->source, " +b@13"); /* nothing waits for it */
    assert_int_equal(kl_event_queue_wait(queue, 50), KL_ETIMEOUT);
    kl_event_queue_free(queue);
}

static void a_closed_handle_wakes_and_holds_no_queue(void **state)
{
    informer_world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);

    informer_world_open(self, "");
    assert_int_equal(kl_informer_wake_synced(self->informer, queue, NULL),
                     KL_OK);
    assert_int_equal(kl_informer_wake_changed(self->informer, queue, NULL),
                     KL_OK);
    kl_informer_close(self->informer);
    self->informer = NULL;
    assert_int_equal(kl_event_queue_wait(queue, 0), KL_ETIMEOUT);
    kl_event_queue_free(queue);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
}

int main(void)
{
    static const kl_allocator allocator = {
        .malloc = starving_malloc,
        .realloc = starving_realloc,
        .free = free,
    };
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_close_ends_a_wait),
        WORLD_TEST(a_wait_for_a_handler_ends_when_it_has_synced),
        WORLD_TEST(a_wait_for_a_handler_ends_with_its_informer),
        WORLD_TEST(a_handler_does_not_wait_for_itself),
        WORLD_TEST(an_informer_may_be_closed_inside_its_handler),
        WORLD_TEST(an_informer_may_be_closed_inside_an_index_function),
        WORLD_TEST(registrations_end_with_their_informer),
        WORLD_TEST(a_child_of_fork_waits_for_nothing),
        WORLD_TEST(out_of_memory_delays_changes_and_loses_none),
        WORLD_TEST(a_close_during_starvation_is_not_held_up),
        WORLD_TEST(a_handler_may_remove_itself_while_a_close_waits),
        WORLD_TEST(no_handler_is_added_to_a_closing_informer),
        WORLD_TEST(a_handler_may_read_what_another_one_closes),
        WORLD_TEST(a_second_removal_inside_the_handler_is_harmless),
        WORLD_TEST(a_resync_in_the_far_future_never_comes),
        WORLD_TEST(a_queue_is_woken_when_the_first_list_is_there),
        WORLD_TEST(a_queue_is_woken_by_the_next_change_of_the_cache),
        WORLD_TEST(a_closed_handle_wakes_and_holds_no_queue),
    };

    kl_set_allocator(&allocator);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
