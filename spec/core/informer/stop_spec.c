/*
 * stop_spec.c - an informer that ends at the worst moment: while a handler of
 * it runs, removes itself, registers others, or is still reading.
 */
#include "gate.h"
#include "informer_world.h"

#include "base/mem.h"
#include "kubelua/memory.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

#define WORLD_TEST(name)                                        \
    cmocka_unit_test_setup_teardown(name, informer_world_setup, \
                                    informer_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_handler_may_remove_itself_while_a_close_waits),
        WORLD_TEST(no_handler_is_added_to_a_closing_informer),
        WORLD_TEST(a_handler_may_read_what_another_one_closes),
        WORLD_TEST(a_second_removal_inside_the_handler_is_harmless),
        WORLD_TEST(a_resync_in_the_far_future_never_comes),
        WORLD_TEST(a_queue_is_woken_when_the_first_list_is_there),
        WORLD_TEST(a_queue_is_woken_by_the_next_change_of_the_cache),
        WORLD_TEST(a_closed_handle_wakes_and_holds_no_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
