/*
 * sim_apply.c - server-side apply: a PATCH whose body, the configuration, has
 * just the fields that its manager wants to own, with their values. It creates
 * the object if there is none.
 */
#include "sim/core/write/sim_track.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/patch/members.h"
#include "sim/core/write/sim_fields.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

/* Finds the object, if it exists. An apply can create an object, but not a
 * subresource. */
static kl_code find_applied(kl__sim_write *write, kl_error *err)
{
    const kl__sim_route *route = &write->answer->ask.route;
    char *key;
    bool exists;

    key = kl__sim_key(route->name_space, route->name);
    if (key == NULL) {
        return kl__sim_no_memory(err);
    }
    exists = kl__sim_tree_find(&write->resource->items, key) != NULL;
    kl__free(key);
    return exists || *write->subresource != '\0'
               ? kl__sim_write_find(write, err)
               : KL_OK;
}

static kl_code refuse_apply(kl__sim_write *write, const char *message,
                            kl_error *err)
{
    return kl__sim_refuse(write->answer, 400, "BadRequest", err, "%s", message);
}

/* Refuses a configuration of another kind or version. */
static kl_code check_config_type(kl__sim_write *write, const kl__node *config,
                                 const char *api_version, kl_error *err)
{
    const char *version = kl__node_text(config, "apiVersion");
    const char *kind = kl__node_text(config, "kind");
    const char *slash = version != NULL ? strchr(version, '/') : NULL;

    if (version != NULL && kind != NULL && strcmp(version, api_version) == 0 &&
        strcmp(kind, write->kind->kind) == 0) {
        return KL_OK;
    }
    return kl__sim_refuse(
        write->answer, 400, "BadRequest", err,
        "invalid object type: %s%s, Kind=%s", slash != NULL ? "" : "/",
        version != NULL ? version : "", kind != NULL ? kind : "");
}

/* managedFields may be absent or null, which is the same. */
static kl_code check_managed_fields(kl__sim_write *write, kl__node *config,
                                    kl_error *err)
{
    kl__node *metadata = kl__node_get(config, "metadata");
    const kl__node *fields = kl__node_get(metadata, "managedFields");

    if (fields == NULL) {
        return KL_OK;
    }
    if (!kl__node_is(fields, KL_NULL)) {
        return refuse_apply(write, "metadata.managedFields must be nil", err);
    }
    kl__node_remove(metadata, "managedFields");
    return KL_OK;
}

/* The configuration as a tree of the write; NULL: see *code. */
static kl__node *decode_config(kl__sim_write *write, const char *api_version,
                               kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &write->answer->ask;
    kl__node *config;

    if (ask->doc == NULL && ask->body_length > 0) {
        *code = kl__sim_refuse(write->answer, 400, "BadRequest", err,
                               "error decoding YAML: error converting YAML to "
                               "JSON: %s",
                               ask->parse.message);
        return NULL;
    }
    config = ask->doc != NULL && kl_value_type(kl_doc_root(ask->doc)) != KL_NULL
                 ? kl__edit_value(write->edit, kl_doc_root(ask->doc))
                 : kl__edit_object(write->edit);
    *code = config == NULL ? kl__sim_no_memory(err) : KL_OK;
    if (*code == KL_OK && !kl__node_is(config, KL_OBJECT)) {
        *code = kl__sim_refuse(
            write->answer, 400, "BadRequest", err,
            "error decoding YAML: error unmarshaling JSON: while decoding "
            "JSON: json: cannot unmarshal %s into Go value of type "
            "map[string]interface {}",
            kl__node_is(config, KL_ARRAY)    ? "array"
            : kl__node_is(config, KL_STRING) ? "string"
            : kl__node_is(config, KL_BOOL)   ? "bool"
                                             : "number");
        return NULL;
    }
    if (*code == KL_OK) {
        *code = check_config_type(write, config, api_version, err);
    }
    if (*code == KL_OK && kl__sim_write_goes_on(write)) {
        *code = check_managed_fields(write, config, err);
    }
    return *code == KL_OK && kl__sim_write_goes_on(write) ? config : NULL;
}

