/*
 * sim_delete.c - DELETE of one object or of a collection: reads the request and
 * writes the answer. sim_delete_object.c deletes the objects.
 */
#include "sim/core/write/sim_write.h"

#include "base/mem.h"
#include "sim/core/answer/sim_list.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/write/sim_deletion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The most bytes that an answer needs beside the text of the object. */
enum { ANSWER_ROOM = 4096 };

/* Answers 409 if preconditions of DeleteOptions do not hold. */
static kl_code check_preconditions(kl__sim_answer *answer,
                                   const kl__sim_kind *kind,
                                   const kl__sim_state *state,
                                   const kl__sim_deletion *deletion,
                                   kl_error *err)
{
    const char *uid = deletion->uid, *version = deletion->version;
    const char *dot = *kind->group != '\0' ? "." : "";
    kl__sim_status status = {.code = 409,
                             .reason = "Conflict",
                             .has_details = true,
                             .name = state->name,
                             .group = kind->group,
                             .kind = kind->kind};
    char current[24], why[512];

    snprintf(current, sizeof(current), "%" PRId64, state->version);
    if (uid != NULL && strcmp(uid, state->uid) != 0) {
        if (kl__sim_is_namespace(kind)) {
            snprintf(why, sizeof(why),
                     "Precondition failed: UID in precondition: %.100s, UID in "
                     "object meta: %s",
                     uid, state->uid);
            return kl__sim_refuse_conflict(answer, kind, state->name, why, err);
        }
        snprintf(status.message, sizeof(status.message),
                 "Operation cannot be fulfilled on %s%s%s \"%s\": the UID in "
                 "the precondition (%.100s) does not match the UID in record "
                 "(%s). The object might have been deleted and then recreated",
                 kind->kind, dot, kind->group, state->name, uid, state->uid);
    } else if (version != NULL && strcmp(version, current) != 0) {
        snprintf(status.message, sizeof(status.message),
                 "Operation cannot be fulfilled on %s%s%s \"%s\": the "
                 "ResourceVersion in the precondition (%.100s) does not match "
                 "the ResourceVersion in record (%s). The object might have "
                 "been modified",
                 kind->kind, dot, kind->group, state->name, version, current);
    } else {
        return KL_OK;
    }
    kl__sim_make_utf8(status.message);
    return kl__sim_answer_status(answer, &status, err);
}

/* True for namespaces that cannot be deleted. */
static bool must_stay(const kl__sim_kind *kind, const char *name)
{
    return kl__sim_is_namespace(kind) &&
           (strcmp(name, "default") == 0 || strcmp(name, "kube-system") == 0 ||
            strcmp(name, "kube-public") == 0);
}

static kl_code refuse_to_delete(kl__sim_answer *answer, const char *name,
                                kl_error *err)
{
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = name,
                             .kind = "namespaces"};

    snprintf(status.message, sizeof(status.message),
             "namespaces \"%s\" is forbidden: this namespace may not be "
             "deleted",
             name);
    return kl__sim_answer_status(answer, &status, err);
}

/* Warns that deleting a Job leaves its Pods. */
static kl_code warn_of_orphans(kl__sim_answer *answer, const kl__sim_kind *kind,
                               const kl__sim_deletion *deletion, kl_error *err)
{
    if (strcmp(kind->group, "batch") != 0 ||
        strcmp(kind->plural, "jobs") != 0 || deletion->has_orphan ||
        deletion->policy != KL__SIM_BY_DEFAULT) {
        return KL_OK;
    }
    return kl__sim_warn(answer,
                        "child pods are preserved by default when jobs are "
                        "deleted; set propagationPolicy=Background to remove "
                        "them or set propagationPolicy=Orphan to suppress this "
                        "warning",
                        err);
}

/* Prepares both answers before the deletion, because afterwards the answer must
 * not fail: writes the Status "Success", and reserves memory for an answer that
 * shows the object. */
