/*
 * sim_delete.c - DELETE of one object and of a collection; finalizers keep an
 * object until they are gone.
 */
#include "sim/sim_write.h"

#include "base/mem.h"
#include "sim/sim_list.h"
#include "sim/sim_random.h"
#include "sim/sim_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

kl_code kl__sim_commit(kl_sim *sim, kl__sim_resource *resource,
                       kl__sim_state *state, kl_error *err)
{
    int64_t version = state->version;
    kl_code code = KL_OK;

    /* A definition that fails half-way is made again: that has to be a new one
     * to the store, and none to what is served already. */
    if (kl__sim_is_crd(resource->kind)) {
        code = kl__sim_crd_apply(sim, state, err);
    }
    if (code != KL_OK) {
        kl__sim_state_unref(state);
        return code;
    }
    code = kl__sim_resource_put(resource, state, err);
    if (code == KL_OK) {
        sim->version = version;
        kl__cond_broadcast(&sim->wake);
    }
    return code;
}

/* What an answer adds to an object at most, or says instead of it. */
enum { ANSWER_ROOM = 4096 };

/* What lives by an object that is about to be removed. */
static kl_code withdraw(kl_sim *sim, const kl__sim_kind *kind, const char *name,
                        kl_error *err)
{
    return kl__sim_is_crd(kind) ? kl__sim_crd_withdraw(sim, name, err) : KL_OK;
}

kl_code kl__sim_remove(kl_sim *sim, kl__sim_resource *resource, const char *key,
                       kl_error *err)
{
    kl__sim_node *node = kl__sim_tree_find(&resource->items, key);
    kl__sim_state *state = kl__sim_state_ref(node->state);
    size_t length = kl__sim_state_namespace(state);
    kl_code code = withdraw(sim, resource->kind, state->name, err);
    char name_space[256];

    if (code == KL_OK) {
        code = kl__sim_resource_remove(resource, state->key, sim->version + 1,
                                       err);
    }
    if (code == KL_OK) {
        sim->version++;
        kl__cond_broadcast(&sim->wake);
    }
    if (code == KL_OK && length != 0 && length < sizeof(name_space)) {
        memcpy(name_space, state->key, length);
        name_space[length] = '\0';
        if (kl__sim_namespace_phase(sim, name_space) == KL__SIM_TERMINATING) {
            code = kl__sim_namespace_empty(sim, name_space, err);
        }
    }
    kl__sim_state_unref(state);
    return code;
}

kl_code kl__sim_mark_deleted(kl_sim *sim, kl__sim_resource *resource,
                             const char *key, kl_error *err)
{
    static const char terminating[] = "{\"phase\":\"Terminating\"}";
    kl__sim_node *node = kl__sim_tree_find(&resource->items, key);
    kl_doc *doc = kl_doc_parse(node->state->text, node->state->length, err);
    kl_doc *status = kl_doc_parse(terminating, strlen(terminating), err);
    kl__sim_state *state = NULL;
    char now[KL__SIM_TIME_SIZE];
    kl__sim_draft draft;

    if (doc != NULL && status != NULL) {
        kl__sim_time(now);
        kl__sim_draft_of(&draft, resource->kind, kl_doc_root(doc));
        draft.deleted = now;
        draft.version = sim->version + 1;
        if (draft.generation != 0) {
            draft.generation++;
        }
        if (kl__sim_is_namespace(resource->kind)) {
            draft.status = kl_doc_root(status);
        }
        state = kl__sim_compose(&draft, err);
    }
    kl_doc_unref(doc);
    kl_doc_unref(status);
    return state != NULL ? kl__sim_commit(sim, resource, state, err)
                         : KL_ENOMEM;
}

/* Whether what DeleteOptions ask for holds. */
static bool check_preconditions(kl__sim_answer *answer,
                                const kl__sim_kind *kind,
                                const kl__sim_state *state, kl_code *code,
                                kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *wanted =
        ask->doc != NULL ? kl_value_get(kl_doc_root(ask->doc), "preconditions")
                         : NULL;
    const char *uid = kl__sim_text(wanted, "uid");
    const char *version = kl__sim_text(wanted, "resourceVersion");
    const char *dot = *kind->group != '\0' ? "." : "";
    kl__sim_status status = {.code = 409,
                             .reason = "Conflict",
                             .has_details = true,
                             .name = state->name,
                             .group = kind->group,
                             .kind = kind->kind};
    char current[24];

    snprintf(current, sizeof(current), "%" PRId64, state->version);
    if (uid != NULL && strcmp(uid, state->uid) != 0) {
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
        return true;
    }
    kl__sim_make_utf8(status.message);
    *code = kl__sim_answer_status(answer, &status, err);
    return false;
}

/* How an object has to be deleted. */
typedef struct object_fate {
    bool is_deleting;      /* it was deleted before, and something keeps it */
    bool is_kept;          /* finalizers keep it */
    kl__sim_state *marked; /* what it was while it was deleted; a reference */
} object_fate;

static kl_code read_fate(const kl__sim_state *state, object_fate *fate,
                         kl_error *err)
{
    kl_doc *doc = kl_doc_parse(state->text, state->length, err);
    const kl_value *metadata;

    if (doc == NULL) {
        return KL_ENOMEM;
    }
    metadata = kl_value_get(kl_doc_root(doc), "metadata");
    fate->is_deleting = kl__sim_text(metadata, "deletionTimestamp") != NULL;
    fate->is_kept = kl_value_size(kl_value_get(metadata, "finalizers")) != 0;
    kl_doc_unref(doc);
    return KL_OK;
}

