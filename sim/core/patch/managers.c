/*
 * managers.c - see managers.h: reads and writes the entries of managedFields.
 */
#include "sim/core/patch/managers.h"

#include "base/mem.h"
#include "sim/core/patch/field_set.h"

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
