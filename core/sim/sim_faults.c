/*
 * sim_faults.c - the faults of sim.h, and what was asked: see sim_faults.h.
 */
#include "sim/sim_faults.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/writer.h"
#include "sim/sim_status.h"

#include <string.h>

void kl_sim_cut(kl_sim *sim)
{
    kl__mutex_lock(&sim->mutex);
    sim->cuts++;
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
}

void kl_sim_freeze(kl_sim *sim, bool on)
{
    kl__mutex_lock(&sim->mutex);
    sim->frozen = on;
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
}

void kl_sim_compact(kl_sim *sim)
{
    kl__mutex_lock(&sim->mutex);
    for (kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        kl__sim_resource_compact(KL__CONTAINER(node, kl__sim_resource, node),
                                 sim->version);
    }
    kl__mutex_unlock(&sim->mutex);
}

static void free_failure(kl__sim_failure *failure)
{
    kl__free(failure->verb);
    kl__free(failure->body);
    kl__free(failure);
}

kl_code kl_sim_fail(kl_sim *sim, const kl_sim_failure *wanted, kl_error *err)
{
    kl__sim_failure *failure;

    if (wanted->count <= 0 || wanted->status < 200 || wanted->status > 599) {
        return kl_error_set(err, KL_EINVAL,
                            "a count above 0 and a status of 200 to 599 are "
                            "needed, not %d and %d",
                            wanted->count, wanted->status);
    }
    failure = kl__calloc(1, sizeof(*failure));
    if (failure == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a failure");
    }
    failure->verb = kl__strdup(wanted->verb);
    failure->body = kl__strdup(wanted->body);
    if ((wanted->verb != NULL && failure->verb == NULL) ||
        (wanted->body != NULL && failure->body == NULL)) {
        free_failure(failure);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a failure");
    }
    failure->count = wanted->count;
    failure->status = wanted->status;
    failure->retry_after_seconds = wanted->retry_after_seconds;
    kl__mutex_lock(&sim->mutex);
    kl__list_append(&sim->failures, &failure->node);
    kl__mutex_unlock(&sim->mutex);
    return KL_OK;
}

/* The first failure in store for a verb, or NULL. */
static kl__sim_failure *find_failure(kl_sim *sim, const char *verb)
{
    for (kl__list *node = sim->failures.next; node != &sim->failures;
         node = node->next) {
        kl__sim_failure *failure = KL__CONTAINER(node, kl__sim_failure, node);

        if (failure->verb == NULL || strcmp(failure->verb, verb) == 0) {
            return failure;
        }
    }
    return NULL;
}

static kl_code write_failure(kl__sim_answer *answer,
                             const kl__sim_failure *failure, kl_error *err)
{
    kl__sim_status status = {.code = failure->status,
                             .reason = kl__sim_reason(failure->status),
                             .message =
                                 "the simulator was told to answer with this"};

    if (failure->retry_after_seconds > 0) {
        status.retry_after_seconds = failure->retry_after_seconds;
    }
    if (failure->body == NULL) {
        return kl__sim_answer_status(answer, &status, err);
    }
    answer->status = failure->status;
    answer->content_type = *failure->body == '{' || *failure->body == '['
                               ? "application/json"
                               : "text/plain; charset=utf-8";
    kl__buf_puts(&answer->out, failure->body);
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

bool kl__sim_fail_next(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    kl__sim_failure *failure =
        find_failure(answer->sim, kl__sim_verb(&answer->ask));

    if (failure == NULL) {
        return false;
    }
    *code = write_failure(answer, failure, err);
    if (failure->retry_after_seconds > 0) {
        answer->retry_after_seconds = failure->retry_after_seconds;
    }
    if (--failure->count == 0) {
        kl__list_remove(&failure->node);
        free_failure(failure);
    }
    return true;
}

static void forget(kl__sim_asked *asked)
{
    kl__free(asked->method);
    kl__free(asked->target);
    memset(asked, 0, sizeof(*asked));
}

void kl__sim_record(kl_sim *sim, const kl__sim_ask *ask, int status)
{
    kl__sim_asked asked = {kl__strdup(ask->method), kl__strdup(ask->target),
                           status};

    if (asked.method == NULL || asked.target == NULL) {
        forget(&asked);
        return;
    }
    forget(&sim->asked[sim->asked_next]);
    sim->asked[sim->asked_next] = asked;
    sim->asked_next = (sim->asked_next + 1) % KL__SIM_MAX_REQUESTS;
    if (sim->asked_count < KL__SIM_MAX_REQUESTS) {
        sim->asked_count++;
    }
}

static void write_text(kl_writer *writer, const char *name, const char *value)
{
    kl_writer_name(writer, name, strlen(name));
    kl_writer_string(writer, value, strlen(value));
}

char *kl_sim_requests(kl_sim *sim, kl_error *err)
{
    kl_writer *writer = kl_writer_new();
    const char *json;
    char *copy = NULL;

    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for the requests");
        return NULL;
    }
    kl_writer_begin_array(writer);
    kl__mutex_lock(&sim->mutex);
    for (size_t i = 0; i < sim->asked_count; i++) {
        size_t first =
            sim->asked_next + KL__SIM_MAX_REQUESTS - sim->asked_count;
        const kl__sim_asked *asked =
            &sim->asked[(first + i) % KL__SIM_MAX_REQUESTS];

        kl_writer_begin_object(writer);
        write_text(writer, "method", asked->method);
        write_text(writer, "target", asked->target);
        kl_writer_name(writer, "status", 6);
        kl_writer_integer(writer, asked->status);
        kl_writer_end_object(writer);
    }
    kl__mutex_unlock(&sim->mutex);
    kl_writer_end_array(writer);
    json = kl_writer_finish(writer, NULL, err);
    if (json != NULL) {
        copy = kl__strdup(json);
        if (copy == NULL) {
            kl_error_set(err, KL_ENOMEM, "out of memory for the requests");
        }
    }
    kl_writer_free(writer);
    return copy;
}

static void forget_all(kl_sim *sim)
{
    for (size_t i = 0; i < KL__SIM_MAX_REQUESTS; i++) {
        forget(&sim->asked[i]);
    }
    sim->asked_count = sim->asked_next = 0;
}

void kl_sim_requests_clear(kl_sim *sim)
{
    kl__mutex_lock(&sim->mutex);
    forget_all(sim);
    kl__mutex_unlock(&sim->mutex);
}

void kl__sim_faults_deinit(kl_sim *sim)
{
    kl__list *node;

    while ((node = kl__list_shift(&sim->failures)) != NULL) {
        free_failure(KL__CONTAINER(node, kl__sim_failure, node));
    }
    forget_all(sim);
}
