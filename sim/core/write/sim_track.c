/*
 * sim_track.c - see sim_track.h: the stages that compute and write
 * managedFields prepare what the functions in sim/core/patch need; and objects
 * are converted between the stored version and that of a request.
 */
#include "sim/core/write/sim_track.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/schema_normal.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_convert.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_fields.h"
#include "sim/core/write/sim_write.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

kl_code kl__sim_convert_fields(kl__sim_write *write, kl_error *err)
{
    const kl__conversion *conversion =
        kl__sim_conversion_of(write->kind, write->served);

    if (conversion == NULL) {
        return KL_OK;
    }
    return conversion->to_stored(write->edit, kl__sim_write_root(write))
               ? kl__sim_complete_stored(write, err)
               : kl__sim_no_memory(err);
}

/* Converts a stored object to a version, and sets apiVersion; false: out of
 * memory. */
static bool show_version(kl__edit *edit, kl__node *object,
                         const kl__sim_kind *kind,
                         const kl__sim_version *served)
{
    char *version;
    bool good;

    if (kl__sim_conversion_of(kind, served) == NULL) {
        return true;
    }
    version = kl__strprintf("%s/%s", kind->group, served->name);
    good = version != NULL && kl__sim_show_object(edit, object, kind, served) &&
           kl__sim_put_text(edit, object, "apiVersion", version);
    kl__free(version);
    return good;
}

kl_code kl__sim_show_served(kl__sim_write *write, kl_error *err)
{
    return show_version(write->edit, kl__sim_write_root(write), write->kind,
                        write->served)
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* --- The old object, for stages that compare with it. --------------------- */

kl_code kl__sim_before_open(kl__sim_before *before, const kl__sim_write *write,
                            kl_error *err)
{
    const kl__sim_kind *kind = write->kind;

    before->copy = NULL;
    before->root = kl__sim_write_old(write);
    if (before->root == NULL || kl__sim_kind_is(kind, KL__SIM_CUSTOM) ||
        kl__convert_find(NULL, kind->kind, NULL) == NULL) {
        return KL_OK;
    }
    before->copy = kl__sim_state_edit(write->old, err);
    if (before->copy == NULL) {
        return KL_ENOMEM;
    }
    before->root = kl__edit_root(before->copy);
    return show_version(before->copy, kl__edit_root(before->copy), kind,
                        write->served)
               ? KL_OK
               : kl__sim_no_memory(err);
}

void kl__sim_before_close(kl__sim_before *before)
{
    kl__edit_free(before->copy);
}

/* ---- managedFields ---- */

enum { MOST_MANAGER = KL__SIM_MANAGER_SIZE - 1 };

static bool is_too_long(const char *manager)
{
    return manager != NULL && strlen(manager) > MOST_MANAGER;
}

static kl_code check_manager_options(kl__sim_write *write, const char *manager,
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
        return is_too_long(manager) ? check_manager_options(write, manager, err)
                                    : KL_OK;
    }
    return kl__sim_check_dry(write->answer, &code, err)
               ? check_manager_options(write, manager, err)
               : code;
}

/* --- The manager, and fields that are not tracked. ------------------------ */

/* The manager's name: the parameter fieldManager, or the User-Agent up to its
 * first slash. */
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

/* An object whose managers are tracked, and the path of the write. */
typedef struct tracked {
    kl_sim *sim;
    const kl__sim_kind *kind;
    const kl__sim_version *served; /* the request's version, or the stored */
    const char *subresource;
    bool begins; /* there is no old object to compare with */
} tracked;

static bool is_custom(const tracked *target)
{
    return kl__sim_kind_is(target->kind, KL__SIM_CUSTOM);
}

/* The fields that the write cannot change, as FieldsV1; NULL: there are none.
 * The write's manager does not get them. */
static const char *ignored_by(const tracked *target)
{
    const kl__sim_kind *kind = target->kind;
    bool writes_status = strcmp(target->subresource, "status") == 0;

    if (!writes_status) {
        return target->served->has_status ? "{\"f:status\":{}}" : NULL;
    }
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        return "{\"f:metadata\":{},\"f:spec\":{}}";
    }
    if (strcmp(kind->plural, "deployments") == 0) {
        return "{\"f:metadata\":{\"f:labels\":{}},\"f:spec\":{}}";
    }
    if (strcmp(kind->plural, "pods") == 0) {
        return "{\"f:metadata\":{\"f:deletionTimestamp\":{},"
               "\"f:ownerReferences\":{}},\"f:spec\":{}}";
    }
    return "{\"f:spec\":{}}";
}

/* The schema of the object in the version in which it is tracked. */
static const kl__schema *schema_of(const tracked *target, kl_error *err)
{
    if (is_custom(target)) {
        return target->served->schema;
    }
    return kl__schema_builtin(target->kind->group, target->served->name,
                              target->kind->kind, err);
}

