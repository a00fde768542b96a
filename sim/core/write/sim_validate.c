/*
 * sim_validate.c - a stage of a write: runs all checks of an object: name,
 * labels and metadata first (owners, finalizers, members that an update cannot
 * change), then the checks of its kind or of its schema. One answer has the
 * causes of all checks.
 */
#include "sim/core/write/sim_pipeline.h"

#include "base/mem.h"
#include "sim/core/answer/sim_labels.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* RFC 1123: letters, digits and '-'; '-' is neither first nor last. */
static bool is_label(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inside = i > 0 && i + 1 < length;

        if (!is_letter_or_digit(name[i]) && !(inside && name[i] == '-')) {
            return false;
        }
    }
    return length > 0;
}

static bool is_subdomain(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, ".");

        if (!is_label(name, length)) {
            return false;
        }
        if (name[length] == '\0') {
            return true;
        }
        name += length + 1;
    }
}

/* Why a name cannot be a segment of a path; NULL: it can. */
static const char *segment_fault(const char *name)
{
    return strcmp(name, ".") == 0      ? "may not be '.'"
           : strcmp(name, "..") == 0   ? "may not be '..'"
           : strchr(name, '/') != NULL ? "may not contain '/'"
           : strchr(name, '%') != NULL ? "may not contain '%'"
                                       : NULL;
}

