/*
 * sim_identity.c - the identity of a written object. Its name and namespace
 * must be those of the path; its UID and resourceVersion, if given, those of
 * the stored object; its namespace must exist, and not be ending.
 */
#include "sim/core/write/sim_pipeline.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/store/sim_random.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATED_TRIES = 8, MAX_GENERATED_BASE = 58 };

static bool is_given(const char *text)
{
    return text != NULL && *text != '\0';
}

/* Refuses a body with another namespace than the path. */
static kl_code check_namespace(const kl__sim_write *write, kl_error *err)
{
    const char *given =
        kl__node_text(kl__sim_write_metadata(write), "namespace");
    const char *asked = write->answer->ask.route.name_space;

    if (!is_given(given) || strcmp(given, asked != NULL ? asked : "") == 0) {
        return KL_OK;
    }
    return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                          "the namespace of the provided object does not "
                          "match the namespace sent on the request");
}

/* --- New objects. --------------------------------------------------------- */

/* Sets a name made of generateName and a random suffix. Tries again if an
 * object has this name; after the last try, storing refuses a taken name. */
static kl_code generate_name(kl__sim_write *write, const char *base,
                             kl_error *err)
{
    char suffix[KL__SIM_SUFFIX_SIZE];
    kl__node *metadata = kl__sim_write_metadata(write);
    bool exists = true, put = true;

    for (int i = 0; i < GENERATED_TRIES && exists; i++) {
        char *name, *key;

        kl__sim_random_suffix(suffix);
        name = kl__strprintf("%.*s%s", MAX_GENERATED_BASE, base, suffix);
        key = name != NULL
                  ? kl__sim_key(write->answer->ask.route.name_space, name)
                  : NULL;
        put = key != NULL &&
              kl__sim_put_text(write->edit, metadata, "name", name);
        exists = put && kl__sim_tree_find(&write->resource->items, key) != NULL;
        kl__free(key);
        kl__free(name);
    }
    return put ? KL_OK : kl__sim_no_memory(err);
}

/* Removes the UID and the times of a new object, which the server sets; a load
 * keeps them. */
static void wipe_metadata(kl__sim_write *write, kl__node *metadata)
{
    static const char *const own[] = {"uid", "creationTimestamp",
                                      "deletionTimestamp",
                                      "deletionGracePeriodSeconds"};

    for (size_t i = 0;
         i < sizeof(own) / sizeof(own[0]) && !write->answer->loading; i++) {
        kl__node_remove(metadata, own[i]);
    }
}

static kl_code identify_new(kl__sim_write *write, kl_error *err)
{
    kl__sim_answer *answer = write->answer;
    kl__node *metadata =
        kl__node_ensure(write->edit, kl__sim_write_root(write), "metadata");
    const char *version = kl__node_text(metadata, "resourceVersion");
    const char *base = kl__node_text(metadata, "generateName");
    kl_code code = KL_OK;

    if (metadata == NULL) {
        return kl__sim_no_memory(err);
    }
    wipe_metadata(write, metadata);
    if (is_given(version) && !answer->loading) {
        return kl__sim_refuse(
            answer, 500, NULL, err,
            "resourceVersion should not be set on objects to be created");
    }
    if (!is_given(kl__node_text(metadata, "name")) && is_given(base)) {
        code = generate_name(write, base, err);
    }
    return code;
}

/* --- Existing objects. ---------------------------------------------------- */

static kl_code check_path_name(const kl__sim_write *write, kl_error *err)
{
    const char *asked = write->answer->ask.route.name;
    const char *name = kl__node_text(kl__sim_write_metadata(write), "name");

    if (!is_given(name)) {
        return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                              "the name of the object (%s based on URL) was "
                              "undeterminable: name must be provided",
                              asked);
    }
    if (strcmp(name, asked) != 0) {
        return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                              "the name of the object (%s) does not match the "
                              "name on the URL (%s)",
                              name, asked);
    }
    return KL_OK;
}

static kl_code refuse_without_version(const kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->kind;
    kl__sim_status status = {
        .name = write->old->name, .group = kind->group, .kind = kind->plural};

    kl__sim_cause_add(&status, "FieldValueInvalid", "metadata.resourceVersion",
                      "Invalid value: 0: must be specified for an update");
    return kl__sim_refuse_invalid(write->answer, &status, kind->qualified, err);
}

