/*
 * sim_update.c - PUT and PATCH, of objects and of their status.
 */
#include "sim/sim_write.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/sim_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One update on its way. */
typedef struct object_change {
    kl__sim_answer *answer;
    kl__sim_resource *resource;
    const kl__sim_version *served;
    kl__sim_state *old; /* a reference */
    const kl_value *old_root;
    const kl_value *root; /* what it is to be */
    bool of_status;       /* the subresource */
    bool keeps_status;    /* status has a subresource, which this is not */
} object_change;

kl__sim_state *kl__sim_current(kl__sim_answer *answer,
                               kl__sim_resource *resource, kl_code *code,
                               kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    char *key = route->name_space != NULL
                    ? kl__strprintf("%s/%s", route->name_space, route->name)
                    : kl__strdup(route->name);
    kl__sim_node *node;

    if (key == NULL) {
        *code = kl_error_set(err, KL_ENOMEM, "out of memory for a name");
        return NULL;
    }
    node = kl__sim_tree_find(&resource->items, key);
    kl__free(key);
    if (node == NULL) {
        *code =
            kl__sim_refuse_missing(answer, resource->kind, route->name, err);
        return NULL;
    }
    return node->state;
}

/* Whether the body names the object that the path names. */
static bool check_identity(const object_change *change, kl_code *code,
                           kl_error *err)
{
    const kl__sim_route *route = &change->answer->ask.route;
    const kl_value *metadata = kl_value_get(change->root, "metadata");
    const char *name = kl__sim_text(metadata, "name");
    const char *name_space = kl__sim_text(metadata, "namespace");

    if (name == NULL || *name == '\0') {
        *code = kl__sim_refuse(change->answer, 400, "BadRequest", err,
                               "the name of the object (%s based on URL) was "
                               "undeterminable: name must be provided",
                               route->name);
        return false;
    }
    if (strcmp(name, route->name) != 0) {
        *code = kl__sim_refuse(change->answer, 400, "BadRequest", err,
                               "the name of the object (%s) does not match the "
                               "name on the URL (%s)",
                               name, route->name);
        return false;
    }
    if (name_space != NULL && *name_space != '\0' &&
        strcmp(name_space,
               route->name_space != NULL ? route->name_space : "") != 0) {
        *code = kl__sim_refuse(change->answer, 400, "BadRequest", err,
                               "the namespace of the provided object does not "
                               "match the namespace sent on the request");
        return false;
    }
    return true;
}

static kl_code refuse_without_version(const object_change *change,
                                      kl_error *err)
{
    const kl__sim_kind *kind = change->resource->kind;
    kl__sim_status status = {
        .name = change->old->name, .group = kind->group, .kind = kind->plural};

    kl__sim_cause_add(&status, "FieldValueInvalid", "metadata.resourceVersion",
                      "Invalid value: 0: must be specified for an update");
    return kl__sim_refuse_invalid(change->answer, &status, kind->qualified,
                                  err);
}

/* Whether the body is an edit of what is there now. */
static bool check_version(const object_change *change, kl_code *code,
                          kl_error *err)
{
    const kl_value *metadata = kl_value_get(change->root, "metadata");
    const kl__sim_kind *kind = change->resource->kind;
    const char *version = kl__sim_text(metadata, "resourceVersion");
    const char *uid = kl__sim_text(metadata, "uid");
    char why[512], *end;
    long long number;

    if (change->answer->loading) {
        return true;
    }
    if (version == NULL || *version == '\0') {
        if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
            *code = refuse_without_version(change, err);
            return false;
        }
    } else {
        number = strtoll(version, &end, 10);
        if (*end != '\0' || *version < '0' || *version > '9') {
            *code = kl__sim_refuse(change->answer, 500, NULL, err,
                                   "strconv.ParseUint: parsing \"%s\": invalid "
                                   "syntax",
                                   version);
            return false;
        }
        if (number != 0 && number != change->old->version) {
            *code = kl__sim_refuse_conflict(
                change->answer, kind, change->old->name,
                "the object has been modified; please apply your changes to "
                "the latest version and try again",
                err);
            return false;
        }
    }
    if (uid == NULL || *uid == '\0' || strcmp(uid, change->old->uid) == 0) {
        return true;
    }
    snprintf(why, sizeof(why),
             "Precondition failed: UID in precondition: %.100s, UID in object "
             "meta: %s",
             uid, change->old->uid);
    *code = kl__sim_refuse_conflict(change->answer, kind, change->old->name,
                                    why, err);
    return false;
}

/* Whether anything but metadata (and a status of its own) differs. */
static bool is_changed(const object_change *change, const kl__sim_draft *draft)
{
    const kl_value *sides[2][2] = {{change->old_root, draft->body},
                                   {draft->body, change->old_root}};

    for (int side = 0; side < 2; side++) {
        const kl_value *name, *value;
        kl_value_iter iter = {0};

        while ((value = kl_value_next(sides[side][0], &iter, &name)) != NULL) {
            const char *text = kl_value_string(name, NULL);
            bool is_status = strcmp(text, "status") == 0;

            if (strcmp(text, "kind") == 0 || strcmp(text, "apiVersion") == 0 ||
                strcmp(text, "metadata") == 0 ||
                (is_status && change->served->has_status)) {
                continue;
            }
            if (!kl__sim_equal(value, kl_value_get(sides[side][1], text))) {
                return true;
            }
        }
    }
    return false;
}