/* Deletes one object, which is there, at once or in two steps. */
static kl_code delete_one(kl_sim *sim, kl__sim_resource *resource,
                          kl__sim_state *state, object_fate *fate,
                          kl_error *err)
{
    kl_code code = read_fate(state, fate, err);

    if (code != KL_OK || fate->is_deleting) {
        return code;
    }
    if (kl__sim_is_namespace(resource->kind)) {
        code = kl__sim_mark_deleted(sim, resource, state->key, err);
        if (code != KL_OK) {
            return code;
        }
        fate->marked = kl__sim_state_ref(
            kl__sim_tree_find(&resource->items, state->key)->state);
        return kl__sim_namespace_empty(sim, state->key, err);
    }
    return fate->is_kept ? kl__sim_mark_deleted(sim, resource, state->key, err)
                         : kl__sim_remove(sim, resource, state->key, err);
}

static bool check_allowed(kl__sim_answer *answer, const kl__sim_kind *kind,
                          const char *name, kl_code *code, kl_error *err)
{
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = name,
                             .kind = "namespaces"};

    if (!kl__sim_is_namespace(kind) ||
        (strcmp(name, "default") != 0 && strcmp(name, "kube-system") != 0 &&
         strcmp(name, "kube-public") != 0)) {
        return true;
    }
    snprintf(status.message, sizeof(status.message),
             "namespaces \"%s\" is forbidden: this namespace may not be "
             "deleted",
             name);
    *code = kl__sim_answer_status(answer, &status, err);
    return false;
}

/* A body is not needed, but one that is there must be an object. */
static bool check_options(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;

    if (!kl__sim_check_dry(answer, code, err)) {
        return false;
    }
    if (ask->body_length == 0 ||
        (ask->doc != NULL &&
         kl_value_type(kl_doc_root(ask->doc)) == KL_OBJECT)) {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "couldn't get version/kind; json parse error: %s",
                           ask->doc == NULL ? ask->parse.message
                                            : "it is no object");
    return false;
}

/* The answer where nothing is left to be shown, and room for one that shows an
 * object: once it is gone, the answer must not want for memory. */
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

/* The answer: the object where its kind is returned or kept, else the Status
 * that is there already. */
static kl_code answer_deleted(kl__sim_answer *answer,
                              kl__sim_resource *resource,
                              const kl__sim_state *state,
                              const object_fate *fate, kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    kl__sim_node *left = kl__sim_tree_find(&resource->items, state->key);
    kl__sim_view view = {kind, answer->ask.route.version, false, 0};

    if ((left != NULL && !kl__sim_is_dry(answer)) || fate->marked != NULL) {
        kl__buf_reset(&answer->out);
        return kl__sim_answer_object(
            answer, 200, &view, left != NULL ? left->state : fate->marked, err);
    }
    if (kl__sim_kind_is(kind, KL__SIM_RETURNED)) {
        kl__buf_reset(&answer->out);
        view.version = left == NULL ? answer->sim->version : 0;
        return kl__sim_answer_object(answer, 200, &view, state, err);
    }
    return KL_OK;
}

kl_code kl__sim_delete(kl__sim_answer *answer, kl__sim_resource *resource,
                       kl_error *err)
{
    kl__sim_state *state;
    object_fate fate = {false, false, NULL};
    kl_code code = KL_OK;

    if (!check_options(answer, &code, err)) {
        return code;
    }
    state = kl__sim_current(answer, resource, &code, err);
    if (state == NULL ||
        !check_allowed(answer, resource->kind, state->name, &code, err) ||
        !check_preconditions(answer, resource->kind, state, &code, err)) {
        return code;
    }
    kl__sim_state_ref(state);
    code = prepare_answer(answer, resource->kind, state, err);
    if (code == KL_OK && !kl__sim_is_dry(answer)) {
        code = delete_one(answer->sim, resource, state, &fate, err);
    }
    if (code == KL_OK) {
        code = answer_deleted(answer, resource, state, &fate, err);
    }
    if (code != KL_OK) {
        answer->status = 0; /* what was prepared is not the answer */
    }
    kl__sim_state_unref(fate.marked);
    kl__sim_state_unref(state);
    return code;
}

kl_code kl__sim_delete_all(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err)
{
    kl__sim_options options;
    kl_code code = KL_OK;

    if (!check_options(answer, &code, err) ||
        !kl__sim_options_read(&options, answer, resource->kind, false, &code,
                              err)) {
        return code;
    }
    for (const kl__sim_node *node = resource->items.first[0];
         node != NULL && code == KL_OK; node = node->next[0]) {
        if (kl__sim_selection_matches(&answer->selection, node->state)) {
            code = kl__sim_answer_keep(answer, node->state, err);
        }
    }
    for (size_t i = 0; i < answer->state_count && code == KL_OK; i++) {
        object_fate fate = {false, false, NULL};

        if (!kl__sim_is_dry(answer)) {
            code = delete_one(answer->sim, resource, answer->states[i], &fate,
                              err);
            kl__sim_state_unref(fate.marked);
        }
    }
    return code == KL_OK ? kl__sim_list_kept(answer, resource->kind, err)
                         : code;
}
