/*
 * crew_spec.c - tasks and the threads that run them (informer/task.h).
 */
#include "informer/task.h"

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
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CROWD = 1000 };

/* A task that counts its turns, and ends when it is told. */
typedef struct counter {
    kl__task task;
    gate turns; /* passed in each turn */
    gate leave; /* a turn that holds goes on */
    gate is_over;
    bool holds;
    atomic_int running; /* turns at one time */
    atomic_bool is_odd; /* two at one time, or one that was held for ever */
    atomic_bool ends;
    _Atomic int64_t rest;     /* what a turn returns */
    _Atomic int64_t until;    /* what the first turn returns; 0: `rest` */
    _Atomic int64_t began_ms; /* the last turn */
    pthread_t thread;         /* that ran the last turn */
    int moves;                /* turns on another thread than the last one */
} counter;

static int64_t run_counter(void *arg, kl__clock **on)
{
    counter *self = arg;
    int64_t until;

    assert_ptr_equal(*on, self->task.clock);

    atomic_store(&self->began_ms, kl__clock_now(kl__clock_real()));
    if (atomic_fetch_add(&self->running, 1) != 0) {
        atomic_store(&self->is_odd, true);
    }
    if (!pthread_equal(self->thread, pthread_self())) {
        self->thread = pthread_self();
        self->moves++;
    }
    gate_pass(&self->turns);
    if (self->holds && !gate_await(&self->leave, 1)) {
        atomic_store(&self->is_odd, true);
    }
    atomic_fetch_sub(&self->running, 1);
    until = atomic_exchange(&self->until, 0);
    if (atomic_load(&self->ends)) {
        return KL__TASK_OVER;
    }
    return until != 0 ? until : atomic_load(&self->rest);
}

static void end_counter(void *arg)
{
    counter *self = arg;

    gate_pass(&self->is_over);
}

static void init(counter *self)
{
    memset(self, 0, sizeof(*self));
    gate_init(&self->turns);
    gate_init(&self->leave);
    gate_init(&self->is_over);
    self->rest = KL__TASK_REST;
    self->task = (kl__task){.name = "counter",
                            .clock = kl__clock_real(),
                            .run = run_counter,
                            .over = end_counter,
                            .arg = self};
}

static void deinit(counter *self)
{
    gate_deinit(&self->is_over);
    gate_deinit(&self->leave);
    gate_deinit(&self->turns);
}

static void start(counter *self)
{
    assert_int_equal(kl__task_start(&self->task, NULL), KL_OK);
}

/* Ends the task, which has not to be held. */
static void end(counter *self)
{
    atomic_store(&self->ends, true);
    kl__task_wake(&self->task);
    assert_true(gate_await(&self->is_over, 1));
    assert_false(atomic_load(&self->is_odd));
    deinit(self);
}

