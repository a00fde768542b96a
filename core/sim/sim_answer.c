/*
 * sim_answer.c - see sim_answer.h. Waiting for versions, events and the end of
 * faults happens here, on the thread that reads.
 */
#include "sim/sim_answer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/sim_faults.h"
#include "sim/sim_list.h"

#include <string.h>

enum { BATCH = 64 * 1024 }; /* bytes of a list that are made ready at once */

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
    kl__sim_kind_unref(answer->kind);
    answer->kind = NULL;
    kl__buf_reset(&answer->out);
    kl__buf_reset(&answer->tail);
}

void kl__sim_answer_free(kl__sim_answer *answer)
{
    if (answer == NULL) {
        return;
    }
    if (answer->watch.resource != NULL) {
        kl__mutex_lock(&answer->sim->mutex);
        kl__sim_resource_unref(answer->watch.resource);
        kl__mutex_unlock(&answer->sim->mutex);
    }
    reset(answer);
    kl__buf_deinit(&answer->out);
    kl__buf_deinit(&answer->tail);
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
    kl__sim_answer_json(answer, status);
    kl__sim_state_write(state, view, &answer->out);
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
    int64_t now = kl__clock_now(kl__clock_real());

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

/* Waits until something may have changed, at most until `until_ms`. */
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
    if (until_ms < 0 || (deadline >= 0 && deadline < until_ms)) {
        until_ms = deadline;
    }
    kl__cond_wait(cond, &answer->sim->mutex, until_ms);
    return KL_OK;
}

/* Carries it out once more if what it waits for is there, or never comes. */
static kl_code try_locked(kl__sim_answer *answer, kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl_code code;

    if (answer->begun && sim->version < answer->await &&
        kl__clock_now(kl__clock_real()) < answer->give_up_ms) {
        return KL_OK;
    }
    reset(answer);
    answer->begun = true;
    code = kl__sim_dispatch(answer, err);
    if (answer->status != 0 && !answer->direct) {
        kl__sim_record(sim, &answer->ask, answer->status);
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

    kl__mutex_lock(&sim->mutex);
    for (;;) {
        bool frozen = sim->frozen && !answer->direct;

        code = check_locked(answer, err);
        if (code == KL_OK && !frozen && answer->status == 0) {
            code = try_locked(answer, err);
        }
        if (code != KL_OK || (!frozen && answer->status != 0)) {
            break;
        }
        code = block_locked(
            answer, &sim->wake,
            answer->await != 0 && !frozen ? answer->give_up_ms : -1, wait, err);
        if (code != KL_OK) {
            break;
        }
    }
    kl__mutex_unlock(&sim->mutex);
    if (hooked) {
        kl__cancel_remove(wait->cancel, &hook);
    }
    return code;
}

/* Makes the next items of a list ready, and what comes after the last. */
static kl_code fill_list(kl__sim_answer *answer, kl_error *err)
{
    kl__buf *out = &answer->out;

    while (answer->state_at < answer->state_count && out->length < BATCH) {
        if (answer->state_at != 0) {
            kl__buf_putc(out, ',');
        }
        kl__sim_state_write(answer->states[answer->state_at], &answer->view,
                            out);
        answer->state_at++;
    }
    if (answer->state_at == answer->state_count && answer->tail.length != 0) {
        kl__buf_append(out, answer->tail.bytes, answer->tail.length);
        kl__buf_putc(out, '\n');
        kl__buf_reset(&answer->tail);
    }
    return !out->failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a list");
}

/* Makes bytes of a watch ready, or waits for them. */
static kl_code fill_watch_locked(kl__sim_answer *answer,
                                 const kl__sim_wait *wait, kl_error *err)
{
    kl__sim_watch *watch = &answer->watch;
    int64_t wake_ms = -1;
    kl_code code = kl__sim_watch_fill(answer, &wake_ms, err);

    if (code != KL_OK || answer->out.length != 0 || watch->ended) {
        return code;
    }
    return block_locked(answer,
                        watch->await != 0 ? &answer->sim->wake
                                          : &watch->resource->changed,
                        wake_ms, wait, err);
}

/* Returns once there is a byte in answer->out, or none will come. */
static kl_code fill(kl__sim_answer *answer, const kl__sim_wait *wait,
                    kl_error *err)
{
    bool watches = answer->watch.resource != NULL;
    kl_sim *sim = answer->sim;
    kl_code code;

    kl__mutex_lock(&sim->mutex);
    for (;;) {
        code = check_locked(answer, err);
        if (code != KL_OK) {
            break;
        }
        if (sim->frozen && !answer->direct) {
            kl__cond *cond =
                watches ? &answer->watch.resource->changed : &sim->wake;

            code = block_locked(answer, cond, -1, wait, err);
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
        code = fill_list(answer, err);
    }
    return code;
}

kl_code kl__sim_answer_read(kl__sim_answer *answer, char *buffer, size_t size,
                            size_t *length, const kl__sim_wait *wait,
                            kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake_reader, .arg = answer};
    bool hooked = kl__cancel_add(wait->cancel, &hook);
    kl_code code = fill(answer, wait, err);
    size_t ready = answer->out.length - answer->out_at;

    if (hooked) {
        kl__cancel_remove(wait->cancel, &hook);
    }
    *length = 0;
    if (code != KL_OK || ready == 0) {
        return code;
    }
    *length = ready < size ? ready : size;
    memcpy(buffer, answer->out.bytes + answer->out_at, *length);
    answer->out_at += *length;
    if (answer->out_at == answer->out.length) {
        kl__buf_reset(&answer->out);
        answer->out_at = 0;
    }
    return KL_OK;
}
