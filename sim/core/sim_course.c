/*
 * sim_course.c - see sim_course.h. All of it runs on the thread that reads the
 * answer. That thread waits here for a version, for an event, or for the end of
 * a fault.
 */
#include "sim/core/sim_course.h"

#include "base/clock.h"
#include "sim/core/answer/sim_encode.h"
#include "sim/core/answer/sim_list.h"
#include "sim/core/answer/sim_plan.h"
#include "sim/core/answer/sim_requests.h"
#include "sim/core/sim_control.h"

#include <string.h>

/* Wakes the reader. Runs on the thread that cancels. */
static void wake_reader(void *arg)
{
    kl__sim_answer *answer = arg;
    kl_sim *sim = answer->sim;

    kl__mutex_lock(&sim->mutex);
    kl__cond_broadcast(&sim->wake.cond);
    kl__cond_broadcast(&sim->grown.cond);
    if (answer->watch.resource != NULL) {
        kl__cond_broadcast(&answer->watch.resource->changed.cond);
    }
    kl__mutex_unlock(&sim->mutex);
}

/* KL_OK while the connection of the request is open; else the error that the
 * reader of the answer gets. */
static kl_code check_locked(const kl__sim_answer *answer, kl_error *err)
{
    const kl_sim *sim = answer->sim;

    if (answer->closed != NULL && *answer->closed) {
        return kl_error_set(err, KL_ECLOSED, "simulator: closed");
    }
    if (answer->direct) {
        return KL_OK;
    }
    if (sim->refused) {
        return kl_error_set(err, KL_EUNAVAILABLE,
                            "simulator: connection refused (fault refuse)");
    }
    if (answer->breaks != sim->breaks ||
        (answer->watch.resource != NULL && answer->cuts != sim->cuts)) {
        return kl_error_set(err, KL_EUNAVAILABLE,
                            "simulator: connection cut (fault cut)");
    }
    return KL_OK;
}

/* Waits until the bell is rung, at most until `until_ms` of the cluster's clock
 * (< 0: no limit). A reader that must not block has a deadline that has passed:
 * it gets KL_ETIMEOUT, and its ear is called later (kl__sim_bell_hear). */
static kl_code block_locked(kl__sim_answer *answer, kl__sim_bell *bell,
                            int64_t until_ms, const kl__sim_wait *wait,
                            kl_error *err)
{
    int64_t deadline = wait->deadline_ms;

    if (kl__cancel_fired(wait->cancel)) {
        return kl_error_set(err, KL_ECANCELED, "cancelled");
    }
    until_ms = kl__sim_clock_deadline(&answer->sim->clock, until_ms);
    answer->look_again_ms = until_ms;
    kl__sim_bell_hear(bell, &answer->ear);
    if (deadline >= 0 && kl__clock_now(kl__clock_real()) >= deadline) {
        return kl_error_set(err, KL_ETIMEOUT,
                            "simulator: no answer in the time given");
    }
    if (until_ms < 0 || (deadline >= 0 && deadline < until_ms)) {
        until_ms = deadline;
    }
    kl__cond_wait(&bell->cond, &answer->sim->mutex, until_ms);
    return KL_OK;
}

/* Applies the faults that come before the head of an answer. pace->most is 0
 * while a fault delays the answer. */
static kl_code hinder_locked(kl__sim_answer *answer, kl__sim_pace *pace,
                             kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl_code code = KL_OK;

    *pace = (kl__sim_pace){SIZE_MAX, -1};
    if (answer->direct) {
        return KL_OK;
    }
    if (sim->frozen) {
        pace->most = 0;
        return KL_OK;
    }
    if (!answer->is_planned) {
        answer->is_planned = true;
        code = kl__sim_plan_begin(answer, err);
    }
    if (code == KL_OK) {
        code = kl__sim_plan_head(answer, pace, err);
        if (code != KL_OK && answer->status == 0) {
            kl__sim_requests_add(sim, &answer->ask,
                                 0); /* the request did arrive */
        }
    }
    return code;
}

/* Carries the request out: at first, and again when the version that it waits
 * for exists, or when it has waited for that version long enough. */
static kl_code try_locked(kl__sim_answer *answer, kl__sim_pace *pace,
                          kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl_code code;

    if (answer->begun && sim->version < answer->await &&
        kl__sim_clock_now(&sim->clock) < answer->give_up_ms) {
        pace->until_ms = answer->give_up_ms;
        return KL_OK;
    }
    kl__sim_answer_reset(answer);
    answer->begun = true;
    code = kl__sim_dispatch(answer, err);
    pace->until_ms = answer->await != 0 ? answer->give_up_ms : -1;
    if (answer->status != 0 && !answer->direct) {
        kl__sim_requests_add(sim, &answer->ask, answer->status);
    }
    return code;
}

