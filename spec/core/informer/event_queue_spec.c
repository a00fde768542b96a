/*
 * event_queue_spec.c - a descriptor tells when there is something, and a queue
 * what; each registration gets its turn.
 */
#include "kubelua/handler.h"

#include "kubelua/memory.h"
#include "pods.h"
#include "processor_rig.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool is_readable(kl_event_queue *queue)
{
    struct pollfd fd = {.fd = kl_event_queue_fd(queue), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

static void the_descriptor_is_readable_while_something_waits(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *one = rig_subscribe(&rig, &rig, NULL);
    kl_registration *two = rig_subscribe(&rig, &rig.clock, NULL);

    (void)state;
    assert_false(is_readable(rig.queue));
    assert_null(kl_event_queue_next(rig.queue));
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_true(is_readable(rig.queue));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    assert_true(is_readable(rig.queue));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig.clock);
    assert_false(is_readable(rig.queue));
    assert_null(kl_event_queue_next(rig.queue));
    assert_string_equal(rig_pull(one), "synced");
    assert_string_equal(rig_pull(two), "synced");
    rig_apply(&rig, KL__DELTA_ADDED, pod("a", "1", 6));
    assert_true(is_readable(rig.queue));
    rig_end(&rig);
}

static void a_registration_is_returned_once_until_it_was_empty(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 6));
    assert_null(kl_event_queue_next(rig.queue));
    assert_string_equal(rig_pull(handler), "i+a@1 synced ~a@1>6");
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 7));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    rig_end(&rig);
}

static void a_registration_put_back_comes_after_the_others(void **state)
{
    processor_rig rig = rig_begin();
    int tags[2];
    kl_registration *first = rig_subscribe(&rig, &tags[0], NULL);
    kl_event event;

    (void)state;
    rig_subscribe(&rig, &tags[1], NULL);
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_ptr_equal(kl_event_queue_next(rig.queue), &tags[0]);
    assert_true(kl_registration_next(first, &event));
    kl_registration_done(first, &event);
    kl_event_queue_again(rig.queue, first);
    kl_event_queue_again(rig.queue, first);
    assert_ptr_equal(kl_event_queue_next(rig.queue), &tags[1]);
    assert_true(is_readable(rig.queue));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &tags[0]);
    assert_null(kl_event_queue_next(rig.queue));
    rig_end(&rig);
}

static void a_removed_registration_is_not_returned(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_replace(&rig, (kl_object_list){0}, "5");
    kl_registration_remove(handler);
    assert_null(kl_event_queue_next(rig.queue));
    assert_false(is_readable(rig.queue));
    rig_end(&rig);
}

static void a_removed_registration_put_back_is_not_returned(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl_event event;

    (void)state;
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_true(kl_registration_next(handler, &event));
    kl_registration_remove(handler);
    kl_event_queue_again(rig.queue, handler); /* the event keeps it alive */
    kl_registration_done(handler, &event);
    assert_null(kl_event_queue_next(rig.queue));
    rig_end(&rig);
}

static void a_queue_stays_until_its_last_registration_is_removed(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    kl_event_queue_free(rig.queue);
    rig.queue = NULL;
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 1);
    kl_registration_remove(handler);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
    rig_end(&rig);
}

static void a_wait_ends_at_its_deadline_or_with_an_event(void **state)
{
    processor_rig rig = rig_begin();

    (void)state;
    rig_subscribe(&rig, &rig, NULL);
    assert_int_equal(kl_event_queue_wait(rig.queue, 1), KL_ETIMEOUT);
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_int_equal(kl_event_queue_wait(rig.queue, -1), KL_OK);
    rig_end(&rig);
}

static void a_wake_up_is_kept_for_the_next_wait(void **state)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);

    (void)state;
    kl_event_queue_wake(queue);
    kl_event_queue_wake(queue);
    assert_int_equal(kl_event_queue_wait(queue, -1), KL_OK);
    assert_null(kl_event_queue_next(queue));
    assert_int_equal(kl_event_queue_wait(queue, 0), KL_ETIMEOUT);
    kl_event_queue_free(queue);
    kl_event_queue_free(NULL);
}

static void
what_comes_while_a_loop_attends_is_shown_when_it_leaves(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    kl_event_queue_attend(rig.queue);
    kl_event_queue_attend(rig.queue);
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_false(is_readable(rig.queue));
    kl_event_queue_leave(rig.queue);
    assert_true(is_readable(rig.queue));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    assert_string_equal(rig_pull(handler), "synced");
    assert_false(is_readable(rig.queue));
    kl_event_queue_attend(rig.queue);
    rig_apply(&rig, KL__DELTA_ADDED, pod("a", "1", 6));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    kl_event_queue_leave(rig.queue); /* nothing is left */
    assert_false(is_readable(rig.queue));
    kl_event_queue_leave(rig.queue);
    assert_string_equal(rig_pull(handler), "+a@6");
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 7));
    assert_true(is_readable(rig.queue));
    rig_end(&rig);
}