/* All tasks are over: the threads end. */
static void expect_no_thread(void)
{
    kl__crew_hold();
    kl__crew_release(true);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

static int hold(void **state)
{
    (void)state;
    kl__crew_hold();
    return 0;
}

static int release(void **state)
{
    (void)state;
    kl__crew_release(true);
    return kl_live_count(KL_LIVE_THREAD) == 0 ? 0 : -1;
}

static void a_task_runs_at_its_start_and_whenever_it_is_woken(void **state)
{
    counter self;

    (void)state;
    init(&self);
    start(&self);
    for (int i = 1; i <= 100; i++) {
        assert_true(gate_await(&self.turns, i));
        kl__task_wake(&self.task);
    }
    assert_true(gate_await(&self.turns, 101));
    end(&self);
}

static void a_task_that_is_woken_in_its_turn_runs_once_more(void **state)
{
    counter self;

    (void)state;
    init(&self);
    self.holds = true;
    start(&self);
    assert_true(gate_await(&self.turns, 1));
    kl__task_wake(&self.task);
    kl__task_wake(&self.task);
    gate_pass(&self.leave);
    assert_true(gate_await(&self.turns, 2));
    end(&self);
    assert_in_range(self.turns.count, 2, 3);
}

static void a_task_rests_until_its_time(void **state)
{
    int64_t began = kl__clock_now(kl__clock_real());
    counter self;

    (void)state;
    init(&self);
    self.until = began + 50;
    start(&self);
    assert_true(gate_await(&self.turns, 2));
    assert_true(kl__clock_now(kl__clock_real()) >= began + 50);
    end(&self);
}

/* A time that is earlier than the one that the crew waits for counts; and after
 * it, the later one still does. */
static void tasks_wake_in_the_order_of_their_times(void **state)
{
    enum { HOUR_MS = 3600000 };
    int64_t now = kl__clock_now(kl__clock_real());
    counter never, late, soon;

    (void)state;
    init(&never);
    never.until = now + HOUR_MS;
    start(&never);
    assert_true(gate_await(&never.turns, 1));
    init(&late);
    late.until = now + 120;
    start(&late);
    init(&soon);
    soon.until = now + 60;
    start(&soon);
    assert_true(gate_await(&soon.turns, 2));
    assert_true(gate_await(&late.turns, 2));
    assert_true(kl__clock_now(kl__clock_real()) >= now + 120);
    end(&soon);
    end(&late);
    assert_int_equal(never.turns.count, 1);
    end(&never);
}

/* Starts tasks that block in their first turn. */
static void start_blocked(counter *tasks, int count, kl__task_group *group)
{
    for (int i = 0; i < count; i++) {
        init(&tasks[i]);
        tasks[i].task.group = group;
        tasks[i].holds = true;
        start(&tasks[i]);
    }
}

static void end_blocked(counter *tasks, int count)
{
    for (int i = 0; i < count; i++) {
        gate_pass(&tasks[i].leave);
    }
    for (int i = 0; i < count; i++) {
        end(&tasks[i]);
    }
}

static void a_task_has_its_turn(void)
{
    counter self;

    init(&self);
    start(&self);
    assert_true(gate_await(&self.turns, 1));
    end(&self);
}

static void tasks_that_block_hold_up_no_other(void **state)
{
    enum { BLOCKED = 12 };
    static counter blocked[BLOCKED];

    (void)state;
    start_blocked(blocked, BLOCKED, NULL);
    a_task_has_its_turn();
    end_blocked(blocked, BLOCKED);
}

/* Each waits for a server that does not answer. The two beyond eight come half
 * a second after the one before. */
static void a_group_has_few_threads_and_holds_up_no_other(void **state)
{
    enum { BLOCKED = 10, TWO_MORE_MS = 1000 };
    static counter blocked[BLOCKED];
    kl__task_group group = {0};
    int64_t began = kl__clock_now(kl__clock_real());

    (void)state;
    start_blocked(blocked, BLOCKED, &group);
    a_task_has_its_turn();
    for (int i = 0; i < BLOCKED; i++) {
        assert_true(gate_await(&blocked[i].turns, 1));
    }
    assert_true(blocked[BLOCKED - 1].began_ms >= began + TWO_MORE_MS);
    end_blocked(blocked, BLOCKED);
    assert_int_equal(group.running, 0);
}

/* The idle thread is called for the ninth, which its group does not let run,
 * and half a second later for another task: then it takes the ninth. */
static void a_task_whose_thread_takes_another_one_gets_its_turn(void **state)
{
    enum { BLOCKED = 8, GROUP_MS = 500 };
    static counter blocked[BLOCKED + 1];
    kl__task_group group = {0};
    int64_t until;

    (void)state;
    start_blocked(blocked, BLOCKED, &group);
    for (int i = 0; i < BLOCKED; i++) {
        assert_true(gate_await(&blocked[i].turns, 1));
    }
    until = kl__clock_now(kl__clock_real()) + GROUP_MS;
    a_task_has_its_turn(); /* its thread is idle then */
    start_blocked(&blocked[BLOCKED], 1, &group);
    while (kl__clock_now(kl__clock_real()) <= until) {
        sched_yield();
    }
    a_task_has_its_turn();
    assert_true(gate_await(&blocked[BLOCKED].turns, 1));
    end_blocked(blocked, BLOCKED + 1);
}

/* A thousand tasks of one group, all of which block: the threads do not grow
 * with them. */
static void a_crowd_that_blocks_does_not_become_as_many_threads(void **state)
{
    static counter crowd[CROWD];
    kl__task_group group = {0};

    (void)state;
    start_blocked(crowd, CROWD, &group);
    for (int i = 0; i < 8; i++) {
        assert_true(gate_await(&crowd[i].turns, 1));
    }
    assert_in_range(kl_live_count(KL_LIVE_THREAD), 8, CROWD / 10);
    end_blocked(crowd, CROWD);
}

/* So the threads that are not needed end, and the one that works has warm
 * caches. */
static void a_task_comes_to_the_thread_that_became_idle_last(void **state)
{
    enum { OTHERS = 4, TURNS = 200 };
    static counter others[OTHERS];
    counter self;

    (void)state;
    start_blocked(others, OTHERS, NULL);
    for (int i = 0; i < OTHERS; i++) {
        assert_true(gate_await(&others[i].turns, 1));
    }
    init(&self);
    start(&self);
    assert_true(gate_await(&self.turns, 1));
    end_blocked(others, OTHERS);
    for (int i = 2; i <= TURNS; i++) {
        kl__task_wake(&self.task);
        assert_true(gate_await(&self.turns, i));
    }
    /* On a busy machine it may be woken before its thread is idle again, and
     * moves to another one; by turns, it would move each time. */
    assert_in_range(self.moves, 1, TURNS / 2);
    end(&self);
}

/* It asks for a turn again and again; the other ones have theirs. */
static void a_busy_task_lets_others_have_turns(void **state)
{
    counter busy, self;

    (void)state;
    init(&busy);
    busy.rest = KL__TASK_AGAIN;
    start(&busy);
    init(&self);
    start(&self);
    assert_true(gate_await(&self.turns, 1));
    assert_true(gate_await(&busy.turns, 1000));
    end(&self);
    end(&busy);
}

/* A machine that is busy may need some more threads than four and a keeper. */
static void a_thousand_tasks_need_no_thousand_threads(void **state)
{
    static counter crowd[CROWD];
    long most = 0;

    (void)state;
    for (int i = 0; i < CROWD; i++) {
        init(&crowd[i]);
        start(&crowd[i]);
        most = kl_live_count(KL_LIVE_THREAD) > most
                   ? kl_live_count(KL_LIVE_THREAD)
                   : most;
    }
    for (int i = 0; i < CROWD; i++) {
        assert_true(gate_await(&crowd[i].turns, 1));
        kl__task_wake(&crowd[i].task);
        most = kl_live_count(KL_LIVE_THREAD) > most
                   ? kl_live_count(KL_LIVE_THREAD)
                   : most;
    }
    for (int i = 0; i < CROWD; i++) {
        end(&crowd[i]);
    }
    assert_in_range(most, 2, CROWD / 10);
}

static gate was_freed;

static void free_task(void *arg)
{
    deinit(arg);
    kl__free(arg);
    gate_pass(&was_freed);
}

static void a_task_may_be_freed_when_it_is_over(void **state)
{
    counter *self = kl__malloc(sizeof(*self));

    (void)state;
    gate_init(&was_freed);
    init(self);
    self->task.over = free_task;
    self->ends = true;
    start(self);
    assert_true(gate_await(&was_freed, 1));
    gate_deinit(&was_freed);
    expect_no_thread();
}

static void threads_end_after_the_last_task_and_come_again(void **state)
{
    counter self;

    (void)state;
    for (int i = 0; i < 20; i++) {
        init(&self);
        start(&self);
        assert_true(gate_await(&self.turns, 1));
        end(&self);
        expect_no_thread();
    }
}

/* ---- release ---- */

static gate may_return;

/* A task whose end takes until the gate is open: no task is left, but its
 * thread. */
static void end_slowly(void *arg)
{
    counter *self = arg;

    gate_pass(&self->is_over);
    gate_await(&may_return, 1);
}

typedef struct releaser {
    kl__thread thread;
    atomic_int number; /* of the thread, before it releases */
    gate is_done;
} releaser;

static void *hold_and_release(void *arg)
{
    releaser *self = arg;

    kl__crew_hold();
    atomic_store(&self->number, gettid());
    kl__crew_release(true);
    gate_pass(&self->is_done);
    return NULL;
}

/* Starts a release, and returns when it waits. */
static void begin_release(releaser *self)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    atomic_init(&self->number, 0);
    gate_init(&self->is_done);
    assert_int_equal(kl__thread_start(&self->thread, "release",
                                      hold_and_release, self, NULL),
                     KL_OK);
    while (atomic_load(&self->number) == 0 ||
           !is_asleep(atomic_load(&self->number))) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        sched_yield();
    }
}

