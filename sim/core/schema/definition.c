/*
 * definition.c - see definition.h and definition_parts.h: validates the whole
 * definition and its conversion, and refuses changes that are not allowed.
 */
#include "sim/core/schema/definition_parts.h"

#include "base/mem.h"
#include "sim/core/schema/custom.h"

#include <stdio.h>
#include <string.h>

/* --- Changes that are not allowed. ---------------------------------------- */

static bool is_established(const kl_value *root)
{
    const kl_value *conditions =
        kl_value_get(kl_value_get(root, "status"), "conditions");
    kl_value_iter iter = {0};
    const kl_value *condition;

    while ((condition = kl_value_next(conditions, &iter, NULL)) != NULL) {
        if (strcmp(kl__definition_text(condition, "type"), "Established") ==
                0 &&
            strcmp(kl__definition_text(condition, "status"), "True") == 0) {
            return true;
        }
    }
    return false;
}

static void keep_member_equal(kl__definition *self, const kl_value *now,
                              const kl_value *old, const char *name)
{
    const char *text = kl__definition_text(now, name);
    char member[32];

    snprintf(member, sizeof(member), ".%s", name);
    if (strcmp(text, kl__definition_text(old, name)) != 0) {
        kl__definition_refuse(self, member, text, "field is immutable");
    }
}

static void check_change(kl__definition *self, const kl_value *root,
                         const kl_value *old)
{
    const kl_value *spec = kl_value_get(root, "spec");
    const kl_value *before_spec = kl_value_get(old, "spec");
    const kl_value *names = kl_value_get(spec, "names");
    const kl_value *before_names = kl_value_get(before_spec, "names");
    bool established = is_established(old);
    size_t at_spec = kl__definition_enter(self, "spec");
    size_t at_names;

    if (established) {
        keep_member_equal(self, spec, before_spec, "scope");
        at_names = kl__definition_enter(self, ".names");
        keep_member_equal(self, names, before_names, "kind");
        kl__definition_leave(self, at_names);
    }
    keep_member_equal(self, spec, before_spec, "group");
    at_names = kl__definition_enter(self, ".names");
    keep_member_equal(self, names, before_names, "plural");
    kl__definition_leave(self, at_names);
    kl__definition_leave(self, at_spec);
}

/* --- Stored versions. ----------------------------------------------------- */

