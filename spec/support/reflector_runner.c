/*
 * reflector_runner.c - see reflector_runner.h.
 */
#include "reflector_runner.h"

#include "informer/task.h"

void reflector_runner_init(reflector_runner *self, kl__cancel *stop)
{
    *self = (reflector_runner){.stop = stop};
    kl__mutex_init(&self->mutex, KL__RANK_CREW);
    kl__cond_init(&self->cond);
}

void reflector_runner_deinit(reflector_runner *self)
{
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
}

void reflector_runner_wake(void *runner)
{
    reflector_runner *self = runner;

    kl__mutex_lock(&self->mutex);
    self->is_woken = true;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static void rest(reflector_runner *self, kl__clock *on, int64_t until)
{
    kl__mutex_lock(&self->mutex);
    self->is_resting = true;
    kl__cond_broadcast(&self->cond);
    while (!self->is_woken && (until < 0 || kl__clock_now(on) < until)) {
        kl__clock_wait(on, &self->cond, &self->mutex, until);
    }
    self->is_woken = self->is_resting = false;
    kl__mutex_unlock(&self->mutex);
}

bool reflector_runner_await_rest(reflector_runner *self)
{
    int64_t until = kl__clock_after(kl__clock_real(), 60000);
    bool rests;

    kl__mutex_lock(&self->mutex);
    while (!self->is_resting && kl__clock_now(kl__clock_real()) < until) {
        kl__clock_wait(kl__clock_real(), &self->cond, &self->mutex, until);
    }
    rests = self->is_resting;
    kl__mutex_unlock(&self->mutex);
    return rests;
}

void *reflector_runner_run(void *runner)
{
    reflector_runner *self = runner;
    kl__cancel_hook stop = {.wake = reflector_runner_wake, .arg = self};
    kl__clock *on;
    int64_t until;

    kl__list_init(&stop.node);
    if (!kl__cancel_add(self->stop, &stop)) {
        self->is_woken = true;
    }
    while ((until = kl__reflector_step(self->reflector, &on)) !=
           KL__TASK_OVER) {
        rest(self, on, until);
    }
    kl__cancel_remove(self->stop, &stop);
    return NULL;
}
