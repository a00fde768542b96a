/*
 * managers.c - see managers.h: reads and writes the entries of managedFields,
 * and changes them after a write that is not an apply: the author of the write
 * gets the fields that it changed, and other managers lose them.
 */
#include "sim/core/patch/managers.h"

#include "base/mem.h"
#include "sim/core/patch/field_set.h"
#include "sim/core/patch/typed.h"

#include <stdlib.h>
#include <string.h>

void kl__managers_deinit(kl__managers *managers)
{
    kl__free(managers->items);
    *managers = (kl__managers){0};
}

static kl_code managers_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for managed fields");
}

static kl_code refuse_entry(kl_error *err)
{
    return kl_error_set(err, KL_EPARSE, "managedFields cannot be read");
}

/* Compares two managers. The version does not count for managers that apply. */
static int compare_identity(const kl__manager *a, const kl__manager *b)
{
    int order = (int)a->applies - (int)b->applies;

    order = order != 0 ? order : strcmp(a->name, b->name);
    order = order != 0 ? order : strcmp(a->subresource, b->subresource);
    return order != 0 || a->applies ? order
                                    : strcmp(a->api_version, b->api_version);
}

kl__manager *kl__managers_find(const kl__managers *managers,
                               const kl__manager *like)
{
    for (size_t i = 0; i < managers->count; i++) {
        if (compare_identity(&managers->items[i], like) == 0) {
            return &managers->items[i];
        }
    }
    return NULL;
}

kl__manager *kl__managers_add(kl__managers *managers, const kl__manager *added)
{
    if (managers->count == managers->capacity) {
        size_t capacity = managers->capacity * 2 + 8;
        kl__manager *items =
            kl__realloc(managers->items, capacity * sizeof(*items));

        if (items == NULL) {
            return NULL;
        }
        managers->items = items;
        managers->capacity = capacity;
    }
    managers->items[managers->count] = *added;
    return &managers->items[managers->count++];
}

static size_t group_length(const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    return slash != NULL ? (size_t)(slash - api_version) : 0;
}

void kl__managers_drop_foreign(kl__managers *managers, const char *api_version)
{
    size_t length = group_length(api_version), kept = 0;

    for (size_t i = 0; i < managers->count; i++) {
        const kl__manager one = managers->items[i];

        if (group_length(one.api_version) == length &&
            memcmp(one.api_version, api_version, length) == 0) {
            managers->items[kept++] = one;
        }
    }
    managers->count = kept;
}

static const char *entry_text(const kl__node *entry, const char *name)
{
    const char *text = kl__node_text(entry, name);

    return text != NULL ? text : "";
}

/* Reads one entry; KL_EPARSE: it is malformed. */
static kl_code read_entry(kl__managers *managers, kl__edit *edit,
                          kl__node *entry, bool given, kl_error *err)
{
    const char *operation = entry_text(entry, "operation");
    kl__manager one = {.name = entry_text(entry, "manager"),
                       .api_version = entry_text(entry, "apiVersion"),
                       .subresource = entry_text(entry, "subresource"),
                       .time = kl__node_text(entry, "time"),
                       .applies = strcmp(operation, "Apply") == 0,
                       .fields = kl__node_remove(entry, "fieldsV1")};
    kl_code code;

    if ((!one.applies && strcmp(operation, "Update") != 0) ||
        *one.api_version == '\0' ||
        strcmp(entry_text(entry, "fieldsType"), "FieldsV1") != 0) {
        return refuse_entry(err);
    }
    if (kl__node_type(one.fields) == KL_NULL) {
        one.fields = kl__edit_object(edit);
        if (one.fields == NULL) {
            return managers_out_of_memory(err);
        }
    } else if (given) {
        code = kl__fields_adopt(edit, one.fields, err);
        if (code != KL_OK) {
            return code;
        }
    }
    return kl__managers_add(managers, &one) != NULL
               ? KL_OK
               : managers_out_of_memory(err);
}

/* Compares pointers into one array: equal managers keep their order. */
static int compare_places(const void *left, const void *right)
{
    const kl__manager *a = *(const kl__manager *const *)left;
    const kl__manager *b = *(const kl__manager *const *)right;
    int order = compare_identity(a, b);

    return order != 0 ? order : (a > b) - (a < b);
}

/* Of several entries of one manager the last counts. False: out of memory. */
static bool unify_managers(kl__managers *managers)
{
    size_t count = managers->count, kept = 0;
    kl__manager **sorted;

    if (count < 2) {
        return true;
    }
    sorted = kl__malloc(count * sizeof(*sorted));
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &managers->items[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_places);
    for (size_t i = 0; i + 1 < count; i++) {
        if (compare_identity(sorted[i], sorted[i + 1]) == 0) {
            sorted[i]->fields = NULL;
        }
    }
    kl__free(sorted);
    for (size_t i = 0; i < count; i++) {
        if (managers->items[i].fields != NULL) {
            managers->items[kept++] = managers->items[i];
        }
    }
    managers->count = kept;
    return true;
}

kl_code kl__managers_read(kl__managers *managers, kl__edit *edit,
                          kl__node *list, bool given, kl_error *err)
{
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__node *entry;

    *managers = (kl__managers){0};
    if (kl__node_is(list, KL_OBJECT)) {
        return refuse_entry(err);
    }
    while (code == KL_OK &&
           (entry = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        code = read_entry(managers, edit, entry, given, err);
    }
    if (code == KL_OK && !unify_managers(managers)) {
        code = managers_out_of_memory(err);
    }
    if (code != KL_OK) {
        managers->count = 0;
    }
    return code;
}

/* --- The order of entries. ------------------------------------------------ */

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int compare_age(const kl__manager *a, const kl__manager *b)
{
    int order = compare_texts(a->time, b->time);

    if (order == 0) {
        order = strcmp(a->name, b->name);
    }
    if (order == 0) {
        order = strcmp(a->api_version, b->api_version);
    }
    return order != 0 ? order : strcmp(a->subresource, b->subresource);
}

/* --- Writing. ------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const kl__manager *left = a, *right = b;

    if (left->applies != right->applies) {
        return left->applies ? -1 : 1;
    }
    return compare_age(left, right);
}

static kl__node *write_entry(const kl__manager *one, kl__edit *edit)
{
    kl__node *entry = kl__edit_object(edit);
    const struct {
        const char *name;
        const char *text;
    } texts[] = {{"manager", one->name},
                 {"operation", one->applies ? "Apply" : "Update"},
                 {"apiVersion", one->api_version},
                 {"time", one->time},
                 {"fieldsType", "FieldsV1"}};

    if (entry == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].text != NULL &&
            !kl__node_add_n(edit, entry, texts[i].name, strlen(texts[i].name),
                            kl__edit_text(edit, texts[i].text))) {
            return NULL;
        }
    }
    if (!kl__node_add_n(edit, entry, "fieldsV1", 8, one->fields) ||
        (*one->subresource != '\0' &&
         !kl__node_add_n(edit, entry, "subresource", 11,
                         kl__edit_text(edit, one->subresource)))) {
        return NULL;
    }
    return entry;
}

kl__node *kl__managers_write(kl__managers *managers, kl__edit *edit)
{
    kl__node *list = kl__edit_array(edit);

    if (managers->count > 0) {
        qsort(managers->items, managers->count, sizeof(*managers->items),
              compare_entries);
    }
    for (size_t i = 0; i < managers->count && list != NULL; i++) {
        if (!kl__node_append(list, write_entry(&managers->items[i], edit))) {
            return NULL;
        }
    }
    return list;
}

/* ---- after a write ---- */

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