static kl_code prepare_answer(kl__sim_answer *answer, const kl__sim_kind *kind,
                              const kl__sim_state *state, kl_error *err)
{
    kl__sim_status status = {.code = 200,
                             .has_details = true,
                             .name = state->name,
                             .group = kind->group,
                             .kind = kind->plural,
                             .uid = state->uid};

    if (kl__buf_reserve(&answer->out, state->length + ANSWER_ROOM) == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    return kl__sim_answer_status(answer, &status, err);
}

/* Answers with the object if the deletion has only marked it, or if objects of
 * its kind are always returned. Otherwise the prepared Status stays. */
static kl_code answer_deleted(kl__sim_answer *answer, const kl__sim_kind *kind,
                              const kl__sim_deletion *deletion,
                              const kl__sim_fate *fate, kl_error *err)
{
    kl__sim_view view = {kind, answer->ask.route.version, false, fate->version};
    bool accepted = !fate->is_gone && deletion->has_orphan && !deletion->orphan;

    if ((fate->is_gone || fate->is_pending) &&
        !kl__sim_kind_is(kind, KL__SIM_RETURNED)) {
        return KL_OK;
    }
    kl__buf_reset(&answer->out);
    return kl__sim_answer_object(answer, accepted ? 202 : 200, &view,
                                 fate->shown, err);
}

static kl_code delete_state(kl__sim_answer *answer, kl__sim_resource *resource,
                            kl__sim_state *state,
                            const kl__sim_deletion *deletion, kl_error *err)
{
    kl__sim_fate fate = {0};
    kl_code code = warn_of_orphans(answer, answer->kind, deletion, err);

    if (code == KL_OK) {
        code = prepare_answer(answer, answer->kind, state, err);
    }
    if (code == KL_OK) {
        code = kl__sim_delete_object(answer->sim, resource, state, deletion,
                                     &fate, err);
    }
    if (code == KL_OK) {
        code = answer_deleted(answer, answer->kind, deletion, &fate, err);
    }
    if (code != KL_OK) {
        answer->status = 0; /* drop the prepared answer */
    }
    kl__sim_state_unref(fate.shown);
    return code;
}

kl_code kl__sim_delete(kl__sim_answer *answer, kl__sim_resource *resource,
                       kl_error *err)
{
    kl__sim_deletion deletion;
    kl__sim_state *state;
    kl_code code = KL_OK;

    if (!kl__sim_deletion_read(&deletion, answer, &code, err)) {
        return code;
    }
    state = kl__sim_current(answer, resource, &code, err);
    if (state != NULL && must_stay(resource->kind, state->name)) {
        return refuse_to_delete(answer, state->name, err);
    }
    if (state != NULL && (deletion.uid != NULL || deletion.version != NULL)) {
        code =
            check_preconditions(answer, resource->kind, state, &deletion, err);
    }
    if (state == NULL || code != KL_OK || answer->status != 0) {
        return code;
    }
    kl__sim_state_ref(state);
    code = delete_state(answer, resource, state, &deletion, err);
    kl__sim_state_unref(state);
    return code;
}

kl_code kl__sim_delete_all(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err)
{
    kl__sim_options options;
    kl__sim_deletion deletion;
    kl_code code = KL_OK;

    if (!kl__sim_deletion_read(&deletion, answer, &code, err) ||
        !kl__sim_options_read(&options, answer, resource->kind, false, &code,
                              err)) {
        return code;
    }
    code = warn_of_orphans(answer, answer->kind, &deletion, err);
    for (const kl__sim_node *node = resource->items.first[0];
         node != NULL && code == KL_OK; node = node->next[0]) {
        if (kl__sim_selection_matches(&answer->selection, node->state)) {
            code = kl__sim_answer_keep(answer, node->state, err);
        }
    }
    for (size_t i = 0; i < answer->state_count && code == KL_OK; i++) {
        kl__sim_fate fate = {0};

        code = kl__sim_delete_object(answer->sim, resource, answer->states[i],
                                     &deletion, &fate, err);
        kl__sim_state_unref(fate.shown);
    }
    return code == KL_OK ? kl__sim_list_kept(answer, answer->kind, err) : code;
}