static kl_code refuse_conflicts(kl__sim_write *write,
                                const kl__conflicts *conflicts, kl_error *err)
{
    kl__sim_status status = {
        .code = 409, .reason = "Conflict", .has_details = true};
    char *text = kl__conflicts_text(conflicts);

    if (text == NULL) {
        return kl__sim_no_memory(err);
    }
    snprintf(status.message, sizeof(status.message), "%s", text);
    kl__free(text);
    for (size_t i = 0; i < conflicts->count; i++) {
        kl__sim_cause_add(&status, "FieldManagerConflict",
                          conflicts->items[i].path, "conflict with %s",
                          conflicts->items[i].manager);
    }
    return kl__sim_answer_status(write->answer, &status, err);
}

static kl_code refuse_config(kl__sim_write *write, const kl__node *config,
                             const char *why, kl_error *err)
{
    const kl__node *metadata = kl__node_get(config, "metadata");
    const char *name_space = kl__node_text(metadata, "namespace");
    const char *name = kl__node_text(metadata, "name");
    const char *version = kl__node_text(config, "apiVersion");

    return kl__sim_refuse(
        write->answer, 500, NULL, err,
        "failed to create typed patch object (%s/%s; %s%s, Kind=%s): %s",
        name_space != NULL ? name_space : "", name != NULL ? name : "",
        strchr(version, '/') != NULL ? "" : "/", version, write->kind->kind,
        why);
}

/* Completes a configuration that creates an object: it must have no UID, its
 * resourceVersion is removed, and a missing name is taken from the path. */
static kl_code complete_config(kl__sim_write *write, kl_error *err)
{
    const kl__sim_route *route = &write->answer->ask.route;
    kl__node *root = kl__sim_write_root(write);
    kl__node *metadata = kl__node_ensure(write->edit, root, "metadata");
    const char *uid = kl__node_text(metadata, "uid");
    char why[512];

    if (metadata == NULL) {
        return kl__sim_no_memory(err);
    }
    if (write->old == NULL && uid != NULL && *uid != '\0') {
        snprintf(why, sizeof(why),
                 "uid mismatch: the provided object specified uid %.200s, and "
                 "no existing object was found",
                 uid);
        return kl__sim_refuse_conflict(write->answer, write->kind, route->name,
                                       why, err);
    }
    if (write->old == NULL) {
        const char *name = kl__node_text(metadata, "name");

        kl__node_remove(metadata, "resourceVersion");
        if (name != NULL && strcmp(name, route->name) != 0) {
            return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                                  "the name of the object (%s) does not match "
                                  "the name on the URL (%s)",
                                  name, route->name);
        }
        return name != NULL || kl__sim_put_text(write->edit, metadata, "name",
                                                route->name)
                   ? KL_OK
                   : kl__sim_no_memory(err);
    }
    return KL_OK;
}

static kl_code apply_config(kl__sim_write *write, const kl__author *author,
                            kl_error *err)
{
    bool force = kl__sim_parameter_is(&write->answer->ask, "force");
    kl__applied applied = {0};
    kl__sim_before before = {0};
    kl_error why = {0};
    kl_code code = KL_OK;
    kl__node *config = decode_config(write, author->api_version, &code, err);

    if (config == NULL) {
        return code;
    }
    code = kl__sim_before_open(&before, write, &why);
    if (code == KL_OK) {
        code =
            kl__track_apply(author, before.root, config, force, &applied, &why);
    }
    kl__sim_before_close(&before);
    if (code == KL_OK) {
        kl__edit_set_root(write->edit, applied.object);
        write->managed = applied.managed;
        write->is_tracked = true;
        code = complete_config(write, err);
    } else if (code == KL_ECONFLICT) {
        code = refuse_conflicts(write, &applied.conflicts, err);
    } else if (code == KL_EINVAL) {
        code = refuse_config(write, config, why.message, err);
    } else {
        code = kl__sim_no_memory(err);
    }
    kl__conflicts_deinit(&applied.conflicts);
    return code;
}

kl_code kl__sim_apply(kl__sim_write *write, kl_error *err)
{
    kl__sim_author self;
    kl_code code = find_applied(write, err);

    if (code != KL_OK || !kl__sim_write_goes_on(write)) {
        return code;
    }
    write->edit = kl__edit_new(err);
    if (write->edit == NULL) {
        return KL_ENOMEM;
    }
    code = kl__sim_author_init(&self, write, err);
    if (code != KL_OK) {
        return code;
    }
    code = apply_config(write, &self.author, err);
    kl__sim_author_deinit(&self);
    if (code == KL_OK && write->old == NULL && kl__sim_write_goes_on(write)) {
        code =
            write->answer->sim->hooks->creation_authorize(write->answer, err);
    }
    return code;
}