/* Answers 409 if the request's resourceVersion is not the current one. */
static kl_code check_resource_version(const kl__sim_write *write, kl_error *err)
{
    const char *version =
        kl__node_text(kl__sim_write_metadata(write), "resourceVersion");
    long long number;
    char *end;

    if (!is_given(version)) {
        return kl__sim_put_is_conditional(write->kind) &&
                       strcmp(write->subresource, "scale") != 0
                   ? refuse_without_version(write, err)
                   : KL_OK;
    }
    number = strtoll(version, &end, 10);
    if (*end != '\0' || *version < '0' || *version > '9') {
        return kl__sim_refuse(write->answer, 500, NULL, err,
                              "strconv.ParseUint: parsing \"%s\": invalid "
                              "syntax",
                              version);
    }
    if (number != 0 && number != write->old->version) {
        return kl__sim_refuse_conflict(
            write->answer, write->kind, write->old->name,
            "the object has been modified; please apply your changes to the "
            "latest version and try again",
            err);
    }
    return KL_OK;
}

/* Answers 409 if a PUT has the UID of another object, in the words of
 * kube-apiserver's storage layer. A patch that changes the UID is refused by
 * kl__sim_check_kept. */
static kl_code check_uid(const kl__sim_write *write, kl_error *err)
{
    const char *uid = kl__node_text(kl__sim_write_metadata(write), "uid");
    bool is_custom = kl__sim_write_is_custom(write);
    const kl__sim_route *route = &write->answer->ask.route;
    const char *in = route->name_space;
    const char *known = write->old != NULL ? write->old->uid : "";
    char why[1024];

    if (!is_given(uid) || strcmp(uid, known) == 0 ||
        write->operation != KL__SIM_UPDATE) {
        return KL_OK;
    }
    snprintf(why, sizeof(why),
             "StorageError: invalid object, Code: 4, Key: "
             "/registry/%s%s%s/%s%s%s, ResourceVersion: 0, AdditionalErrorMsg: "
             "Precondition failed: UID in precondition: %.100s, UID in object "
             "meta: %s",
             is_custom ? write->kind->group : "", is_custom ? "/" : "",
             write->kind->plural, in != NULL ? in : "", in != NULL ? "/" : "",
             route->name, uid, known);
    return kl__sim_refuse_conflict(write->answer, write->kind, route->name, why,
                                   err);
}

kl_code kl__sim_identify(kl__sim_write *write, kl_error *err)
{
    bool is_named = write->operation != KL__SIM_CREATE;
    kl_code code =
        write->old != NULL || is_named ? check_path_name(write, err) : KL_OK;

    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = check_namespace(write, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write) && is_named &&
        !write->answer->loading) {
        code = check_uid(write, err);
    }
    if (code != KL_OK || !kl__sim_write_goes_on(write)) {
        return code;
    }
    if (write->old == NULL) {
        return identify_new(write, err);
    }
    return write->answer->loading ? KL_OK : check_resource_version(write, err);
}

/* ---- its namespace ---- */

int kl__sim_namespace_phase(kl_sim *sim, const char *name)
{
    kl__sim_resource *namespaces = kl__sim_find(sim, "", "namespaces");
    kl__sim_node *node = kl__sim_tree_find(&namespaces->items, name);
    const kl__sim_field *phase;

    if (node == NULL) {
        return KL__SIM_ABSENT;
    }
    phase = kl__sim_kind_field(namespaces->kind, "status.phase");
    return strcmp(node->state->fields[phase - namespaces->kind->fields],
                  "Terminating") == 0
               ? KL__SIM_TERMINATING
               : KL__SIM_ACTIVE;
}

/* The name of the new object, for messages. */
static const char *name_of(const kl__sim_write *write)
{
    const char *name = kl__node_text(kl__sim_write_metadata(write), "name");

    return name != NULL ? name : "";
}

static kl_code refuse_terminating(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->kind;
    const char *name_space = write->answer->ask.route.name_space;
    const char *name = name_of(write);
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = name,
                             .group = kind->group,
                             .kind = kind->plural};

    kl__sim_cause_add(&status, "NamespaceTerminating", "metadata.namespace",
                      "namespace %s is being terminated", name_space);
    snprintf(status.message, sizeof(status.message),
             "%s \"%.253s\" is forbidden: unable to create new content in "
             "namespace %.253s because it is being terminated",
             kind->qualified, name, name_space);
    return kl__sim_answer_status(write->answer, &status, err);
}

kl_code kl__sim_enter_namespace(kl__sim_write *write, kl_error *err)
{
    kl__sim_answer *answer = write->answer;
    const char *name_space = answer->ask.route.name_space;
    kl_sim *sim = answer->sim;

    if (write->old != NULL || name_space == NULL) {
        return KL_OK;
    }
    switch (kl__sim_namespace_phase(sim, name_space)) {
    case KL__SIM_ACTIVE:
        return KL_OK;
    case KL__SIM_TERMINATING:
        return refuse_terminating(write, err);
    default:
        /* A load creates a missing namespace. */
        return answer->loading
                   ? sim->hooks->namespace_add(sim, name_space, err)
                   : kl__sim_refuse_missing(
                         answer, kl__sim_find(sim, "", "namespaces")->kind,
                         name_space, err);
    }
}