static const char SUBDOMAIN[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
static const char LABEL[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric "
    "characters or '-', and must start and end with an alphanumeric character "
    "(e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
/* Why a kind does not allow a name; NULL: it does. */
static const char *name_fault(const kl__sim_kind *kind, const char *name)
{
    size_t length = strlen(name);

    if (strcmp(kind->group, "rbac.authorization.k8s.io") == 0) {
        return segment_fault(name);
    }
    if (kl__sim_is_namespace(kind) ||
        (*kind->group == '\0' && strcmp(kind->plural, "services") == 0)) {
        return length > 63 ? "must be no more than 63 characters"
               : strchr(name, '.') != NULL ? "must not contain dots"
               : is_label(name, length)    ? NULL
                                           : LABEL;
    }
    return length > 253         ? "must be no more than 253 characters"
           : is_subdomain(name) ? NULL
                                : SUBDOMAIN;
}

/* --- Names. --------------------------------------------------------------- */

/* Adds a cause to `status` if the kind does not allow the name, or if the name
 * is missing (NULL or ""). */
static void sim_check_name(const kl__sim_kind *kind, const char *name,
                           kl__sim_status *status)
{
    const char *fault;

    if (name == NULL || *name == '\0') {
        kl__sim_cause_add(status, "FieldValueRequired", "metadata.name",
                          "Required value: name or generateName is required");
        return;
    }
    fault = name_fault(kind, name);
    if (fault != NULL) {
        kl__sim_cause_add(status, "FieldValueInvalid", "metadata.name",
                          "Invalid value: \"%s\": %s", name, fault);
    }
}

/* ---- metadata ---- */

static const char OWNERS[] = "metadata.ownerReferences";
static const char FINALIZERS[] = "metadata.finalizers";

static bool is_text_empty(const char *text)
{
    return text == NULL || *text == '\0';
}

/* Adds an error that shows `value` with its members in their own order;
 * kl__field_invalid_node would sort them. */
static void refuse_as_is(kl__sim_write *write, const char *field,
                         const kl__node *value, const char *why)
{
    char *json = kl__node_json(value, NULL, NULL);

    if (json == NULL) {
        write->errors.failed = true;
        return;
    }
    kl__field_add(&write->errors, KL__FIELD_INVALID, field, json, why);
    kl__free(json);
}

static void check_owner(kl__sim_write *write, const kl__node *owner)
{
    static const char *const needed[] = {"apiVersion", "kind", "name", "uid"};
    const char *version = kl__node_text(owner, "apiVersion");
    const char *kind = kl__node_text(owner, "kind");

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        char field[64];

        if (is_text_empty(kl__node_text(owner, needed[i]))) {
            snprintf(field, sizeof(field), "%s.%s", OWNERS, needed[i]);
            kl__field_invalid(&write->errors, field, "", "%smust not be empty",
                              i == 0 ? "version " : "");
        }
    }
    if (!is_text_empty(version) && !is_text_empty(kind) &&
        strcmp(version, "v1") == 0 && strcmp(kind, "Event") == 0) {
        refuse_as_is(write, OWNERS, owner,
                     "/v1, Kind=Event is disallowed from being an owner");
    }
}

/* Checks owners; an object has at most one controller. */
static void check_owners(kl__sim_write *write)
{
    const kl__node *owners =
        kl__node_get(kl__sim_write_metadata(write), "ownerReferences");
    const kl__node *owner;
    const char *controller = NULL;
    kl__node_iter iter = {0};

    while ((owner = kl__node_next(owners, &iter, NULL, NULL)) != NULL) {
        const char *name = kl__node_text(owner, "name");
        char why[400];

        check_owner(write, owner);
        if (!kl__node_bool(kl__node_get(owner, "controller"))) {
            continue;
        }
        if (controller != NULL) {
            snprintf(why, sizeof(why),
                     "Only one reference can have Controller set to true. "
                     "Found \"true\" in references for %.100s and %.100s",
                     controller, name != NULL ? name : "");
            refuse_as_is(write, OWNERS, owners, why);
        }
        controller = name != NULL ? name : "";
    }
}

/* True for finalizers that need no domain. */
static bool is_standard(const char *finalizer)
{
    return strcmp(finalizer, "kubernetes") == 0 ||
           strcmp(finalizer, "orphan") == 0 ||
           strcmp(finalizer, "foregroundDeletion") == 0;
}

static void check_finalizer_keys(kl__sim_write *write)
{
    const kl__node *list =
        kl__node_get(kl__sim_write_metadata(write), "finalizers");
    const kl__node *element;
    kl__node_iter iter = {0};
    int orphan = 0, foreground = 0;

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);
        kl__sim_faults faults = kl__sim_key_faults(text != NULL ? text : "");

        for (size_t i = 0; i < faults.count; i++) {
            kl__field_invalid(&write->errors, FINALIZERS, text, "%s",
                              faults.texts[i]);
        }
        orphan += text != NULL && strcmp(text, "orphan") == 0;
        foreground += text != NULL && strcmp(text, "foregroundDeletion") == 0;
    }
    if (orphan > 0 && foreground > 0) {
        refuse_as_is(write, FINALIZERS, list,
                     "finalizer orphan and foregroundDeletion cannot be both "
                     "set");
    }
}

/* Checks the finalizers of built-in kinds: each must have a domain
 * ("example.com/name"), or be one of Kubernetes' own. */
static void check_domains(kl__sim_write *write)
{
    const kl__node *list =
        kl__node_get(kl__sim_write_metadata(write), "finalizers");
    const kl__node *element;
    kl__node_iter iter = {0};

    for (int index = 0;
         (element = kl__node_next(list, &iter, NULL, NULL)) != NULL; index++) {
        const char *text = kl__node_string(element, NULL);
        char field[64];

        if (text == NULL || strchr(text, '/') != NULL || is_standard(text)) {
            continue;
        }
        snprintf(field, sizeof(field), "%s[%d]", FINALIZERS, index);
        kl__field_invalid(&write->errors, field, text,
                          "name is neither a standard finalizer name nor is "
                          "it fully qualified");
    }
}

