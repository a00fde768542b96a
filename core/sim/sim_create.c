/*
 * sim_create.c - POST: what a new object gets from the server.
 */
#include "sim/sim_write.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/sim_random.h"
#include "sim/sim_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GENERATED_TRIES = 8, MAX_GENERATED_BASE = 58 };

/* Whether the namespace takes new objects; a load makes it where it is not. */
static bool check_namespace(kl__sim_answer *answer, const kl__sim_kind *kind,
                            const char *name, kl_code *code, kl_error *err)
{
    const char *name_space = answer->ask.route.name_space;
    kl_sim *sim = answer->sim;
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = name,
                             .group = kind->group,
                             .kind = kind->plural};

    switch (kl__sim_namespace_phase(sim, name_space)) {
    case KL__SIM_ACTIVE:
        return true;
    case KL__SIM_ABSENT:
        if (answer->loading) {
            *code = kl__sim_namespace_add(sim, name_space, err);
            return *code == KL_OK;
        }
        *code = kl__sim_refuse_missing(
            answer, kl__sim_find(sim, "", "namespaces")->kind, name_space, err);
        return false;
    default:
        break;
    }
    kl__sim_cause_add(&status, "NamespaceTerminating", "metadata.namespace",
                      "namespace %s is being terminated", name_space);
    snprintf(status.message, sizeof(status.message),
             "%s \"%.253s\" is forbidden: unable to create new content in "
             "namespace %.253s because it is being terminated",
             kind->qualified, name, name_space);
    *code = kl__sim_answer_status(answer, &status, err);
    return false;
}

/* The body's namespace must be the path's. */
static bool check_same_namespace(kl__sim_answer *answer,
                                 const kl_value *metadata, kl_code *code,
                                 kl_error *err)
{
    const char *given = kl__sim_text(metadata, "namespace");
    const char *asked = answer->ask.route.name_space;

    if (given == NULL || *given == '\0' ||
        strcmp(given, asked != NULL ? asked : "") == 0) {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "the namespace of the provided object does not "
                           "match the namespace sent on the request");
    return false;
}

static char *make_key(const char *name_space, const char *name)
{
    return name_space != NULL ? kl__strprintf("%s/%s", name_space, name)
                              : kl__strdup(name);
}

/* Whether there is an object of that name. */
static bool exists(kl__sim_answer *answer, const kl__sim_resource *resource,
                   const char *name, kl_code *code, kl_error *err)
{
    char *key = make_key(answer->ask.route.name_space, name);
    bool found;

    if (key == NULL) {
        *code = kl_error_set(err, KL_ENOMEM, "out of memory for a name");
        return true;
    }
    found = kl__sim_tree_find(&resource->items, key) != NULL;
    kl__free(key);
    return found;
}

/* A free name for generateName, or one that is taken after some tries. */
static char *generate(kl__sim_answer *answer, const kl__sim_resource *resource,
                      const char *base, kl_code *code, kl_error *err)
{
    char suffix[KL__SIM_SUFFIX_SIZE];
    char *name = NULL;

    for (int i = 0; i < GENERATED_TRIES && *code == KL_OK; i++) {
        kl__free(name);
        kl__sim_random_suffix(suffix);
        name = kl__strprintf("%.*s%s", MAX_GENERATED_BASE, base, suffix);
        if (name == NULL) {
            *code = kl_error_set(err, KL_ENOMEM, "out of memory for a name");
            return NULL;
        }
        if (!exists(answer, resource, name, code, err)) {
            break;
        }
    }
    return name;
}

/* The name that the object gets, which its kind allows and no other has; NULL:
 * the answer tells, or *code. Owned by the caller. */
static char *choose_name(kl__sim_answer *answer, kl__sim_resource *resource,
                         const kl_value *metadata, kl_code *code, kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    const char *given = kl__sim_text(metadata, "name");
    const char *base = kl__sim_text(metadata, "generateName");
    kl__sim_status status = {.code = 409,
                             .reason = "AlreadyExists",
                             .has_details = true,
                             .group = kind->group,
                             .kind = kind->plural};
    char *name = NULL;

    if (given != NULL && *given != '\0') {
        name = kl__strdup(given);
        if (name == NULL) {
            *code = kl_error_set(err, KL_ENOMEM, "out of memory for a name");
            return NULL;
        }
    } else if (base != NULL && *base != '\0') {
        name = generate(answer, resource, base, code, err);
    }
    if (*code != KL_OK || !kl__sim_check_name(answer, kind, name, code, err)) {
        kl__free(name);
        return NULL;
    }
    if (!exists(answer, resource, name, code, err)) {
        return name;
    }
    if (*code == KL_OK) {
        status.name = name;
        snprintf(status.message, sizeof(status.message),
                 "%s \"%.253s\" already exists", kind->qualified, name);
        *code = kl__sim_answer_status(answer, &status, err);
    }
    kl__free(name);
    return NULL;
}

/* Whether what a request says of the status counts. A Node's does: the kubelet
 * registers itself with one. */
