/*
 * crew.c - the threads that run the tasks of a process: see task.h. One mutex
 * guards all of it; it is held for moments only.
 */
#include "informer/task.h"

#include "base/mem.h"
#include "kubelua/log.h"

enum {
    YOUNG_MAX = 4,    /* threads that have just begun a turn */
    STUCK_MS = 20,    /* one that takes longer may wait for something */
    GROUP_MAX = 8,    /* tasks of a group that have a thread, */
    GROUP_MS = 500,   /* and one more each time this long */
    LINGER_MS = 2000, /* how long a thread waits for a task before it ends */
    LOOK_MS = 100     /* between two looks, while tasks wait for their group or
                         for a thread that cannot be started */
};

/* A thread. Allocated, as another thread joins and frees it. */
typedef struct kl__crew_member {
    kl__thread thread;
    kl__list node;    /* in `running`, or in `idle` */
    int64_t began_ms; /* its present turn, on the real clock */
    kl__task *task;   /* the only one that it runs; NULL: any */
    kl__cond woken;   /* `task` was woken, or the thread was called */
    bool is_called;   /* it was idle, and has to look for a task */
} crew_member;

/* Rank CREW. Guards the crew, and the fields of tasks that are the crew's. */
static kl__mutex mutex = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_CREW};

static struct crew {
    kl__forks made_in;
    size_t tasks;   /* that are not over */
    kl__list ready; /* tasks that wait for a thread, first in, first out */
    size_t ready_count;
    kl__list timed;   /* tasks that rest until a time */
    int64_t due_ms;   /* none of them is due before; INT64_MAX: none is */
    kl__list running; /* threads that run a task, the longest turn first */
    size_t workers;   /* threads that run any task */
    kl__list idle;    /* of these, those that wait for one, first in, last
                         out */
    size_t coming;    /* of these, those that were started or called, and have
                         not looked for a task yet */
    bool has_keeper;
    int64_t keeper_ms;     /* the keeper sleeps until then; -1: it is awake */
    kl__cond keeper;       /* the keeper has to look */
    bool cannot_start;     /* the last try to start a thread failed */
    size_t threads;        /* of all kinds, that have not ended */
    crew_member *ended;    /* the last one that has; it has joined the others */
    size_t holders;        /* calls of kl__crew_hold without a release yet */
    kl__cond is_settled;   /* the last thread has ended */
    bool must_call_keeper; /* for unlock_and_call */
} crew;

/* Also in a child of fork(), where the threads do not exist. */
static void make_crew(void)
{
    crew = (struct crew){
        .made_in = kl__process_here(), .due_ms = INT64_MAX, .keeper_ms = -1};
    kl__list_init(&crew.ready);
    kl__list_init(&crew.timed);
    kl__list_init(&crew.running);
    kl__list_init(&crew.idle);
    kl__cond_init(&crew.keeper);
    kl__cond_init(&crew.is_settled);
}

__attribute__((constructor)) static void begin_process(void)
{
    kl__mutex_outlive_fork(&mutex, 1);
    make_crew();
}

static int64_t real_now(void)
{
    return kl__clock_now(kl__clock_real());
}

/* Unlocks the mutex, then wakes the keeper if it has to know: if it woke while
 * the mutex is held, it would only wait again. */
static void unlock_and_call(void)
{
    bool must_call_keeper = crew.must_call_keeper;

    crew.must_call_keeper = false;
    kl__mutex_unlock(&mutex);
    if (must_call_keeper) {
        kl__cond_signal(&crew.keeper);
    }
}

/* ---- tasks that are ready, and tasks that rest ---- */

/* Calls the thread that became idle last: its caches and its memory are the
 * warmest, and those that are not needed end. With the mutex held, as the
 * thread may be freed afterwards. False: no thread is idle. */
static bool call_idle_locked(void)
{
    crew_member *last;

    if (kl__list_empty(&crew.idle)) {
        return false;
    }
    last = KL__CONTAINER(crew.idle.prev, crew_member, node);
    kl__list_remove(&last->node);
    last->is_called = true;
    crew.coming++;
    kl__cond_signal(&last->woken);
    return true;
}

/* If no thread comes for some of the ready tasks, the keeper has to know:
 * unless it looks again within `soon_ms` anyway. */
static void tell_keeper_locked(int64_t soon_ms)
{
    if (crew.ready_count > crew.coming && crew.keeper_ms >= 0 &&
        crew.keeper_ms > real_now() + soon_ms) {
        crew.keeper_ms = -1;
        crew.must_call_keeper = true;
    }
}

