/*
 * task.h - work that mostly rests, such as a reflector's. A task has a thread
 * only while it runs: all tasks of a process share a crew of threads, so that
 * a thousand informers need no thousand threads.
 *
 * The rules of the crew:
 *   1. A task runs on one thread at a time, in turns of any length.
 *   2. Tasks that wait for a thread get one in the order in which they were
 *      woken. At most four threads run at once, but a thread that has been busy
 *      for 20 ms does not count, as it may wait for a server, or for a slow
 *      function of the user: no task holds up the others.
 *   3. Of a group, which asks one server, eight tasks have a thread, and
 *      one more each half second: a thousand lists of a server that is slow
 *      must not become a thousand threads.
 *   4. A thread that finds nothing to do for 2 s ends, but for the last one.
 *      One more thread, the keeper, runs no tasks: it wakes those whose time
 *      has come, and starts threads.
 *   5. After the last task all threads end.
 * A test's clock moves by hand: a task on such a clock shares no thread, and
 * has one for its whole life.
 */
#ifndef KL_INFORMER_TASK_H
#define KL_INFORMER_TASK_H

#include "base/clock.h"
#include "base/list.h"

#include <stdint.h>

/* What a turn returns, besides a time. */
enum {
    KL__TASK_AGAIN = 0, /* let the others have a turn, then run again */
    KL__TASK_REST = -1, /* rest until kl__task_wake */
    KL__TASK_OVER = -2  /* the task ends */
};

typedef enum kl__task_state {
    KL__TASK_RESTS,
    KL__TASK_IS_READY, /* waits for a thread */
    KL__TASK_RUNS,
    KL__TASK_RUNS_ONCE_MORE, /* was woken while it runs */
    KL__TASK_HAS_ENDED
} kl__task_state;

/* Tasks that wait for the same server. Zeroed at first; outlives them. */
typedef struct kl__task_group {
    size_t running;   /* that have a thread */
    int64_t began_ms; /* the last turn of one of them, on the real clock */
} kl__task_group;

/* Owned by its user, until `over`. */
typedef struct kl__task {
    /* Set by the user, then constant. */
    const char *name; /* of the thread, while the task runs on its own one; at
                         most 15 bytes */
    kl__clock *clock;
    kl__task_group *group; /* NULL: none */
    /* One turn. Returns one of the above, or a time (> 0): rest until then, or
     * until kl__task_wake. The time is of `*on`, which is the task's clock
     * before the call; real time passes while a task on a clock of a test waits
     * for the network. */
    int64_t (*run)(void *arg, kl__clock **on);
    /* Called when the task has ended, on its last thread. The crew does not use
     * the task any more: it may be freed. */
    void (*over)(void *arg);
    void *arg;

    /* The crew's. */
    kl__task_state state;
    kl__list node; /* of the ready tasks, or of those that rest until a time */
    int64_t due_ms;
    kl__clock *due_on;           /* the clock of `due_ms` */
    struct kl__crew_member *own; /* its own thread; NULL: any of the crew's */
} kl__task;

/* Starts the task, whose first turn comes at once. KL_EIO, KL_ENOMEM: there is
 * no thread, and nothing was started. Thread-safe, as the rest. */
kl_code kl__task_start(kl__task *task, kl_error *err);

/* Makes the task run soon, after its present turn if it runs; does nothing once
 * the task has ended. Never blocks for long, and may be called with any mutex
 * held whose rank is below CREW. */
void kl__task_wake(kl__task *task);

/*
 * For a user of tasks, around their life: hold before the first one starts,
 * release after the last one is over. The threads of the crew end by themselves
 * after the last task of the process; a release that `waits` returns when they
 * have, which takes no time to speak of. One that does not wait may be called
 * on any thread, and while tasks are not over.
 */
void kl__crew_hold(void);
void kl__crew_release(bool waits);

#endif