static bool has_version(const kl_value *versions, const char *name)
{
    kl_value_iter iter = {0};
    const kl_value *version;

    while ((version = kl_value_next(versions, &iter, NULL)) != NULL) {
        if (strcmp(kl__definition_text(version, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_text(const kl_value *list, const char *text)
{
    kl_value_iter iter = {0};
    const kl_value *element;

    while ((element = kl_value_next(list, &iter, NULL)) != NULL) {
        const char *other = kl_value_string(element, NULL);

        if (other != NULL && strcmp(other, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Refuses a definition without a version in which objects may still be
 * stored. */
static void check_left(kl__definition *self, const kl_value *stored,
                       const kl_value *versions)
{
    for (size_t i = 0; i < kl_value_size(stored); i++) {
        const char *name = kl_value_string(kl_value_at(stored, i), NULL);
        char member[24];
        kl__buf why = {0};

        if (name == NULL || has_version(versions, name)) {
            continue;
        }
        snprintf(member, sizeof(member), "[%zu]", i);
        kl__buf_printf(&why,
                       "missing from spec.versions; %s was previously a "
                       "storage version, and must remain in spec.versions "
                       "until a storage migration ensures no data remains "
                       "persisted in %s and removes %s from "
                       "status.storedVersions",
                       name, name, name);
        kl__definition_refuse(self, member, name,
                              why.bytes != NULL ? why.bytes : "");
        self->errors->failed |= why.failed;
        kl__buf_deinit(&why);
    }
}

static void check_stored(kl__definition *self, const kl_value *root)
{
    const kl_value *versions =
        kl_value_get(kl_value_get(root, "spec"), "versions");
    const kl_value *stored =
        kl_value_get(kl_value_get(root, "status"), "storedVersions");
    size_t before = kl__definition_enter(self, "status.storedVersions");
    kl_value_iter iter = {0};
    const kl_value *version;

    if (kl_value_size(stored) == 0) {
        kl__definition_refuse_value(self, "", NULL,
                                    "must have at least one stored version");
    }
    while (kl_value_size(stored) != 0 &&
           (version = kl_value_next(versions, &iter, NULL)) != NULL) {
        const char *name = kl__definition_text(version, "name");
        char why[300];

        if (kl_value_bool(kl_value_get(version, "storage")) &&
            !has_text(stored, name)) {
            snprintf(why, sizeof(why), "must have the storage version %.200s",
                     name);
            kl__definition_refuse_value(self, "", stored, why);
        }
    }
    check_left(self, stored, versions);
    kl__definition_leave(self, before);
}

/* --- The rest. ------------------------------------------------------------ */

static bool ends_in(const char *text, const char *domain)
{
    size_t length = strlen(text), other = strlen(domain);

    return length >= other && strcmp(text + length - other, domain) == 0 &&
           (length == other || text[length - other - 1] == '.');
}

/* A new definition in a group of Kubernetes' own domains must have an
 * annotation that says that it was approved. */
static void check_approval(kl__definition *self, const kl_value *root,
                           const kl_value *old)
{
    static const char name[] = "api-approved.kubernetes.io";
    const char *group =
        kl__definition_text(kl_value_get(root, "spec"), "group");
    const kl_value *annotations =
        kl_value_get(kl_value_get(root, "metadata"), "annotations");

    if (old == NULL &&
        (ends_in(group, "k8s.io") || ends_in(group, "kubernetes.io")) &&
        !kl__definition_has(annotations, name)) {
        kl__definition_add(
            self, KL__FIELD_REQUIRED,
            "metadata.annotations[api-approved.kubernetes.io]",
            "protected groups must have approval annotation "
            "\"api-approved.kubernetes.io\", see "
            "https://github.com/kubernetes/enhancements/pull/1111");
    }
}

void kl__definition_validate(const kl_value *root, const kl_value *old,
                             kl__field_errors *errors)
{
    kl__definition self = {errors, {0}};
    const kl_value *spec = kl_value_get(root, "spec");
    const kl_value *preserve = kl_value_get(spec, "preserveUnknownFields");

    kl__definition_spec(&self, spec);
    if (old != NULL) {
        check_change(&self, root, old);
    }
    check_stored(&self, root);
    check_approval(&self, root, old);
    if (kl_value_bool(preserve)) {
        kl__definition_refuse_value(
            &self, "spec.preserveUnknownFields", preserve,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to "
            "true in spec.versions[*].schema instead");
    }
    errors->failed |= self.path.failed;
    kl__buf_deinit(&self.path);
}

/* --- Formats. ------------------------------------------------------------- */

typedef kl_code (*note_fn)(void *context, const char *name, kl_error *err);

typedef struct formats {
    note_fn note;
    void *context;
} formats;

static bool is_checked(const char *type, const char *format)
{
    if (*type == '\0' || strcmp(type, "string") == 0) {
        return kl__custom_format_is_known(format);
    }
    if (strcmp(type, "integer") == 0) {
        return strcmp(format, "int32") == 0 || strcmp(format, "int64") == 0;
    }
    return strcmp(type, "number") == 0 &&
           (strcmp(format, "float") == 0 || strcmp(format, "double") == 0);
}

/* Calls `note` for the unknown formats of a schema, and of its properties,
 * items and additional properties. */
static kl_code each_format(const formats *self, const kl_value *schema,
                           kl_error *err)
{
    static const char *const members[] = {"properties", "items",
                                          "additionalProperties"};
    const char *format = kl__definition_text(schema, "format");
    kl_code code = KL_OK;

    if (*format != '\0' &&
        !is_checked(kl__definition_text(schema, "type"), format)) {
        code = self->note(self->context, format, err);
    }
    for (size_t i = 0; i < 3 && code == KL_OK; i++) {
        const kl_value *member = kl_value_get(schema, members[i]), *property;
        const kl_value *name;
        kl_value_iter iter = {0};

        if (i != 0 && kl_value_type(member) == KL_OBJECT) {
            code = each_format(self, member, err);
        }
        while (i == 0 && code == KL_OK && kl_value_type(member) == KL_OBJECT &&
               (property = kl_value_next(member, &iter, &name)) != NULL) {
            code = each_format(self, property, err);
        }
    }
    return code;
}

kl_code kl__definition_formats(const kl_value *root, note_fn note,
                               void *context, kl_error *err)
{
    const formats self = {note, context};
    const kl_value *versions =
        kl_value_get(kl_value_get(root, "spec"), "versions");
    kl_value_iter iter = {0};
    const kl_value *version;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (version = kl_value_next(versions, &iter, NULL)) != NULL) {
        code = each_format(
            &self,
            kl_value_get(kl_value_get(version, "schema"), "openAPIV3Schema"),
            err);
    }
    return code;
}

/* ---- spec.conversion ---- */

static void check_webhook(kl__definition *self, const kl_value *webhook)
{
    const kl_value *client = kl_value_get(webhook, "clientConfig");
    const kl_value *versions =
        kl_value_get(webhook, "conversionReviewVersions");
    bool known = false;

    if (kl_value_type(client) != KL_OBJECT) {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".webhookClientConfig",
                           "required when strategy is set to Webhook");
    } else if ((kl_value_get(client, "url") == NULL) ==
               (kl_value_get(client, "service") == NULL)) {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".webhookClientConfig",
                           "exactly one of url or service is required");
    }
    if (kl_value_size(versions) == 0) {
        kl__definition_add(self, KL__FIELD_REQUIRED,
                           ".conversionReviewVersions", "");
        return;
    }
    for (size_t i = 0; i < kl_value_size(versions); i++) {
        const char *text = kl_value_string(kl_value_at(versions, i), NULL);

        known = known || (text != NULL && (strcmp(text, "v1") == 0 ||
                                           strcmp(text, "v1beta1") == 0));
    }
    if (!known) {
        kl__definition_refuse_value(self, ".conversionReviewVersions", versions,
                                    "must include at least one of v1, v1beta1");
    }
}

void kl__definition_conversion(kl__definition *self, const kl_value *conversion)
{
    const char *strategy = kl__definition_text(conversion, "strategy");
    const kl_value *webhook = kl_value_get(conversion, "webhook");
    size_t before;

    if (conversion == NULL) {
        return;
    }
    before = kl__definition_enter(self, ".conversion");
    if (*strategy == '\0') {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".strategy", "");
    } else if (strcmp(strategy, "None") != 0 &&
               strcmp(strategy, "Webhook") != 0) {
        kl__definition_unsupported(self, ".strategy", strategy,
                                   "\"None\", \"Webhook\"");
    }
    if (strcmp(strategy, "Webhook") == 0) {
        check_webhook(self, webhook);
    } else {
        if (kl_value_get(webhook, "clientConfig") != NULL) {
            kl__definition_add(
                self, KL__FIELD_FORBIDDEN, ".webhookClientConfig",
                "should not be set when strategy is not set to Webhook");
        }
        if (kl_value_size(kl_value_get(webhook, "conversionReviewVersions")) !=
            0) {
            kl__definition_add(
                self, KL__FIELD_FORBIDDEN, ".conversionReviewVersions",
                "should not be set when strategy is not set to Webhook");
        }
    }
    kl__definition_leave(self, before);
}