/* A task became ready. If there is no idle thread for it, the keeper starts
 * one. */
static void find_thread_locked(void)
{
    if (!call_idle_locked()) {
        tell_keeper_locked(STUCK_MS);
    }
}

static void make_ready_locked(kl__task *task)
{
    kl__list_remove(&task->node);
    task->state = KL__TASK_IS_READY;
    if (task->own != NULL) {
        kl__cond_signal(&task->own->woken);
    } else {
        kl__list_append(&crew.ready, &task->node);
        crew.ready_count++;
    }
}

void kl__task_wake(kl__task *task)
{
    kl__mutex_lock(&mutex);
    if (task->state == KL__TASK_RUNS) {
        task->state = KL__TASK_RUNS_ONCE_MORE;
    } else if (task->state == KL__TASK_RESTS) {
        make_ready_locked(task);
        find_thread_locked();
    }
    unlock_and_call();
}

/* Lets a task rest until `due_ms`; < 0: until it is woken. */
static void make_rest_locked(kl__task *task, int64_t due_ms)
{
    task->state = KL__TASK_RESTS;
    task->due_ms = due_ms;
    if (due_ms < 0 || task->own != NULL) {
        return;
    }
    kl__list_append(&crew.timed, &task->node);
    if (due_ms < crew.due_ms) {
        crew.due_ms = due_ms;
    }
    if (due_ms < crew.keeper_ms) {
        crew.keeper_ms = -1;
        kl__cond_signal(&crew.keeper);
    }
}

/* Makes the tasks ready whose time has come. It goes through all that rest
 * until a time; these times are mostly far apart. */
static void look_for_due_locked(void)
{
    int64_t now = real_now();
    kl__list *next;

    if (crew.due_ms > now) {
        return;
    }
    crew.due_ms = INT64_MAX;
    for (kl__list *node = crew.timed.next; node != &crew.timed; node = next) {
        kl__task *task = KL__CONTAINER(node, kl__task, node);

        next = node->next;
        if (task->due_ms <= now) {
            make_ready_locked(task);
        } else if (task->due_ms < crew.due_ms) {
            crew.due_ms = task->due_ms;
        }
    }
}

/* ---- threads ---- */

static void free_member(crew_member *member)
{
    kl__cond_deinit(&member->woken);
    kl__free(member);
}

/* The last act of a thread: unlocks the mutex. Each thread joins the one that
 * ended before. The last one is joined by a thread that holds the crew; if
 * there is none, by nothing. */
static void end_thread_locked(crew_member *self)
{
    crew_member *former = crew.ended;
    bool is_left = --crew.threads == 0 && crew.holders == 0;

    crew.ended = is_left ? NULL : self;
    if (is_left) {
        kl__thread_detach(&self->thread);
    } else if (crew.threads == 0) {
        kl__cond_broadcast(&crew.is_settled);
    }
    kl__mutex_unlock(&mutex);
    if (former != NULL) {
        kl__thread_join(&former->thread);
        free_member(former);
    }
    if (is_left) {
        free_member(self);
    }
}

/* Starts a thread, with the mutex held: the thread waits for it. */
static kl_code start_thread_locked(const char *name, void *(*entry)(void *),
                                   kl__task *task, crew_member **made,
                                   kl_error *err)
{
    crew_member *self = kl__calloc(1, sizeof(*self));
    kl_code code;

    if (self == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a thread");
    }
    kl__list_init(&self->node);
    kl__cond_init(&self->woken);
    self->task = task;
    code = kl__thread_start(&self->thread, name, entry, self, err);
    if (code == KL_OK) {
        crew.threads++;
        *made = self;
    } else {
        free_member(self);
    }
    return code;
}

/* A task is over. The threads end after the last one. */
static void drop_task_locked(void)
{
    if (--crew.tasks == 0) {
        crew.due_ms = INT64_MAX;
        crew.keeper_ms = -1;
        kl__cond_signal(&crew.keeper);
        while (call_idle_locked()) {
        }
    }
}

static void begin_turn_locked(crew_member *self, kl__task *task)
{
    self->began_ms = real_now();
    task->state = KL__TASK_RUNS;
    if (task->group != NULL) {
        task->group->running++;
        task->group->began_ms = self->began_ms;
    }
    if (self->task == NULL) {
        kl__list_append(&crew.running, &self->node);
    }
}

