/*
 * sim_track.c - see sim_track.h.
 */
#include "sim/write/sim_track.h"

#include "sim/write/sim_versions.h"
#include "sim/write/sim_write.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MANAGER = KL__SIM_MANAGER_SIZE - 1 };

static bool is_too_long(const char *manager)
{
    return manager != NULL && strlen(manager) > MOST_MANAGER;
}

static kl_code check_options(kl__sim_write *write, const char *manager,
                             kl_error *err)
{
    static const char *const options[] = {"CreateOptions", "UpdateOptions",
                                          "PatchOptions"};
    const kl__sim_ask *ask = &write->answer->ask;
    kl__sim_status status = {.group = "meta.k8s.io",
                             .kind = options[write->operation]};
    char qualified[64];

    if (kl__sim_is_apply(write) && (manager == NULL || *manager == '\0')) {
        kl__sim_cause_add(&status, "FieldValueRequired", "fieldManager",
                          "Required value: is required for apply patch");
    }
    if (write->operation == KL__SIM_PATCH && !kl__sim_is_apply(write) &&
        kl__sim_parameter_get(ask, "force") != NULL) {
        kl__sim_cause_add(&status, "FieldValueForbidden", "force",
                          "Forbidden: may not be specified for non-apply "
                          "patch");
    }
    if (is_too_long(manager)) {
        kl__sim_cause_add(&status, "FieldValueTooLong", "fieldManager",
                          "Too long: may not be more than %d bytes",
                          (int)MOST_MANAGER);
    }
    if (status.cause_count == 0) {
        return KL_OK;
    }
    snprintf(qualified, sizeof(qualified), "%s.meta.k8s.io", status.kind);
    return kl__sim_refuse_invalid(write->answer, &status, qualified, err);
}

kl_code kl__sim_check_manager(kl__sim_write *write, kl_error *err)
{
    const char *manager =
        kl__sim_parameter_get(&write->answer->ask, "fieldManager");
    kl_code code = KL_OK;

    if (write->operation != KL__SIM_PATCH) {
        return is_too_long(manager) ? check_options(write, manager, err)
                                    : KL_OK;
    }
    return kl__sim_check_dry(write->answer, &code, err)
               ? check_options(write, manager, err)
               : code;
}

/* --- Who writes, and what the write does not reach. ----------------------- */

/* The parameter, or what the User-Agent has before its first slash. */
static void name_manager(const kl__sim_ask *ask, char name[])
{
    const char *given = kl__sim_parameter_get(ask, "fieldManager");
    const char *from =
        given != NULL && *given != '\0' ? given : ask->user_agent;
    bool is_given = from == given;
    size_t length = 0;

    for (; *from != '\0' && (is_given || *from != '/') && length < MOST_MANAGER;
         from++) {
        if (!iscntrl((unsigned char)*from)) {
            name[length++] = *from;
        }
    }
    name[length] = '\0';
    if (length == 0) {
        snprintf(name, KL__SIM_MANAGER_SIZE, "unknown");
    }
}

