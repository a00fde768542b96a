/*
 * request_loop.c - see request_loop.h. One mutex guards a loop and its members;
 * it is held for moments only.
 */
#include "api/request_loop.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

struct kl__request_loop {
    kl__forks made_in;
    bool is_shared; /* constant */
    kl__thread thread;
    size_t users; /* members that have not left; guarded by `shared` */

    /* Rank REQUEST_LOOP. Guards the rest, and a part of each member. */
    kl__mutex mutex;
    kl__cond news;    /* a member is ready, or `ends` has changed */
    kl__cond is_left; /* a member is over */
    kl__list ready;   /* members, first come first served */
    kl__list resting; /* members that rest until a time */
    int64_t due_ms;   /* none of them is due before; INT64_MAX: none is */
    bool is_asleep;   /* the thread has to be woken */
    bool ends;        /* no member is left */
};

/* Guards the pointer and the users; rank CARRIER. */
static kl__mutex shared = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_CARRIER};
static kl__request_loop *loop_of_process;

__attribute__((constructor)) static void begin_process(void)
{
    kl__mutex_outlive_fork(&shared, 1);
}

/* ---- members ---- */

static void make_ready_locked(kl__request_loop *self, kl__loop_member *member)
{
    kl__list_remove(&member->node);
    kl__list_append(&self->ready, &member->node);
    member->is_ready = true;
}

void kl__request_loop_wake(kl__loop_member *member)
{
    kl__request_loop *self = member->loop;
    bool must_wake = false;

    kl__mutex_lock(&self->mutex);
    if (!member->is_ready && !member->is_over) {
        make_ready_locked(self, member);
        must_wake = self->is_asleep;
        self->is_asleep = false;
    }
    kl__mutex_unlock(&self->mutex);
    /* after the unlock: before, the thread would only wait for the mutex */
    if (must_wake) {
        kl__cond_signal(&self->news);
    }
}

static void make_rest_locked(kl__request_loop *self, kl__loop_member *member,
                             int64_t due_ms)
{
    member->due_ms = due_ms;
    if (due_ms != INT64_MAX) {
        kl__list_append(&self->resting, &member->node);
    }
    if (due_ms < self->due_ms) {
        self->due_ms = due_ms;
    }
}

/* Makes the members ready whose time has come. It goes through all that rest
 * until a time, once for each time: these are mostly the timeouts of requests,
 * far apart. */
static void look_for_due_locked(kl__request_loop *self)
{
    int64_t now;
    kl__list *next;

    if (self->due_ms == INT64_MAX) {
        return;
    }
    now = kl__clock_now(kl__clock_real());
    if (self->due_ms > now) {
        return;
    }
    self->due_ms = INT64_MAX;
    for (kl__list *node = self->resting.next; node != &self->resting;
         node = next) {
        kl__loop_member *member = KL__CONTAINER(node, kl__loop_member, node);

        next = node->next;
        if (member->due_ms <= now) {
            make_ready_locked(self, member);
        } else if (member->due_ms < self->due_ms) {
            self->due_ms = member->due_ms;
        }
    }
}

/* ---- the thread ---- */

/* One turn, unlocked. After the last one the member may be freed. */
static void run_turn_locked(kl__request_loop *self, kl__loop_member *member)
{
    int64_t due_ms;

    member->is_ready = false;
    kl__mutex_unlock(&self->mutex);
    due_ms = member->run(member->arg);
    kl__mutex_lock(&self->mutex);
    if (due_ms == KL__LOOP_OVER) {
        kl__list_remove(&member->node);
        member->is_over = true;
        kl__cond_broadcast(&self->is_left);
    } else if (member->is_ready) {
        /* it was woken meanwhile */
    } else if (due_ms == KL__LOOP_AGAIN) {
        make_ready_locked(self, member);
    } else {
        make_rest_locked(self, member, due_ms);
    }
}

static void await_news_locked(kl__request_loop *self)
{
    self->is_asleep = true;
    (void)kl__cond_wait(&self->news, &self->mutex,
                        self->due_ms != INT64_MAX ? self->due_ms : -1);
    self->is_asleep = false;
}

static void *run_loop(void *arg)
{
    kl__request_loop *self = arg;

    kl__mutex_lock(&self->mutex);
    while (!self->ends) {
        kl__list *node;

        look_for_due_locked(self);
        node = kl__list_shift(&self->ready);
        if (node != NULL) {
            run_turn_locked(self, KL__CONTAINER(node, kl__loop_member, node));
        } else {
            await_news_locked(self);
        }
    }
    kl__mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- life ---- */

static void free_loop(kl__request_loop *self)
{
    kl__cond_deinit(&self->is_left);
    kl__cond_deinit(&self->news);
    kl__mutex_deinit(&self->mutex);
    kl__free(self);
}

static kl__request_loop *start_loop(bool is_shared, kl_error *err)
{
    kl__request_loop *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for requests");
        return NULL;
    }
    self->made_in = kl__process_here();
    self->is_shared = is_shared;
    self->due_ms = INT64_MAX;
    kl__mutex_init(&self->mutex, KL__RANK_REQUEST_LOOP);
    kl__cond_init(&self->news);
    kl__cond_init(&self->is_left);
    kl__list_init(&self->ready);
    kl__list_init(&self->resting);
    if (kl__thread_start(&self->thread, "kl-requests", run_loop, self, err) !=
        KL_OK) {
        free_loop(self);
        return NULL;
    }
    return self;
}

/* The loop that clients share, with one more user; in a child of fork() it is
 * another one. */
static kl__request_loop *find_shared_loop(kl_error *err)
{
    kl__request_loop *self;

    kl__mutex_lock(&shared);
    self = loop_of_process;
    if (self == NULL || self->made_in != kl__process_here()) {
        self = loop_of_process = start_loop(true, err);
    }
    if (self != NULL) {
        self->users++;
    }
    kl__mutex_unlock(&shared);
    return self;
}

kl_code kl__request_loop_join(kl__loop_member *member, bool is_shared,
                              kl_error *err)
{
    kl__list_init(&member->node);
    member->loop = is_shared ? find_shared_loop(err) : start_loop(false, err);
    if (member->loop == NULL) {
        return err->code;
    }
    kl__request_loop_wake(member);
    return KL_OK;
}

/* True if the loop has no member any more, and cannot get one. */
static bool is_last_to_leave(kl__request_loop *self)
{
    bool is_last = !self->is_shared;

    if (!is_last) {
        kl__mutex_lock(&shared);
        is_last = --self->users == 0;
        if (is_last) {
            loop_of_process = NULL;
        }
        kl__mutex_unlock(&shared);
    }
    return is_last;
}

void kl__request_loop_leave(kl__loop_member *member)
{
    kl__request_loop *self = member->loop;

    kl__mutex_lock(&self->mutex);
    while (!member->is_over) {
        kl__cond_wait(&self->is_left, &self->mutex, -1);
    }
    kl__mutex_unlock(&self->mutex);
    if (is_last_to_leave(self)) {
        kl__mutex_lock(&self->mutex);
        self->ends = true;
        kl__cond_signal(&self->news);
        kl__mutex_unlock(&self->mutex);
        kl__thread_join(&self->thread);
        free_loop(self);
    }
}