static bool keeps_status(const kl__sim_answer *answer, const kl__sim_kind *kind)
{
    const kl__sim_version *version = kl__sim_kind_version(
        kind, answer->ask.route.version, strlen(answer->ask.route.version));

    return answer->loading || version == NULL || !version->has_status ||
           (*kind->group == '\0' && strcmp(kind->plural, "nodes") == 0);
}

kl_doc *kl__sim_additions(kl__sim_answer *answer, const kl__sim_kind *kind,
                          const kl_value *root, kl_code *code, kl_error *err)
{
    const char *name = kl__sim_text(kl_value_get(root, "metadata"), "name");
    bool has_phase =
        answer->loading && kl_value_get(kl_value_get(root, "status"), "phase");
    char patch[512] = "{}";
    kl_doc *doc;

    if (kl__sim_is_crd(kind)) {
        return kl__sim_crd_prepare(answer, root, code, err);
    }
    if (kl__sim_is_namespace(kind)) {
        snprintf(patch, sizeof(patch),
                 "{\"metadata\":{\"labels\":{\"kubernetes.io/metadata.name\":"
                 "\"%.63s\"}},\"spec\":{\"finalizers\":[\"kubernetes\"]},"
                 "\"status\":{\"phase\":\"Active\"}}",
                 name != NULL ? name : "");
    } else if (*kind->group == '\0' && !has_phase &&
               (strcmp(kind->plural, "pods") == 0 ||
                strcmp(kind->plural, "persistentvolumes") == 0 ||
                strcmp(kind->plural, "persistentvolumeclaims") == 0)) {
        snprintf(patch, sizeof(patch), "{\"status\":{\"phase\":\"Pending\"}}");
    }
    doc = kl_doc_parse(patch, strlen(patch), err);
    *code = doc != NULL ? KL_OK : KL_ENOMEM;
    return doc;
}

/* The state of a new object. `whole` is its body with all additions. */
static kl__sim_state *compose(kl__sim_answer *answer, const kl__sim_kind *kind,
                              const kl_value *whole, const char *name,
                              kl_error *err)
{
    char uid[KL__SIM_UID_SIZE], now[KL__SIM_TIME_SIZE];
    kl__sim_draft draft;

    kl__sim_draft_of(&draft, kind, whole);
    kl__sim_random_uid(uid);
    kl__sim_time(now);
    draft.name = name;
    draft.name_space = answer->ask.route.name_space;
    draft.deleted = NULL;
    if (!answer->loading || draft.uid == NULL || *draft.uid == '\0') {
        draft.uid = uid;
    }
    if (!answer->loading || draft.created == NULL) {
        draft.created = now;
    }
    if (!answer->loading || draft.generation == 0) {
        draft.generation = kl__sim_kind_is(kind, KL__SIM_GENERATION);
    }
    draft.version = answer->sim->version + 1;
    return kl__sim_compose(&draft, err);
}

static kl_code create(kl__sim_answer *answer, kl__sim_resource *resource,
                      const char *name, kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    kl__sim_view view = {kind, answer->ask.route.version, false, 0};
    kl__sim_state *state = NULL;
    kl_doc *patch, *whole;
    kl_code code = KL_OK;

    patch = kl__sim_additions(answer, kind, kl_doc_root(answer->ask.doc), &code,
                              err);
    if (patch == NULL) {
        return code;
    }
    whole = kl__sim_merged(kl_doc_root(answer->ask.doc),
                           keeps_status(answer, kind), kl_doc_root(patch), err);
    kl_doc_unref(patch);
    if (whole != NULL) {
        state = compose(answer, kind, kl_doc_root(whole), name, err);
        kl_doc_unref(whole);
    }
    if (state == NULL) {
        return KL_ENOMEM;
    }
    code = kl__sim_answer_object(answer, 201, &view, state, err);
    if (code != KL_OK || kl__sim_is_dry(answer)) {
        kl__sim_state_unref(state);
        return code;
    }
    return kl__sim_commit(answer->sim, resource, state, err);
}

kl_code kl__sim_create(kl__sim_answer *answer, kl__sim_resource *resource,
                       kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    const kl_value *metadata;
    const char *version;
    kl_code code = KL_OK;
    char *name = NULL;

    if (!kl__sim_check_body(answer, kind, &code, err)) {
        return code;
    }
    metadata = kl_value_get(kl_doc_root(answer->ask.doc), "metadata");
    version = kl__sim_text(metadata, "resourceVersion");
    if (!check_same_namespace(answer, metadata, &code, err)) {
        return code;
    }
    if (version != NULL && *version != '\0' && !answer->loading) {
        return kl__sim_refuse(
            answer, 500, NULL, err,
            "resourceVersion should not be set on objects to be created");
    }
    name = choose_name(answer, resource, metadata, &code, err);
    if (name != NULL &&
        kl__sim_check_labels(answer, kind, kl_doc_root(answer->ask.doc), &code,
                             err) &&
        (!kl__sim_kind_is(kind, KL__SIM_NAMESPACED) ||
         check_namespace(answer, kind, name, &code, err))) {
        code = create(answer, resource, name, err);
    }
    kl__free(name);
    return code;
}