/* Whether a write of status leaves all of an object's metadata alone. */
static bool keeps_metadata(const kl__sim_write *write)
{
    static const char *const groups[] = {"flowcontrol.apiserver.k8s.io",
                                         "resource.k8s.io",
                                         "admissionregistration.k8s.io"};
    static const char *const plurals[] = {"volumeattachments", "servicecidrs"};

    if (kl__sim_write_is_custom(write)) {
        return true;
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (strcmp(write->kind->group, groups[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(plurals) / sizeof(plurals[0]); i++) {
        if (strcmp(write->kind->plural, plurals[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Texts of a new Event that are empty and shown all the same: nobody's. */
static const char *empty_texts(const kl__sim_write *write)
{
    static const char *const sets[] = {
        NULL, "{\"f:reportingComponent\":{}}", "{\"f:reportingInstance\":{}}",
        "{\"f:reportingComponent\":{},\"f:reportingInstance\":{}}"};
    static const char *const names[] = {"reportingComponent",
                                        "reportingInstance"};
    size_t empty = 0;

    if (write->old != NULL || *write->kind->group != '\0' ||
        strcmp(write->kind->plural, "events") != 0) {
        return NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        const char *text = kl__node_text(kl__sim_write_root(write), names[i]);

        empty |= (size_t)(text == NULL || *text == '\0') << i;
    }
    return sets[empty];
}

/* The fields that are put back whatever the request says, as FieldsV1. */
static const char *ignored_by(const kl__sim_write *write)
{
    const char *plural = write->kind->plural;

    if (!kl__sim_write_is_status(write)) {
        return write->served->has_status ? "{\"f:status\":{}}"
                                         : empty_texts(write);
    }
    if (keeps_metadata(write)) {
        return "{\"f:metadata\":{},\"f:spec\":{}}";
    }
    if (strcmp(plural, "deployments") == 0) {
        return "{\"f:metadata\":{\"f:labels\":{}},\"f:spec\":{}}";
    }
    if (strcmp(plural, "pods") == 0) {
        return "{\"f:metadata\":{\"f:deletionTimestamp\":{},"
               "\"f:ownerReferences\":{}},\"f:spec\":{}}";
    }
    return "{\"f:spec\":{}}";
}

/* The schema of the object in the version that it is tracked in: the
 * request's. */
static const kl__schema *schema_of(const kl__sim_write *write, kl_error *err)
{
    if (kl__sim_write_is_custom(write)) {
        return write->served->schema;
    }
    return kl__schema_builtin(write->kind->group, write->served->name,
                              write->kind->kind, err);
}

kl_code kl__sim_author_init(kl__sim_author *self, kl__sim_write *write,
                            kl_error *err)
{
    const char *version = write->answer->ask.route.version;
    const char *ignored = ignored_by(write);
    kl_error local = {0};

    memset(self, 0, sizeof(*self));
    name_manager(&write->answer->ask, self->name);
    kl__sim_clock_time(&write->answer->sim->clock, self->now);
    self->author = (kl__author){.edit = write->edit,
                                .schema = schema_of(write, &local),
                                .name = self->name,
                                .subresource = write->subresource,
                                .now = self->now,
                                .forgets = write->forgets_managers};
    self->api_version =
        *write->kind->group != '\0'
            ? kl__strprintf("%s/%s", write->kind->group, version)
            : kl__strdup(version);
    self->author.api_version = self->api_version;
    if (ignored != NULL) {
        self->author.ignored =
            kl__edit_parse(write->edit, ignored, strlen(ignored), NULL);
    }
    if (local.code != KL_ENOMEM && self->api_version != NULL &&
        (ignored == NULL || self->author.ignored != NULL)) {
        return KL_OK;
    }
    kl__sim_author_deinit(self);
    return kl__sim_no_memory(err);
}

void kl__sim_author_deinit(kl__sim_author *self)
{
    kl__free(self->api_version);
}

/* --- Stages. -------------------------------------------------------------- */

kl_code kl__sim_note_managers(kl__sim_write *write, kl_error *err)
{
    (void)err;
    write->forgets_managers = kl__managers_are_reset(
        kl__node_get(kl__sim_write_metadata(write), "managedFields"));
    return KL_OK;
}

/* The metadata of custom objects is a Go struct too: what is empty is not
 * there. */
static void drop_empty(kl__node *metadata)
{
    kl__node_iter iter = {0};
    const kl__node *value;

    while ((value = kl__node_next(metadata, &iter, NULL, NULL)) != NULL) {
        bool is_container =
            kl__node_is(value, KL_OBJECT) || kl__node_is(value, KL_ARRAY);

        if (kl__node_type(value) == KL_NULL ||
            (is_container && kl__node_size(value) == 0)) {
            kl__node_drop(&iter);
        }
    }
}

kl_code kl__sim_track(kl__sim_write *write, kl_error *err)
{
    kl__sim_before before = {0};
    kl__sim_author self;
    kl_code code;

    if (write->answer->loading || write->is_tracked) {
        return KL_OK;
    }
    if (kl__sim_write_is_custom(write)) {
        drop_empty(kl__sim_write_metadata(write));
    }
    code = kl__sim_author_init(&self, write, err);
    if (code != KL_OK) {
        return code;
    }
    code = kl__sim_before_open(&before, write, err);
    if (code == KL_OK) {
        code =
            kl__track_update(&self.author, before.root,
                             kl__sim_write_root(write), &write->managed, err);
    }
    kl__sim_before_close(&before);
    write->is_tracked = true;
    kl__sim_author_deinit(&self);
    return code;
}

/* Whether entries differ by their times alone. */
static bool is_same_but_times(const kl__node *a, const kl__node *b)
{
    static const char *const times[] = {"time", NULL};
    kl__node_iter at_a = {0}, at_b = {0};
    const kl__node *entry;

    if (kl__node_size(a) != kl__node_size(b)) {
        return false;
    }
    while ((entry = kl__node_next(a, &at_a, NULL, NULL)) != NULL) {
        if (!kl__node_equal_but(entry, kl__node_next(b, &at_b, NULL, NULL),
                                times)) {
            return false;
        }
    }
    return true;
}

/* Whether the write changes nothing but the times of entries. */
static bool is_idle(const kl__sim_write *write, const kl__node *before)
{
    static const char *const metadata[] = {"metadata", NULL};
    static const char *const counted[] = {"managedFields", "resourceVersion",
                                          NULL};

    return before != NULL && is_same_but_times(before, write->managed) &&
           kl__node_equal_but(kl__sim_write_old(write),
                              kl__sim_write_root(write), metadata) &&
           kl__node_equal_but(
               kl__node_get(kl__sim_write_old(write), "metadata"),
               kl__sim_write_metadata(write), counted);
}

kl_code kl__sim_keep_track(kl__sim_write *write, kl_error *err)
{
    static const char *const path[] = {"metadata", "managedFields", NULL};
    kl__node *metadata = kl__sim_write_metadata(write);
    const kl__node *before = kl__node_find(kl__sim_write_old(write), path);
    bool put;

    if (!write->is_tracked) {
        return KL_OK;
    }
    if (write->managed == NULL || is_idle(write, before)) {
        put = kl__sim_put_copy(write->edit, metadata, "managedFields",
                               write->managed != NULL ? before : NULL);
    } else {
        put = kl__node_put(write->edit, metadata, "managedFields",
                           write->managed);
    }
    return put ? KL_OK : kl__sim_no_memory(err);
}