/* The new state with that version, out of the old object and the new. */
static kl__sim_state *compose(const object_change *change, int64_t version,
                              kl_error *err)
{
    const kl__sim_kind *kind = change->resource->kind;
    const kl_value *metadata = kl_value_get(change->root, "metadata");
    kl__sim_draft draft;

    kl__sim_draft_of(&draft, kind, change->old_root);
    if (change->of_status) {
        draft.status = kl_value_get(change->root, "status");
        if (!kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
            draft.metadata = metadata;
        }
    } else {
        draft.metadata = metadata;
        draft.body = change->root;
        if (!change->keeps_status) {
            draft.status = kl_value_get(change->root, "status");
        }
        if (kl__sim_kind_is(kind, KL__SIM_GENERATION) &&
            is_changed(change, &draft)) {
            draft.generation++;
        }
    }
    draft.version = version;
    return kl__sim_compose(&draft, err);
}

/* Makes the new state current, or ends an object that nothing keeps. */
static kl_code commit(const object_change *change, kl__sim_state *state,
                      const kl_value *root, kl_error *err)
{
    kl_sim *sim = change->answer->sim;
    const kl_value *metadata = kl_value_get(root, "metadata");

    if (kl__sim_text(kl_value_get(change->old_root, "metadata"),
                     "deletionTimestamp") != NULL &&
        kl_value_size(kl_value_get(metadata, "finalizers")) == 0 &&
        !kl__sim_is_namespace(change->resource->kind)) {
        kl__sim_state_unref(state);
        return kl__sim_remove(sim, change->resource, change->old->key, err);
    }
    return kl__sim_commit(sim, change->resource, state, err);
}

/* Whether two states of different versions say the same. */
static bool is_same(const kl__sim_state *a, const kl__sim_state *b)
{
    size_t a_tail = a->version_at + a->version_length;
    size_t b_tail = b->version_at + b->version_length;

    return a->version_at == b->version_at &&
           a->length - a_tail == b->length - b_tail &&
           memcmp(a->text, b->text, a->version_at) == 0 &&
           memcmp(a->text + a_tail, b->text + b_tail, a->length - a_tail) == 0;
}

/* Whether a list has that text in it. */
static bool has_text(const kl_value *list, const char *text)
{
    for (size_t i = 0; i < kl_value_size(list); i++) {
        const char *element = kl_value_string(kl_value_at(list, i), NULL);

        if (element != NULL && strcmp(element, text) == 0) {
            return true;
        }
    }
    return false;
}

/* What nobody may change: when it was deleted, and, after that, what it waits
 * for may only become less. */
static bool check_immutable(const object_change *change, kl_code *code,
                            kl_error *err)
{
    const kl__sim_kind *kind = change->resource->kind;
    const kl_value *old = kl_value_get(change->old_root, "metadata");
    const kl_value *metadata = kl_value_get(change->root, "metadata");
    const kl_value *finalizers = kl_value_get(metadata, "finalizers");
    const char *deleted = kl__sim_text(old, "deletionTimestamp");
    const char *given = kl__sim_text(metadata, "deletionTimestamp");
    kl__sim_status status = {
        .name = change->old->name, .group = kind->group, .kind = kind->kind};
    char qualified[512];

    if (given != NULL && (deleted == NULL || strcmp(given, deleted) != 0)) {
        kl__sim_cause_add(&status, "FieldValueInvalid",
                          "metadata.deletionTimestamp",
                          "Invalid value: \"%s\": field is immutable", given);
    }
    for (size_t i = 0; deleted != NULL && i < kl_value_size(finalizers); i++) {
        const char *text = kl_value_string(kl_value_at(finalizers, i), NULL);

        if (text != NULL && !has_text(kl_value_get(old, "finalizers"), text)) {
            kl__sim_cause_add(&status, "FieldValueForbidden",
                              "metadata.finalizers",
                              "Forbidden: no new finalizers can be added if "
                              "the object is being deleted, found new "
                              "finalizers []string{\"%s\"}",
                              text);
        }
    }
    if (status.cause_count == 0 || change->answer->loading) {
        return true;
    }
    snprintf(qualified, sizeof(qualified), "%s%s%s", kind->kind,
             *kind->group != '\0' ? "." : "", kind->group);
    *code = kl__sim_refuse_invalid(change->answer, &status, qualified, err);
    return false;
}

