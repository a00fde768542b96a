/*
 * lent_wait.c - see lent_wait.h.
 */
#include "lent_wait.h"

#include "base/clock.h"

typedef struct sleeper {
    kl__mutex mutex; /* taken with a stream's mutex held */
    kl__cond cond;
    bool is_woken;
} sleeper;

typedef struct lent_turn {
    const lent_wait *wait;
    sleeper sleeper;
} lent_turn;

static void wake(void *arg)
{
    sleeper *self = arg;

    kl__mutex_lock(&self->mutex);
    self->is_woken = true;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static bool run_turn(void *arg)
{
    const lent_turn *self = arg;

    return self->wait->run(self->wait->arg);
}

static void wake_reader(void *arg)
{
    lent_turn *self = arg;

    wake(&self->sleeper);
}

static bool lend(const lent_wait *wait, const kl__stream_turn *turn)
{
    return wait->source != NULL ? kl__list_watch_lend(wait->source, turn)
                                : kl__stream_lend(wait->stream, turn);
}

static void retract(const lent_wait *wait)
{
    if (wait->source != NULL) {
        kl__list_watch_retract(wait->source);
    } else {
        kl__stream_retract(wait->stream);
    }
}

/* Sleeps until it is woken, or the time is over (false). */
static bool sleep_until(sleeper *self, int64_t deadline_ms)
{
    bool in_time = true;

    kl__mutex_lock(&self->mutex);
    while (!self->is_woken && in_time) {
        in_time = kl__cond_wait(&self->cond, &self->mutex, deadline_ms);
    }
    in_time = self->is_woken;
    kl__mutex_unlock(&self->mutex);
    return in_time;
}

kl_code lend_and_wait(const lent_wait *wait)
{
    lent_turn self = {.wait = wait};
    const kl__stream_turn turn = {
        .run = run_turn, .wake = wake_reader, .arg = &self};
    kl__cancel_hook hook = {.wake = wake, .arg = &self.sleeper};
    kl_code code = KL_OK;

    kl__mutex_init(&self.sleeper.mutex, KL__RANK_CREW);
    kl__cond_init(&self.sleeper.cond);
    if (!kl__cancel_add(wait->cancel, &hook)) {
        code = KL_ECANCELED;
    } else if (lend(wait, &turn)) {
        if (!sleep_until(&self.sleeper, wait->deadline_ms)) {
            code = KL_ETIMEOUT;
        } else if (kl__cancel_fired(wait->cancel)) {
            code = KL_ECANCELED;
        }
        retract(wait);
    }
    kl__cancel_remove(wait->cancel, &hook);
    kl__cond_deinit(&self.sleeper.cond);
    kl__mutex_deinit(&self.sleeper.mutex);
    return code;
}