/* Runs one turn of a task, unlocked. False: it was the last. */
static bool run_turn_locked(crew_member *self, kl__task *task)
{
    void (*over)(void *) = task->over;
    void *arg = task->arg;
    kl__clock *on;
    int64_t due_ms;

    begin_turn_locked(self, task);
    unlock_and_call();
    on = task->clock;
    due_ms = task->run(arg, &on);
    kl__mutex_lock(&mutex);
    kl__list_remove(&self->node);
    if (task->group != NULL) {
        task->group->running--;
    }
    if (due_ms == KL__TASK_OVER) {
        task->state = KL__TASK_HAS_ENDED;
        drop_task_locked();
        kl__mutex_unlock(&mutex);
        over(arg);
        kl__mutex_lock(&mutex);
        return false;
    }
    if (due_ms == KL__TASK_AGAIN || task->state == KL__TASK_RUNS_ONCE_MORE) {
        make_ready_locked(task);
    } else {
        task->due_on = on;
        make_rest_locked(task, due_ms);
    }
    return true;
}

/* ---- the workers ---- */

/* True if the task's group lets it have a thread now. */
static bool may_run_locked(const kl__task *task)
{
    const kl__task_group *group = task->group;

    return group == NULL || group->running < GROUP_MAX ||
           real_now() >= group->began_ms + GROUP_MS;
}

/* The first task that may run, which has a thread now; NULL: there is none. */
static kl__task *take_ready_locked(void)
{
    for (kl__list *node = crew.ready.next; node != &crew.ready;
         node = node->next) {
        kl__task *task = KL__CONTAINER(node, kl__task, node);

        if (may_run_locked(task)) {
            kl__list_remove(node);
            crew.ready_count--;
            return task;
        }
    }
    return NULL;
}

/* Waits until it is called; false: for LINGER_MS, or for ever if it is the
 * last thread, it was not. */
static bool await_call_locked(crew_member *self)
{
    int64_t until = crew.workers > 1 ? real_now() + LINGER_MS : -1;
    bool in_time = true;

    self->is_called = false;
    kl__list_append(&crew.idle, &self->node);
    while (!self->is_called && in_time) {
        in_time = kl__cond_wait(&self->woken, &mutex, until);
    }
    if (self->is_called) {
        crew.coming--;
    } else {
        kl__list_remove(&self->node);
    }
    return self->is_called;
}

/* Takes a task. A thread that was called for one may find that its group does
 * not let it run yet, or may take another one, whose group lets it run by now:
 * then no thread comes for the first. */
static kl__task *choose_task_locked(void)
{
    kl__task *task = take_ready_locked();

    tell_keeper_locked(LOOK_MS);
    if (task == NULL && crew.must_call_keeper) {
        crew.must_call_keeper = false;
        kl__cond_signal(&crew.keeper);
    }
    return task;
}

/* Waits for a task. NULL: the thread has to end. */
static kl__task *await_task_locked(crew_member *self)
{
    bool in_time = true;

    for (;;) {
        kl__task *task = choose_task_locked();

        if (task != NULL) {
            return task;
        }
        if (crew.tasks == 0 || (!in_time && crew.workers > 1)) {
            return NULL;
        }
        in_time = await_call_locked(self);
    }
}

static void *run_worker(void *arg)
{
    crew_member *self = arg;
    kl__task *task;

    kl__mutex_lock(&mutex);
    crew.coming--;
    kl__list_remove(&self->node);
    while ((task = await_task_locked(self)) != NULL) {
        (void)run_turn_locked(self, task);
    }
    crew.workers--;
    end_thread_locked(self);
    return NULL;
}

static kl_code start_worker_locked(kl_error *err)
{
    crew_member *made;
    kl_code code =
        start_thread_locked("kl-informer", run_worker, NULL, &made, err);

    if (code == KL_OK) {
        crew.workers++;
        crew.coming++;
        made->began_ms = real_now();
        kl__list_append(&crew.running, &made->node);
    }
    return code;
}

/* ---- the keeper ---- */

/* When the first of the threads that have just begun a turn will count as
 * stuck; -1: so few have that one more may run. */
static int64_t crowded_until_locked(int64_t now)
{
    int64_t began_ms = now;
    int young = 0;

    for (kl__list *node = crew.running.prev; node != &crew.running;
         node = node->prev) {
        const crew_member *each = KL__CONTAINER(node, crew_member, node);

        if (each->began_ms + STUCK_MS <= now) {
            break;
        }
        began_ms = each->began_ms;
        young++;
    }
    return young >= YOUNG_MAX ? began_ms + STUCK_MS : -1;
}

/* Logs that no thread can be started, once until one can, unlocked. */
static void tell_failure_locked(const kl_error *err)
{
    bool is_news = !crew.cannot_start;

    crew.cannot_start = true;
    if (is_news) {
        kl__mutex_unlock(&mutex);
        kl_log(KL_LOG_ERROR, "informers wait for a thread: %s", err->message);
        kl__mutex_lock(&mutex);
    }
}

