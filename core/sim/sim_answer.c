/*
 * sim_answer.c - see sim_answer.h. Waiting for versions, events and the end of
 * faults happens here, on the thread that reads.
 */
#include "sim/sim_answer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/sim_control.h"
#include "sim/sim_faults.h"
#include "sim/sim_list.h"
#include "sim/sim_plan.h"
#include "sim/sim_requests.h"
#include "sim/sim_encode.h"
#include "sim/sim_shape.h"

#include <string.h>

kl__sim_answer *kl__sim_answer_new(kl_sim *sim, const kl__sim_request *request,
                                   kl_error *err)
{
    kl__sim_answer *answer = kl__calloc(1, sizeof(*answer));

    if (answer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return NULL;
    }
    if (kl__sim_ask_init(&answer->ask, request, err) != KL_OK) {
        kl__free(answer);
        return NULL;
    }
    if (!kl__sim_accept_read(&answer->ask, 0, &answer->form)) {
        answer->form.encoding = KL__SIM_JSON;
    }
    answer->sim = sim;
    answer->retry_after_seconds = -1;
    kl__mutex_lock(&sim->mutex);
    answer->breaks = sim->breaks;
    answer->cuts = sim->cuts;
    kl__mutex_unlock(&sim->mutex);
    return answer;
}

void kl__sim_answer_drop(kl__sim_answer *answer)
{
    for (size_t i = 0; i < answer->state_count; i++) {
        kl__sim_state_unref(answer->states[i]);
    }
    kl__free(answer->states);
    answer->states = NULL;
    answer->state_count = answer->state_at = answer->state_capacity = 0;
}

/* Forgets what an attempt that has to wait has made. */
static void reset(kl__sim_answer *answer)
{
    kl__sim_answer_drop(answer);
    kl__sim_selection_deinit(&answer->selection);
    kl__sim_user_deinit(&answer->user);
    kl__sim_kind_unref(answer->kind);
    answer->kind = NULL;
    kl__buf_reset(&answer->out);
    kl__buf_reset(&answer->tail);
    kl__sim_warnings_deinit(&answer->warnings);
}

void kl__sim_answer_free(kl__sim_answer *answer)
{
    if (answer == NULL) {
        return;
    }
    if (answer->watch.resource != NULL || answer->plan != NULL) {
        kl__mutex_lock(&answer->sim->mutex);
        if (answer->watch.resource != NULL) {
            kl__sim_resource_unref(answer->watch.resource);
        }
        kl__sim_plan_free(answer);
        kl__mutex_unlock(&answer->sim->mutex);
    }
    reset(answer);
    kl__buf_deinit(&answer->out);
    kl__buf_deinit(&answer->tail);
    kl__buf_deinit(&answer->plain);
    kl__deflate_free(answer->gzip);
    kl__free(answer->owned_type);
    kl__sim_ask_deinit(&answer->ask);
    kl__free(answer);
}

void kl__sim_answer_json(kl__sim_answer *answer, int status)
{
    answer->status = status;
    answer->content_type = "application/json";
}

kl_code kl__sim_answer_object(kl__sim_answer *answer, int status,
                              const kl__sim_view *view,
                              const kl__sim_state *state, kl_error *err)
{
    if (answer->form.shape == KL__SIM_PARTIAL_LIST) {
        return kl__sim_refuse_shape(answer, view->kind, false, err);
    }
    kl__sim_answer_json(answer, status);
    kl__sim_shape_object(answer, view, state, &answer->out);
    kl__buf_putc(&answer->out, '\n');
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

kl_code kl__sim_answer_keep(kl__sim_answer *answer, kl__sim_state *state,
                            kl_error *err)
{
    if (answer->state_count == answer->state_capacity) {
        size_t capacity =
            answer->state_capacity != 0 ? answer->state_capacity * 2 : 64;
        kl__sim_state **states =
            kl__realloc(answer->states, capacity * sizeof(*states));

        if (states == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        }
        answer->states = states;
        answer->state_capacity = capacity;
    }
    answer->states[answer->state_count++] = kl__sim_state_ref(state);
    return KL_OK;
}

bool kl__sim_answer_await(kl__sim_answer *answer, int64_t version)
{
    int64_t now = kl__sim_clock_now(&answer->sim->clock);

    if (answer->await == 0) {
        answer->give_up_ms = now + KL__SIM_WAIT_MS;
    }
    answer->await = version;
    return now < answer->give_up_ms;
}

/* Runs on the thread that cancels: wakes the reader. */
static void wake_reader(void *arg)
{
    kl__sim_answer *answer = arg;
    kl_sim *sim = answer->sim;

    kl__mutex_lock(&sim->mutex);
    kl__cond_broadcast(&sim->wake);
    if (answer->watch.resource != NULL) {
        kl__cond_broadcast(&answer->watch.resource->changed);
    }
    kl__mutex_unlock(&sim->mutex);
}

/* Whether the connection that it came by still stands. */
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
                            "simulator: connection refused; it was told to");
    }
    if (answer->breaks != sim->breaks ||
        (answer->watch.resource != NULL && answer->cuts != sim->cuts)) {
        return kl_error_set(err, KL_EUNAVAILABLE,
                            "simulator: connection cut; it was told to");
    }
    return KL_OK;
}