static void
a_release_does_not_wait_for_a_task_that_starts_meanwhile(void **state)
{
    counter slow, next;
    releaser release;

    (void)state;
    gate_init(&may_return);
    init(&slow);
    slow.task.over = end_slowly;
    slow.ends = true;
    start(&slow);
    assert_true(gate_await(&slow.is_over, 1));
    begin_release(&release);
    init(&next);
    start(&next);
    assert_true(gate_await(&release.is_done, 1));
    kl__thread_join(&release.thread);
    gate_deinit(&release.is_done);
    gate_pass(&may_return);
    end(&next);
    expect_no_thread();
    deinit(&slow);
    gate_deinit(&may_return);
}

/* ThreadSanitizer starts no thread after a fork. */
static void a_child_of_fork_has_a_crew_of_its_own(void **state)
{
#ifndef __SANITIZE_THREAD__
    counter parent, child;
    int status = -1;
    pid_t id;

    init(&parent);
    start(&parent);
    assert_true(gate_await(&parent.turns, 1));
    id = fork();
    if (id == 0) {
        alarm(60);
        kl__crew_hold();
        init(&child);
        if (kl__task_start(&child.task, NULL) != KL_OK ||
            !gate_await(&child.turns, 1)) {
            _exit(1);
        }
        end(&child);
        kl__crew_release(true);
        _exit(0);
    }
    assert_int_equal(waitpid(id, &status, 0), id);
    assert_int_equal(status, 0);
    end(&parent);
#endif
    (void)state;
}