static void a_wake_up_while_a_loop_attends_ends_the_next_wait(void **state)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);

    (void)state;
    kl_event_queue_attend(queue);
    kl_event_queue_wake(queue);
    assert_false(is_readable(queue));
    kl_event_queue_leave(queue);
    assert_int_equal(kl_event_queue_wait(queue, -1), KL_OK);
    kl_event_queue_attend(queue);
    kl_event_queue_wake(queue);
    assert_null(kl_event_queue_next(queue)); /* that clears it */
    kl_event_queue_leave(queue);
    assert_int_equal(kl_event_queue_wait(queue, 0), KL_ETIMEOUT);
    kl_event_queue_free(queue);
}

typedef struct waker {
    kl_event_queue *queue;
    atomic_int woken;
    atomic_int seen;
} waker;

enum { WAKE_UPS = 20000 };

/* Each wake-up comes when the one before was seen: in any part of the loop. */
static void *wake_often(void *arg)
{
    waker *self = arg;

    for (int i = 1; i <= WAKE_UPS; i++) {
        atomic_store(&self->woken, i);
        kl_event_queue_wake(self->queue);
        while (atomic_load(&self->seen) < i) {
            sched_yield();
        }
    }
    return NULL;
}

static void no_wake_up_is_lost_between_attending_and_waiting(void **state)
{
    waker self = {.queue = kl_event_queue_new(NULL)};
    kl__thread thread;

    (void)state;
    kl__thread_start(&thread, "waker", wake_often, &self, NULL);
    while (atomic_load(&self.seen) < WAKE_UPS) {
        kl_event_queue_attend(self.queue);
        assert_null(kl_event_queue_next(self.queue));
        atomic_store(&self.seen, atomic_load(&self.woken));
        kl_event_queue_leave(self.queue);
        if (atomic_load(&self.seen) < WAKE_UPS) {
            assert_int_equal(kl_event_queue_wait(self.queue, 10000), KL_OK);
        }
    }
    kl__thread_join(&thread);
    kl_event_queue_free(self.queue);
}

static kl_event_queue *signalled;

static void wake_on_signal(int number)
{
    (void)number;
    kl_event_queue_wake(signalled);
}

static void *send_signal(void *arg)
{
    pthread_kill(*(pthread_t *)arg, SIGUSR1);
    return NULL;
}

/* The signal may come before the wait or during it: its handler wakes the
 * queue in both cases. */
static void a_signal_handler_may_wake_a_waiter(void **state)
{
    struct sigaction action = {.sa_handler = wake_on_signal}, before;
    pthread_t self = pthread_self();
    kl__thread thread;
    kl_code code;

    (void)state;
    signalled = kl_event_queue_new(NULL);
    sigaction(SIGUSR1, &action, &before);
    kl__thread_start(&thread, "signaller", send_signal, &self, NULL);
    code = kl_event_queue_wait(signalled, -1);
    assert_true(code == KL_OK || code == KL_ECANCELED);
    kl__thread_join(&thread);
    assert_int_equal(kl_event_queue_wait(signalled, 0), KL_OK);
    sigaction(SIGUSR1, &before, NULL);
    kl_event_queue_free(signalled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_descriptor_is_readable_while_something_waits),
        cmocka_unit_test(a_registration_is_returned_once_until_it_was_empty),
        cmocka_unit_test(a_registration_put_back_comes_after_the_others),
        cmocka_unit_test(a_removed_registration_is_not_returned),
        cmocka_unit_test(a_removed_registration_put_back_is_not_returned),
        cmocka_unit_test(a_queue_stays_until_its_last_registration_is_removed),
        cmocka_unit_test(a_wait_ends_at_its_deadline_or_with_an_event),
        cmocka_unit_test(a_wake_up_is_kept_for_the_next_wait),
        cmocka_unit_test(
            what_comes_while_a_loop_attends_is_shown_when_it_leaves),
        cmocka_unit_test(a_wake_up_while_a_loop_attends_ends_the_next_wait),
        cmocka_unit_test(no_wake_up_is_lost_between_attending_and_waiting),
        cmocka_unit_test(a_signal_handler_may_wake_a_waiter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