static kl_code apply(const object_change *change, kl_error *err)
{
    kl__sim_answer *answer = change->answer;
    kl__sim_view view = {change->resource->kind, answer->ask.route.version,
                         false, 0};
    kl__sim_state *state;
    kl_code code = KL_OK;

    if (!check_identity(change, &code, err) ||
        !check_version(change, &code, err) ||
        !check_immutable(change, &code, err) ||
        !kl__sim_check_labels(answer, change->resource->kind, change->root,
                              &code, err)) {
        return code;
    }
    state = compose(change, answer->sim->version + 1, err);
    if (state == NULL) {
        return KL_ENOMEM;
    }
    if (is_same(state, change->old)) {
        kl__sim_state_unref(state); /* nothing to write: no new version */
        return kl__sim_answer_object(answer, 200, &view, change->old, err);
    }
    code = kl__sim_answer_object(answer, 200, &view, state, err);
    if (code != KL_OK || kl__sim_is_dry(answer)) {
        kl__sim_state_unref(state);
        return code;
    }
    return commit(change, state,
                  change->of_status ? change->old_root : change->root, err);
}

/* Applies the change with what the server adds to it: to definitions and
 * namespaces always, to others when they are created only. */
static kl_code complete(object_change *change, kl_error *err)
{
    const kl__sim_kind *kind = change->resource->kind;
    kl_doc *patch, *whole;
    kl_code code = KL_OK;

    if (change->of_status ||
        (!kl__sim_is_crd(kind) && !kl__sim_is_namespace(kind))) {
        return apply(change, err);
    }
    patch = kl__sim_additions(change->answer, kind, change->root, &code, err);
    if (patch == NULL) {
        return code;
    }
    whole = kl__sim_merged(change->root, false, kl_doc_root(patch), err);
    kl_doc_unref(patch);
    if (whole == NULL) {
        return KL_ENOMEM;
    }
    change->root = kl_doc_root(whole);
    change->keeps_status = kl__sim_is_namespace(kind);
    code = apply(change, err);
    kl_doc_unref(whole);
    return code;
}

/* Whether a patch left an object of the kind. */
static bool check_patched(const object_change *change, kl_code *code,
                          kl_error *err)
{
    const kl__sim_kind *kind = change->resource->kind;
    const char *given = kl__sim_text(change->root, "kind");
    kl__sim_status status = {0};
    char why[256];

    if (given == NULL || strcmp(given, kind->kind) != 0) {
        snprintf(why, sizeof(why),
                 "converting (%.60s) to (%.60s): unknown "
                 "conversion",
                 given != NULL ? given : "", kind->kind);
    } else if (kl__sim_metadata_fits(kind, change->root, why, sizeof(why))) {
        return true;
    }
    kl__sim_cause_add(&status, "FieldValueInvalid", "patch",
                      "Invalid value: \"%.200s\": %s", change->answer->ask.body,
                      why);
    *code = kl__sim_refuse_invalid(change->answer, &status, "", err);
    return false;
}

/* Finds the object and its tree, and applies `root` (or, where that is NULL,
 * the merge patch in the body). */
static kl_code begin(object_change *change, bool patches, kl_error *err)
{
    kl__sim_answer *answer = change->answer;
    const char *subresource = answer->ask.route.subresource;
    const kl_value *body = kl_doc_root(answer->ask.doc);
    kl_doc *old_doc, *merged = NULL;
    kl_code code = KL_OK;
    kl__sim_state *old = kl__sim_current(answer, change->resource, &code, err);

    if (old == NULL) {
        return code;
    }
    old_doc = kl_doc_parse(old->text, old->length, err);
    if (old_doc == NULL) {
        return KL_ENOMEM;
    }
    change->old = kl__sim_state_ref(old);
    change->old_root = kl_doc_root(old_doc);
    change->of_status = subresource != NULL;
    change->keeps_status =
        change->served->has_status &&
        (!answer->loading || kl_value_get(body, "status") == NULL);
    change->root = body;
    if (patches) {
        merged = kl__sim_merged(change->old_root, true, body, err);
        change->root = merged != NULL ? kl_doc_root(merged) : NULL;
    }
    if (patches && merged == NULL) {
        code = KL_ENOMEM;
    } else if (!patches || check_patched(change, &code, err)) {
        code = complete(change, err);
    }
    kl_doc_unref(merged);
    kl__sim_state_unref(change->old);
    kl_doc_unref(old_doc);
    return code;
}

kl_code kl__sim_update(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err)
{
    object_change change = {
        .answer = answer, .resource = resource, .served = served};
    kl_code code = KL_OK;

    if (!kl__sim_check_body(answer, resource->kind, &code, err)) {
        return code;
    }
    return begin(&change, false, err);
}

kl_code kl__sim_patch(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err)
{
    static const char merge[] = "application/merge-patch+json";
    const kl__sim_ask *ask = &answer->ask;
    object_change change = {
        .answer = answer, .resource = resource, .served = served};
    size_t length = strcspn(ask->content_type, "; ");

    if (length != sizeof(merge) - 1 ||
        strncmp(ask->content_type, merge, length) != 0) {
        return kl__sim_refuse(answer, 415, "UnsupportedMediaType", err,
                              "the body of the request was in an unknown "
                              "format - accepted media types include: %s",
                              merge);
    }
    if (ask->doc == NULL || kl_value_type(kl_doc_root(ask->doc)) != KL_OBJECT) {
        return kl__sim_refuse(
            answer, 400, "BadRequest", err, "error decoding patch: %s",
            ask->doc == NULL ? ask->parse.message : "it is no object");
    }
    return begin(&change, true, err);
}