/* A clock of a test moves when it is told; the task then runs. */
static void a_task_on_another_clock_has_its_own_thread(void **state)
{
    kl__clock *clock = kl__clock_fake(1000);
    counter self;

    (void)state;
    init(&self);
    self.task.clock = clock;
    self.rest = 5000;
    start(&self);
    assert_true(kl__clock_await_waiters(clock, 1));
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 1);
    kl__clock_advance(clock, 4000);
    assert_true(gate_await(&self.turns, 2));
    self.rest = KL__TASK_REST;
    kl__task_wake(&self.task);
    assert_true(gate_await(&self.turns, 3));
    end(&self);
    kl__crew_hold();
    kl__crew_release(true);
    kl__clock_fake_free(clock);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, hold, release)
    const struct CMUnitTest tests[] = {
        SPEC(a_task_runs_at_its_start_and_whenever_it_is_woken),
        SPEC(a_task_that_is_woken_in_its_turn_runs_once_more),
        SPEC(a_task_rests_until_its_time),
        SPEC(tasks_wake_in_the_order_of_their_times),
        SPEC(tasks_that_block_hold_up_no_other),
        SPEC(a_group_has_few_threads_and_holds_up_no_other),
        SPEC(a_task_whose_thread_takes_another_one_gets_its_turn),
        SPEC(a_crowd_that_blocks_does_not_become_as_many_threads),
        SPEC(a_task_comes_to_the_thread_that_became_idle_last),
        SPEC(a_busy_task_lets_others_have_turns),
        SPEC(a_thousand_tasks_need_no_thousand_threads),
        SPEC(a_task_may_be_freed_when_it_is_over),
        SPEC(threads_end_after_the_last_task_and_come_again),
        SPEC(a_release_does_not_wait_for_a_task_that_starts_meanwhile),
        SPEC(a_child_of_fork_has_a_crew_of_its_own),
        SPEC(a_task_on_another_clock_has_its_own_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
