/*
 * sim_answer.c - see sim_answer.h: makes, fills and frees answers.
 */
#include "sim/core/answer/sim_answer.h"

#include "base/mem.h"
#include "sim/core/answer/sim_plan.h"
#include "sim/core/answer/sim_shape.h"

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
    (void)kl__sim_accept_read(&answer->ask, 0, &answer->form);
    answer->sim = sim;
    answer->retry_after_seconds = -1;
    answer->look_again_ms = -1;
    kl__list_init(&answer->ear.node);
    answer->breaks = atomic_load_explicit(&sim->breaks, memory_order_relaxed);
    answer->cuts = atomic_load_explicit(&sim->cuts, memory_order_relaxed);
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

void kl__sim_answer_reset(kl__sim_answer *answer)
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
    if (answer->watch.resource != NULL || answer->plan != NULL ||
        answer->ear.wake != NULL) {
        kl__mutex_lock(&answer->sim->mutex);
        kl__list_remove(&answer->ear.node);
        if (answer->watch.resource != NULL) {
            kl__sim_resource_unref(answer->watch.resource);
        }
        kl__sim_plan_free(answer);
        kl__mutex_unlock(&answer->sim->mutex);
    }
    kl__sim_answer_reset(answer);
    kl__buf_deinit(&answer->out);
    kl__buf_deinit(&answer->tail);
    kl__buf_deinit(&answer->plain);
    kl__deflate_free(answer->gzip);
    kl__free(answer->owned_type);
    kl__sim_ask_deinit(&answer->ask);
    kl__free(answer);
}

kl_code kl__sim_answer_object(kl__sim_answer *answer, int status,
                              const kl__sim_view *view,
                              const kl__sim_state *state, kl_error *err)
{
    if (answer->form.shape == KL__SIM_PARTIAL_LIST) {
        return kl__sim_refuse_shape(answer, false, err);
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