/* How many of the ready tasks may run, up to `most`. */
static size_t count_waiting_locked(size_t most)
{
    size_t count = 0;

    for (kl__list *node = crew.ready.next; node != &crew.ready && count < most;
         node = node->next) {
        count += may_run_locked(KL__CONTAINER(node, kl__task, node)) ? 1 : 0;
    }
    return count;
}

/* Calls and starts the threads that tasks wait for, as far as more may run.
 * Returns when to look again; INT64_MAX: there is no need. */
static int64_t add_workers_locked(void)
{
    size_t waiting;
    kl_error err;

    while ((waiting = count_waiting_locked(crew.coming + 1)) > crew.coming) {
        int64_t now = real_now();
        int64_t until;

        if (call_idle_locked()) {
            continue;
        }
        until = crowded_until_locked(now);
        if (until >= 0) {
            return until;
        }
        if (start_worker_locked(&err) != KL_OK) {
            tell_failure_locked(&err);
            return now + LOOK_MS;
        }
        crew.cannot_start = false;
    }
    return crew.ready_count > 0 ? real_now() + LOOK_MS : INT64_MAX;
}

static void *run_keeper(void *arg)
{
    kl__mutex_lock(&mutex);
    while (crew.tasks > 0) {
        int64_t until;

        look_for_due_locked();
        until = add_workers_locked();
        if (crew.tasks == 0) {
            break; /* it was unlocked */
        }
        crew.keeper_ms = until < crew.due_ms ? until : crew.due_ms;
        kl__cond_wait(&crew.keeper, &mutex,
                      crew.keeper_ms != INT64_MAX ? crew.keeper_ms : -1);
        crew.keeper_ms = -1;
    }
    crew.has_keeper = false;
    end_thread_locked(arg);
    return NULL;
}

/* ---- threads that run one task ---- */

static void *run_own(void *arg)
{
    crew_member *self = arg;
    kl__task *task = self->task;

    kl__mutex_lock(&mutex);
    while (run_turn_locked(self, task)) {
        while (task->state == KL__TASK_RESTS) {
            if (!kl__clock_wait(task->due_on, &self->woken, &mutex,
                                task->due_ms)) {
                task->state = KL__TASK_IS_READY;
            }
        }
    }
    end_thread_locked(self);
    return NULL;
}

/* ---- start and end ---- */

/* Starts the threads that the task needs. */
static kl_code find_threads_locked(kl__task *task, kl_error *err)
{
    crew_member *made;
    kl_code code = KL_OK;

    if (task->clock != kl__clock_real()) {
        return start_thread_locked(task->name, run_own, task, &task->own, err);
    }
    if (!crew.has_keeper) {
        code = start_thread_locked("kl-keeper", run_keeper, NULL, &made, err);
        crew.has_keeper = code == KL_OK;
    }
    if (code == KL_OK && crew.workers == 0) {
        code = start_worker_locked(err);
    }
    return code;
}

/* Locks the mutex. In a child of fork() the crew is a new one. */
static void lock_here(void)
{
    kl__mutex_lock(&mutex);
    if (crew.made_in != kl__process_here()) {
        make_crew();
    }
}

kl_code kl__task_start(kl__task *task, kl_error *err)
{
    kl_code code;

    kl__list_init(&task->node);
    task->own = NULL;
    task->state = KL__TASK_IS_READY;
    lock_here();
    crew.tasks++;
    kl__cond_broadcast(&crew.is_settled); /* there is nothing to wait for */
    code = find_threads_locked(task, err);
    if (code != KL_OK) {
        drop_task_locked();
    } else if (task->own == NULL) {
        make_ready_locked(task);
        find_thread_locked();
    }
    unlock_and_call();
    return code;
}

void kl__crew_hold(void)
{
    lock_here();
    crew.holders++;
    kl__mutex_unlock(&mutex);
}

void kl__crew_release(bool waits)
{
    crew_member *last = NULL;

    kl__mutex_lock(&mutex);
    while (waits && crew.tasks == 0 && crew.threads > 0 &&
           crew.made_in == kl__process_here()) {
        kl__cond_wait(&crew.is_settled, &mutex, -1);
    }
    crew.holders--;
    if (crew.threads == 0) {
        last = crew.ended;
        crew.ended = NULL;
    }
    kl__mutex_unlock(&mutex);
    if (last != NULL) {
        kl__thread_join(&last->thread);
        free_member(last);
    }
}