kl_code kl__sim_answer_begin(kl__sim_answer *answer, const kl__sim_wait *wait,
                             kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake_reader, .arg = answer};
    kl_sim *sim = answer->sim;
    bool hooked = kl__cancel_add(wait->cancel, &hook);
    kl_code code;

    if (kl__sim_is_control(answer)) {
        if (hooked) {
            kl__cancel_remove(wait->cancel, &hook);
        }
        code = answer->status == 0 ? kl__sim_control(answer, err) : KL_OK;
        answer->direct = true; /* faults do not apply */
        return code;
    }
    kl__mutex_lock(&sim->mutex);
    for (;;) {
        kl__sim_pace pace;

        code = check_locked(answer, err);
        if (code == KL_OK) {
            code = hinder_locked(answer, &pace, err);
        }
        if (code == KL_OK && pace.most != 0 && answer->status == 0) {
            code = try_locked(answer, &pace, err);
        }
        if (code != KL_OK || (pace.most != 0 && answer->status != 0)) {
            break;
        }
        code = block_locked(answer, pace.most != 0 ? &sim->grown : &sim->wake,
                            pace.until_ms, wait, err);
        if (code != KL_OK) {
            break;
        }
    }
    kl__mutex_unlock(&sim->mutex);
    if (hooked) {
        kl__cancel_remove(wait->cancel, &hook);
    }
    if (code == KL_OK && !answer->encoded) {
        answer->encoded = true;
        code = kl__sim_encode(answer, err);
    }
    return code;
}

/* Makes bytes of a watch ready, or waits for them. */
static kl_code fill_watch_locked(kl__sim_answer *answer,
                                 const kl__sim_wait *wait, kl_error *err)
{
    kl__sim_watch *watch = &answer->watch;
    int64_t wake_ms = -1;
    size_t released;
    kl_code code;

    kl__sim_tamper_release(answer);
    released = answer->out.length;
    code = kl__sim_watch_fill(answer, &wake_ms, err);
    if (code == KL_OK && answer->out.length != 0) {
        return kl__sim_tamper(answer, released, err);
    }
    if (code != KL_OK || watch->ended) {
        return code;
    }
    return block_locked(answer,
                        watch->await != 0 ? &answer->sim->grown
                                          : &watch->resource->changed,
                        wake_ms, wait, err);
}

/* Sets the pace that the faults allow to an answer under way. */
static kl_code pace_locked(kl__sim_answer *answer, kl__sim_pace *pace,
                           kl_error *err)
{
    bool expires = false;
    kl_code code = kl__sim_plan_refresh(answer, &expires, err);

    if (expires) {
        kl__sim_watch_expire(answer);
    }
    *pace = (kl__sim_pace){SIZE_MAX, -1};
    if (code == KL_OK && answer->sim->frozen && !answer->direct) {
        pace->most = 0;
    } else if (code == KL_OK) {
        code = kl__sim_plan_body(answer, pace, err);
    }
    return code;
}

/* Returns when answer->out holds a byte, or when the answer has ended. *most:
 * how many bytes may be sent now. */
static kl_code fill_answer(kl__sim_answer *answer, size_t *most,
                           const kl__sim_wait *wait, kl_error *err)
{
    bool watches = answer->watch.resource != NULL;
    kl_sim *sim = answer->sim;
    kl_code code;

    kl__mutex_lock(&sim->mutex);
    for (;;) {
        kl__sim_pace pace = {SIZE_MAX, -1};

        code = check_locked(answer, err);
        if (code == KL_OK) {
            code = pace_locked(answer, &pace, err);
        }
        *most = pace.most;
        if (code != KL_OK) {
            break;
        }
        if (pace.most == 0) {
            /* kl__sim_wake_all no longer rings the bell of a resource that was
             * removed, so its watches wait for the cluster's bell. */
            kl__sim_bell *bell = watches && !answer->watch.resource->removed
                                     ? &answer->watch.resource->changed
                                     : &sim->wake;

            code = block_locked(answer, bell, pace.until_ms, wait, err);
        } else if (!watches || answer->out.length != 0 || answer->watch.ended) {
            break;
        } else {
            code = fill_watch_locked(answer, wait, err);
        }
        if (code != KL_OK) {
            break;
        }
    }
    kl__mutex_unlock(&sim->mutex);
    if (code == KL_OK && !watches) {
        code = kl__sim_encode_list(answer, err);
    }
    return code;
}

kl_code kl__sim_answer_read(kl__sim_answer *answer, char *buffer, size_t size,
                            size_t *length, const kl__sim_wait *wait,
                            kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake_reader, .arg = answer};
    bool hooked = kl__cancel_add(wait->cancel, &hook);
    size_t most = SIZE_MAX;
    kl_code code = fill_answer(answer, &most, wait, err);
    size_t ready = answer->out.length - answer->out_at;

    if (hooked) {
        kl__cancel_remove(wait->cancel, &hook);
    }
    *length = 0;
    if (code != KL_OK || ready == 0) {
        return code;
    }
    *length = ready < size ? ready : size;
    *length = *length < most ? *length : most;
    memcpy(buffer, answer->out.bytes + answer->out_at, *length);
    answer->out_at += *length;
    if (answer->plan != NULL) {
        kl__mutex_lock(&answer->sim->mutex);
        kl__sim_plan_sent(answer, *length);
        kl__mutex_unlock(&answer->sim->mutex);
    }
    if (answer->out_at == answer->out.length) {
        kl__buf_reset(&answer->out);
        answer->out_at = 0;
    }
    return KL_OK;
}