/* Waits until something may have changed, at most until `until_ms` of the
 * cluster's clock. */
static kl_code block_locked(kl__sim_answer *answer, kl__cond *cond,
                            int64_t until_ms, const kl__sim_wait *wait,
                            kl_error *err)
{
    int64_t deadline = wait->deadline_ms;

    if (kl__cancel_fired(wait->cancel)) {
        return kl_error_set(err, KL_ECANCELED, "cancelled");
    }
    if (deadline >= 0 && kl__clock_now(kl__clock_real()) >= deadline) {
        return kl_error_set(err, KL_ETIMEOUT,
                            "simulator: no answer in the time given");
    }
    until_ms = kl__sim_clock_deadline(&answer->sim->clock, until_ms);
    if (until_ms < 0 || (deadline >= 0 && deadline < until_ms)) {
        until_ms = deadline;
    }
    kl__cond_wait(cond, &answer->sim->mutex, until_ms);
    return KL_OK;
}

/* The faults that come before the head: pace->most is 0 while it waits. */
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
                                 0); /* it was asked, after all */
        }
    }
    return code;
}

/* Carries it out once more if what it waits for is there, or never comes. */
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
    reset(answer);
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
        answer->direct = true; /* no fault is for it */
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
        code = block_locked(answer, &sim->wake, pace.until_ms, wait, err);
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
    kl_code code = kl__sim_watch_fill(answer, &wake_ms, err);

    if (code == KL_OK && answer->out.length != 0) {
        return kl__sim_tamper(answer, 0, err);
    }
    if (code != KL_OK || watch->ended) {
        return code;
    }
    return block_locked(answer,
                        watch->await != 0 ? &answer->sim->wake
                                          : &watch->resource->changed,
                        wake_ms, wait, err);
}

/* What the faults of an answer that is under way let through. */
static kl_code pace_locked(kl__sim_answer *answer, kl__sim_pace *pace,
                           kl_error *err)
{
    kl_code code = kl__sim_plan_refresh(answer, err);

    *pace = (kl__sim_pace){SIZE_MAX, -1};
    if (code == KL_OK && answer->sim->frozen && !answer->direct) {
        pace->most = 0;
    } else if (code == KL_OK) {
        code = kl__sim_plan_body(answer, pace, err);
    }
    return code;
}

/* Returns once there is a byte in answer->out, or none will come; *most: how
 * many of them may go out. */
static kl_code fill(kl__sim_answer *answer, size_t *most,
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
            /* One of a kind that is served no more is woken by nothing else. */
            kl__cond *cond = watches && !answer->watch.resource->removed
                                 ? &answer->watch.resource->changed
                                 : &sim->wake;

            code = block_locked(answer, cond, pace.until_ms, wait, err);
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
    kl_code code = fill(answer, &most, wait, err);
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
        kl__sim_plan_sent(answer, buffer, *length);
        kl__mutex_unlock(&answer->sim->mutex);
    }
    if (answer->out_at == answer->out.length) {
        kl__buf_reset(&answer->out);
        answer->out_at = 0;
    }
    return KL_OK;
}
