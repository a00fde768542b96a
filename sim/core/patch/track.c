/*
 * track.c - see managers.h: managedFields after a write that is not an apply:
 * the author of the write gets the fields that it changed, and other managers
 * lose them.
 */
#include "sim/core/patch/managers.h"

#include "base/mem.h"
#include "sim/core/patch/field_set.h"
#include "sim/core/patch/typed.h"

#include <string.h>

static kl_code track_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for managed fields");
}

void kl__managers_strip(kl__node *fields)
{
    static const char *const names[] = {
        "f:name",       "f:namespace",     "f:creationTimestamp",
        "f:selfLink",   "f:uid",           "f:clusterName",
        "f:generation", "f:managedFields", "f:resourceVersion"};
    kl__node *metadata = kl__node_get(fields, "f:metadata");

    kl__node_remove(fields, "f:apiVersion");
    kl__node_remove(fields, "f:kind");
    if (metadata == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        kl__node *element = kl__node_get(metadata, names[i]);

        if (element != NULL && kl__node_size(element) == 0) {
            kl__node_remove(metadata, names[i]);
        }
    }
    kl__node_remove(metadata, ".");
    if (kl__node_size(metadata) == 0) {
        kl__node_remove(fields, "f:metadata");
    }
}

void kl__managers_yield(kl__managers *managers, const kl__manager *self,
                        const kl__node *changed, const kl__node *removed)
{
    for (size_t i = managers->count; i > 0; i--) {
        kl__manager *one = &managers->items[i - 1];

        if (one == self) {
            continue;
        }
        kl__fields_subtract(one->fields, changed, false);
        kl__fields_subtract(one->fields, removed, false);
    }
}

void kl__managers_drop_idle(kl__managers *managers)
{
    size_t kept = 0;

    for (size_t i = 0; i < managers->count; i++) {
        if (kl__node_size(managers->items[i].fields) != 0) {
            managers->items[kept++] = managers->items[i];
        }
    }
    managers->count = kept;
}

/* Gives the changed fields to the author. */
static bool own_fields(const kl__author *author, kl__managers *managers,
                       kl__node *changed)
{
    const kl__manager self = {.name = author->name,
                              .api_version = author->api_version,
                              .subresource = author->subresource,
                              .time = author->now,
                              .fields = changed};
    kl__manager *known = kl__managers_find(managers, &self);

    if (kl__node_size(changed) == 0) {
        return true;
    }
    if (known == NULL) {
        return kl__managers_add(managers, &self) != NULL;
    }
    known->time = author->now;
    return kl__fields_unite(author->edit, known->fields, changed);
}

/* Removes the changed fields from all managers, and gives them to the
 * author. */
static kl_code update_managers(const kl__author *author, const kl__node *live,
                               const kl__node *object, kl__managers *managers,
                               kl_error *err)
{
    kl__difference difference;

    kl__managers_drop_foreign(managers, author->api_version);
    if (!kl__typed_compare(author->edit, author->schema,
                           live != NULL ? live : author->nothing, object,
                           &difference)) {
        return track_out_of_memory(err);
    }
    if (author->ignored != NULL) {
        kl__fields_subtract(difference.changed, author->ignored, true);
        kl__fields_subtract(difference.removed, author->ignored, true);
    }
    kl__managers_yield(managers, NULL, difference.changed, difference.removed);
    kl__managers_strip(difference.changed);
    if (!own_fields(author, managers, difference.changed)) {
        return track_out_of_memory(err);
    }
    kl__managers_drop_idle(managers);
    return KL_OK;
}

bool kl__managers_are_reset(const kl__node *list)
{
    const kl__node *entry = kl__node_at(list, 0);

    if (!kl__node_is(list, KL_ARRAY)) {
        return false;
    }
    return kl__node_size(list) == 0 ||
           (kl__node_size(list) == 1 && kl__node_is(entry, KL_OBJECT) &&
            kl__node_size(entry) == 0);
}

/* Reads the managers before this write: from the request, unless it has none or
 * a malformed list; else from the live object. */
static kl_code read_managers(const kl__author *author, const kl__node *live,
                             kl__node *given, kl__managers *managers,
                             kl_error *err)
{
    static const char *const path[] = {"metadata", "managedFields", NULL};
    const kl__node *before = kl__node_find(live, path);
    kl__node *copy;
    kl_code code;

    *managers = (kl__managers){0};
    if (*author->subresource == '\0') {
        if (author->forgets) {
            return KL_OK;
        }
        code = kl__managers_read(
            managers, author->edit, given,
            before == NULL || !kl__node_equal(given, before), err);
        if (code == KL_ENOMEM || managers->count > 0) {
            return code;
        }
        kl__managers_deinit(managers);
    }
    if (before == NULL) {
        return KL_OK;
    }
    copy = kl__edit_copy(author->edit, before);
    if (copy == NULL) {
        return track_out_of_memory(err);
    }
    code = kl__managers_read(managers, author->edit, copy, false, err);
    return code == KL_ENOMEM ? code : KL_OK;
}

kl_code kl__track_update(const kl__author *author, const kl__node *live,
                         kl__node *object, kl__node **managed, kl_error *err)
{
    kl__node *metadata = kl__node_get(object, "metadata");
    kl__node *given = kl__node_remove(metadata, "managedFields");
    kl__managers managers;
    kl_code code = read_managers(author, live, given, &managers, err);

    *managed = NULL;
    /* After a client has emptied managedFields, only an apply adds managers
     * again. */
    if (code == KL_OK && (managers.count > 0 || live == NULL)) {
        code = update_managers(author, live, object, &managers, err);
    }
    if (code == KL_OK && managers.count > 0) {
        *managed = kl__managers_write(&managers, author->edit);
        code = *managed != NULL ? KL_OK : track_out_of_memory(err);
    }
    kl__managers_deinit(&managers);
    return code;
}