void kl__sim_check_kept(kl__sim_write *write)
{
    static const char *const fixed[] = {"uid", "deletionTimestamp",
                                        "deletionGracePeriodSeconds"};
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "metadata");
    const kl__node *metadata = kl__sim_write_metadata(write);

    for (size_t i = 0;
         i < sizeof(fixed) / sizeof(fixed[0]) && !write->answer->loading; i++) {
        const kl__node *given = kl__node_get(metadata, fixed[i]);
        char field[64];

        if (given != NULL && !kl__node_is(given, KL_NULL) &&
            (!kl__node_is(given, KL_STRING) ||
             !is_text_empty(kl__node_string(given, NULL))) &&
            !kl__node_equal(given, kl__node_get(old, fixed[i]))) {
            snprintf(field, sizeof(field), "metadata.%s", fixed[i]);
            kl__field_invalid_node(&write->errors, field, given,
                                   "field is immutable");
        }
    }
}

/* Makes the answer list the causes found in metadata so far twice: in an
 * update, kube-apiserver checks metadata in two places. */
static void note_twice(kl__sim_write *write)
{
    static const char within[] = "metadata.";
    const kl__field_errors *errors = &write->errors;
    kl__sim_status *invalid = &write->invalid;
    size_t *causes = &invalid->causes_twice, *more = &invalid->errors_twice;

    while (*causes < invalid->cause_count &&
           strncmp(invalid->causes[*causes].field, within, 9) == 0) {
        (*causes)++;
    }
    while (*more < errors->count &&
           strncmp(errors->items[*more].field, within, 9) == 0) {
        (*more)++;
    }
}

/* Checks owners and finalizers. */
static void sim_check_metadata(kl__sim_write *write)
{
    check_owners(write);
    check_finalizer_keys(write);
    if (write->old != NULL) {
        note_twice(write);
    }
    if (!kl__sim_write_is_custom(write)) {
        check_domains(write);
    }
}

/* ---- all checks ---- */

/* Adds causes for new finalizers of an object that is being deleted: then they
 * may only be removed. */
static void check_finalizers(kl__sim_write *write, const kl__node *old)
{
    const kl__node *finalizers =
        kl__node_get(kl__sim_write_metadata(write), "finalizers");
    const kl__node *element;
    kl__node_iter iter = {0};

    while ((element = kl__node_next(finalizers, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text != NULL &&
            !kl__node_holds(kl__node_get(old, "finalizers"), text)) {
            kl__sim_cause_add(&write->invalid, "FieldValueForbidden",
                              "metadata.finalizers",
                              "Forbidden: no new finalizers can be added if "
                              "the object is being deleted, found new "
                              "finalizers []string{\"%s\"}",
                              text);
        }
    }
}

/* Ends the validation: answers 422 if there are causes. */
static kl_code answer_causes(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->resource->kind;
    char qualified[512];

    if (write->errors.failed) {
        return kl__sim_no_memory(err);
    }
    if (write->invalid.cause_count + write->errors.count == 0) {
        return KL_OK;
    }
    write->invalid.errors = &write->errors;
    write->invalid.name = kl__node_text(kl__sim_write_metadata(write), "name");
    snprintf(qualified, sizeof(qualified), "%s%s%s", kind->kind,
             *kind->group != '\0' ? "." : "", kind->group);
    return kl__sim_refuse_invalid(write->answer, &write->invalid, qualified,
                                  err);
}

kl_code kl__sim_validate(kl__sim_write *write, kl_error *err)
{
    const kl__node *metadata = kl__sim_write_metadata(write);
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "metadata");

    if (write->old == NULL) {
        sim_check_name(write->kind, kl__node_text(metadata, "name"),
                       &write->invalid);
    } else if (kl__node_text(old, "deletionTimestamp") != NULL &&
               !write->answer->loading) {
        check_finalizers(write, old);
    }
    kl__sim_check_labels(metadata, &write->invalid);
    if (!write->answer->loading) {
        sim_check_metadata(write);
        kl__sim_validate_kind(write);
    }
    if (write->answer->sim->hooks->custom_validate(write, err) != KL_OK ||
        (kl__sim_is_crd(write->kind) && !kl__sim_write_is_status(write) &&
         write->answer->sim->hooks->crd_validate(write, err) != KL_OK)) {
        return KL_ENOMEM;
    }
    return answer_causes(write, err);
}
