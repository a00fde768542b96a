/*
 * sim_delete.c - DELETE of one object or of a collection: reads the request
 * with its DeleteOptions (of the body or the query), and writes the answer.
 * sim_delete_object.c deletes the objects.
 */
#include "sim/core/write/sim_write.h"

#include "base/mem.h"
#include "sim/core/answer/sim_list.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/request/sim_said.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_deletion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse_delete(kl__sim_answer *answer, const char *message,
                          kl_code *code, kl_error *err)
{
    *code = kl__sim_refuse(answer, 400, "BadRequest", err, "%s", message);
    return false;
}

static bool check_media(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const char *type = answer->ask.content_type;
    size_t length = strcspn(type, "; ");

    if (length == 0 ||
        (length == 16 && (!strncmp(type, "application/json", 16) ||
                          !strncmp(type, "application/yaml", 16))) ||
        (length == 35 &&
         !strncmp(type, "application/vnd.kubernetes.protobuf", 35))) {
        return true;
    }
    *code = kl__sim_refuse_media(answer, err);
    return false;
}

/* Refuses a body that is no object, or of another kind than DeleteOptions. */
static bool check_body(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root = ask->doc != NULL ? kl_doc_root(ask->doc) : NULL;
    const char *fault, *kind, *version;
    char text[KL__SIM_SAID_SIZE];

    if (!check_media(answer, code, err)) {
        return false;
    }
    fault = kl__sim_body_fault(ask, text);
    if (fault != NULL) {
        *code = kl__sim_refuse(answer, 400, "BadRequest", err, "%s", fault);
        return false;
    }
    kind = kl__sim_text(root, "kind");
    version = kl__sim_text(root, "apiVersion");
    if (kind == NULL || *kind == '\0' || strcmp(kind, "DeleteOptions") == 0) {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "no kind \"%.100s\" is registered for version "
                           "\"%.100s\" in scheme \"pkg/runtime/scheme.go:111\"",
                           kind, version != NULL ? version : "v1");
    return false;
}

static const char *policy_name(const kl__sim_ask *ask, const kl_value *root)
{
    return root != NULL ? kl__sim_text(root, "propagationPolicy")
                        : kl__sim_parameter_get(ask, "propagationPolicy");
}

static bool read_policy(kl__sim_deletion *deletion, const char *name,
                        kl__sim_status *invalid)
{
    static const struct {
        const char *name;
        kl__sim_policy policy;
    } policies[] = {{"Background", KL__SIM_BACKGROUND},
                    {"Foreground", KL__SIM_FOREGROUND},
                    {"Orphan", KL__SIM_ORPHAN}};

    if (name == NULL) {
        return true;
    }
    if (deletion->has_orphan) {
        kl__sim_cause_add(invalid, "FieldValueInvalid", "propagationPolicy",
                          "Invalid value: \"%.100s\": orphanDependents and "
                          "deletionPropagation cannot be both set",
                          name);
        return false;
    }
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        if (strcmp(name, policies[i].name) == 0) {
            deletion->policy = policies[i].policy;
            return true;
        }
    }
    kl__sim_cause_add(invalid, "FieldValueNotSupported", "propagationPolicy",
                      "Unsupported value: \"%.100s\": supported values: "
                      "\"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                      name);
    return false;
}

static void read_dry(kl__sim_deletion *deletion, const kl_value *root,
                     kl__sim_status *invalid)
{
    const kl_value *list = kl_value_get(root, "dryRun"), *value;
    kl_value_iter iter = {0};

    while ((value = kl_value_next(list, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(value, NULL);

        if (text != NULL && strcmp(text, "All") == 0) {
            deletion->dry = true;
        } else {
            kl__sim_cause_add(invalid, "FieldValueNotSupported", "dryRun",
                              "Unsupported value: [\"%.100s\"]: supported "
                              "values: \"All\"",
                              text != NULL ? text : "");
        }
    }
}

/* Reads the options in a body, except for dryRun and the policy. Returns why
 * the body is refused, or NULL. */
static const char *read_body(kl__sim_deletion *deletion, const kl_value *root)
{
    const kl_value *grace = kl_value_get(root, "gracePeriodSeconds");
    const kl_value *orphan = kl_value_get(root, "orphanDependents");
    const kl_value *wanted = kl_value_get(root, "preconditions");
    bool is_text = kl_value_type(grace) == KL_STRING;

    if (kl_value_type(grace) != KL_INTEGER && kl_value_type(grace) != KL_NULL) {
        return is_text ? "json: cannot unmarshal string into Go struct field "
                         "DeleteOptions.gracePeriodSeconds of type int64"
                       : "json: cannot unmarshal number into Go struct field "
                         "DeleteOptions.gracePeriodSeconds of type int64";
    }
    deletion->has_grace = kl_value_type(grace) == KL_INTEGER;
    deletion->grace_seconds = kl_value_integer(grace);
    deletion->has_orphan = kl_value_type(orphan) == KL_BOOL;
    deletion->orphan = kl_value_bool(orphan);
    deletion->uid = kl__sim_text(wanted, "uid");
    deletion->version = kl__sim_text(wanted, "resourceVersion");
    return NULL;
}

static bool read_query(kl__sim_deletion *deletion, kl__sim_answer *answer,
                       kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const char *grace = kl__sim_parameter_get(ask, "gracePeriodSeconds");
    char *end = NULL;

    deletion->has_orphan =
        kl__sim_parameter_get(ask, "orphanDependents") != NULL;
    deletion->orphan = kl__sim_parameter_is(ask, "orphanDependents");
    if (grace == NULL || *grace == '\0') {
        return true;
    }
    deletion->has_grace = true;
    deletion->grace_seconds = strtoll(grace, &end, 10);
    if (*end == '\0') {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "strconv.ParseInt: parsing \"%.100s\": invalid "
                           "syntax",
                           grace);
    return false;
}

/* Reads the options from body and query. False: the answer is a refusal, or an
 * error (*code). */
static bool sim_deletion_read(kl__sim_deletion *deletion,
                              kl__sim_answer *answer, kl_code *code,
                              kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root = NULL;
    kl__sim_status invalid = {.group = "meta.k8s.io", .kind = "DeleteOptions"};
    const char *fault;

    memset(deletion, 0, sizeof(*deletion));
    if (ask->body_length != 0) {
        if (!check_body(answer, code, err)) {
            return false;
        }
        root = kl_doc_root(ask->doc);
        fault = read_body(deletion, root);
        if (fault != NULL) {
            return refuse_delete(answer, fault, code, err);
        }
        read_dry(deletion, root, &invalid);
    } else {
        if (!kl__sim_check_dry(answer, code, err) ||
            !read_query(deletion, answer, code, err)) {
            return false;
        }
        deletion->dry = kl__sim_is_dry(answer);
    }
    read_policy(deletion, policy_name(ask, root), &invalid);
    if (invalid.cause_count == 0) {
        return true;
    }
    *code = kl__sim_refuse_invalid(answer, &invalid,
                                   "DeleteOptions.meta.k8s.io", err);
    return false;
}

/* ---- requests ---- */

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

    if (!sim_deletion_read(&deletion, answer, &code, err)) {
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

    if (!sim_deletion_read(&deletion, answer, &code, err) ||
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