/* For a new object of a built-in kind: sets author->nothing to what Go writes
 * for an empty struct. Fields that Go writes even when they are empty get no
 * manager then. False: out of memory. */
static bool begin_with_nothing(kl__author *author, const tracked *target)
{
    kl__node *nothing;

    if (!target->begins || is_custom(target) || author->schema == NULL) {
        return true;
    }
    nothing = kl__edit_object(author->edit);
    author->nothing = nothing;
    return nothing != NULL &&
           kl__schema_normalize(author->edit, nothing, author->schema);
}

/* Fills the author, except for its name. KL_ENOMEM. */
static kl_code begin_tracking(kl__sim_author *self, const tracked *target,
                              kl__edit *edit, kl_error *err)
{
    const char *group = target->kind->group;
    const char *ignored = ignored_by(target);
    kl_error local = {0};

    kl__sim_clock_time(&target->sim->clock, self->now);
    self->author = (kl__author){.edit = edit,
                                .schema = schema_of(target, &local),
                                .name = self->name,
                                .subresource = target->subresource,
                                .now = self->now};
    if (strcmp(target->subresource, "scale") == 0) {
        self->author.now = NULL; /* as in a cluster: a Scale has no times */
    }
    self->api_version =
        *group != '\0' ? kl__strprintf("%s/%s", group, target->served->name)
                       : kl__strdup(target->served->name);
    self->author.api_version = self->api_version;
    if (ignored != NULL) {
        self->author.ignored =
            kl__edit_parse(edit, ignored, strlen(ignored), NULL);
    }
    if (local.code != KL_ENOMEM && self->api_version != NULL &&
        (ignored == NULL || self->author.ignored != NULL) &&
        begin_with_nothing(&self->author, target)) {
        return KL_OK;
    }
    kl__sim_author_deinit(self);
    return kl__sim_no_memory(err);
}

kl_code kl__sim_author_init(kl__sim_author *self, kl__sim_write *write,
                            kl_error *err)
{
    const tracked target = {write->answer->sim, write->kind, write->served,
                            write->subresource,
                            write->old == NULL || kl__sim_is_apply(write)};
    kl_code code;

    memset(self, 0, sizeof(*self));
    name_manager(&write->answer->ask, self->name);
    code = begin_tracking(self, &target, write->edit, err);
    self->author.forgets = write->forgets_managers;
    return code;
}

void kl__sim_author_deinit(kl__sim_author *self)
{
    kl__free(self->api_version);
    self->api_version = NULL;
}

/* --- Stages. -------------------------------------------------------------- */

kl_code kl__sim_note_managers(kl__sim_write *write, kl_error *err)
{
    (void)err;
    write->forgets_managers = kl__managers_are_reset(
        kl__node_get(kl__sim_write_metadata(write), "managedFields"));
    return KL_OK;
}

/* Removes empty members from the metadata of a custom object. It is a Go struct
 * even there, and Go does not write these members when they are empty. */
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

/* True if two lists of managedFields differ in the times of their entries
 * only. */
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

/* True if the write would change nothing but the times in managedFields. */
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

const kl__sim_hand kl__sim_controller = {"kube-controller-manager", ""};
const kl__sim_hand kl__sim_status_controller = {"kube-controller-manager",
                                                "status"};
const kl__sim_hand kl__sim_server = {"kube-apiserver", "status"};

kl_code kl__sim_track_own(kl_sim *sim, const kl__sim_resource *resource,
                          const kl__sim_state *old, kl__edit *edit,
                          const kl__sim_hand *hand, kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    const tracked target = {
        sim, kind,
        kl__sim_kind_version(kind, kind->storage, strlen(kind->storage)),
        hand->subresource, false};
    kl__edit *before = kl__sim_state_edit(old, err);
    kl__sim_author self = {0};
    kl__node *managed = NULL;
    kl_code code =
        before != NULL ? kl__sim_encode_stored(kind, edit, err) : KL_ENOMEM;

    snprintf(self.name, sizeof(self.name), "%s", hand->manager);
    if (code == KL_OK) {
        code = begin_tracking(&self, &target, edit, err);
    }
    if (code == KL_OK) {
        kl__node *root = kl__edit_root(edit);

        code = kl__track_update(&self.author, kl__edit_root(before), root,
                                &managed, err);
        if (code == KL_OK && managed != NULL &&
            !kl__node_put(edit, kl__node_get(root, "metadata"), "managedFields",
                          managed)) {
            code = kl__sim_no_memory(err);
        }
    }
    kl__sim_author_deinit(&self);
    kl__edit_free(before);
    return code;
}

kl_code kl__sim_put_as(kl_sim *sim, kl__sim_resource *resource,
                       const kl__sim_state *old, kl__edit *edit,
                       const kl__sim_hand *hand, kl_error *err)
{
    kl_code code = kl__sim_track_own(sim, resource, old, edit, hand, err);

    return code == KL_OK ? kl__sim_put_back(sim, resource, old, edit, err)
                         : code;
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
