/*
 * indexer.c - the readers' side of the cache. A reader collects references
 * under the read lock, and filters and sorts the list after the unlock.
 */
#include "cache/indexer.h"

#include "cache/store.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/fields.h"
#include "object/lists.h"
#include "object/object.h"

#include <stdio.h>
#include <string.h>

static kl_code emit_namespace(void *context, const kl_object *object,
                              const kl_value *root, kl_index_sink *sink)
{
    const char *name_space = kl_object_namespace(object);

    (void)context;
    (void)root;
    return kl_index_emit(sink, name_space, strlen(name_space));
}

bool kl__indexer_calls_functions(const kl__indexer *indexer)
{
    return atomic_load_explicit(&indexer->calls_functions,
                                memory_order_relaxed);
}

kl__indexer *kl__indexer_new(void)
{
    const kl__index_options by_namespace = {.name = "", .fn = emit_namespace};
    kl__indexer *indexer = kl__calloc(1, sizeof(*indexer));

    if (indexer == NULL) {
        return NULL;
    }
    indexer->indexes = kl__calloc(1, sizeof(kl__index *));
    if (indexer->indexes == NULL) {
        goto fail;
    }
    indexer->indexes[0] = kl__index_new(&by_namespace);
    if (indexer->indexes[0] == NULL) {
        goto fail;
    }
    indexer->index_count = 1;
    kl__rwlock_init(&indexer->lock, KL__RANK_INDEXER);
    kl__list_init(&indexer->builds);
    return indexer;

fail:
    kl__free(indexer->indexes);
    kl__free(indexer);
    return NULL;
}

void kl__indexer_free(kl__indexer *indexer)
{
    uint32_t cursor = 0, slot;

    if (indexer == NULL) {
        return;
    }
    for (size_t i = 0; i < indexer->index_count; i++) {
        kl__index_free(indexer->indexes[i]);
    }
    while ((slot = kl__table_next(&indexer->objects, &cursor)) != KL__NO_SLOT) {
        kl_object_unref(indexer->objects.items[slot]);
    }
    kl__table_deinit(&indexer->objects);
    kl__rwlock_deinit(&indexer->lock);
    kl__free(indexer->indexes);
    kl__free(indexer->version);
    kl__free(indexer);
}

kl__index *kl__indexer_find_locked(const kl__indexer *indexer, const char *name)
{
    for (size_t i = 1; i < indexer->index_count; i++) {
        if (strcmp(indexer->indexes[i]->name, name) == 0) {
            return indexer->indexes[i];
        }
    }
    return NULL;
}

kl_object *kl__indexer_find(const kl__indexer *indexer, const kl__key *key)
{
    uint32_t slot =
        kl__table_find(&indexer->objects, key, kl__object_key_text, NULL);

    return slot != KL__NO_SLOT ? indexer->objects.items[slot] : NULL;
}

kl_object *kl__indexer_get(kl__indexer *indexer, const char *key)
{
    kl__key hashed = kl__key_of(key);

    return kl__indexer_get_key(indexer, &hashed);
}

kl_object *kl__indexer_get_key(kl__indexer *indexer, const kl__key *key)
{
    kl_object *object;

    kl__rwlock_read(&indexer->lock);
    object = kl__indexer_find(indexer, key);
    if (object != NULL) {
        kl_object_ref(object);
    }
    kl__rwlock_unlock(&indexer->lock);
    return object;
}

size_t kl__indexer_count(kl__indexer *indexer)
{
    size_t count;

    kl__rwlock_read(&indexer->lock);
    count = indexer->objects.count;
    kl__rwlock_unlock(&indexer->lock);
    return count;
}

void kl__indexer_version(kl__indexer *indexer, char *buffer, size_t size)
{
    kl__rwlock_read(&indexer->lock);
    snprintf(buffer, size, "%s",
             indexer->version != NULL ? indexer->version : "");
    kl__rwlock_unlock(&indexer->lock);
}

/* What a reader asks for, and one result. */
typedef struct question {
    const char *index; /* NULL: all objects; "": by namespace */
    const char *value;
    bool no_index; /* result: there is no index with this name */
} question;

static const kl__bucket *bucket_locked(const kl__indexer *indexer,
                                       question *query)
{
    kl__key value = kl__key_of(query->value);
    const kl__index *index =
        query->index[0] == '\0'
            ? indexer->indexes[0]
            : kl__indexer_find_locked(indexer, query->index);

    query->no_index = index == NULL;
    return index != NULL ? kl__bucket_find(&index->table.buckets, &value)
                         : NULL;
}

/* Counts the objects that the query asks for; if the list has room for them,
 * adds references to all of them. Returns the count. */
static size_t collect_locked(const kl__indexer *indexer, question *query,
                             kl_object_list *list, size_t room)
{
    const kl__table *objects = &indexer->objects;
    uint32_t cursor = 0, slot;

    if (query->index != NULL) {
        const kl__bucket *bucket = bucket_locked(indexer, query);

        objects = bucket != NULL ? &bucket->objects : NULL;
    }
    if (objects == NULL || objects->count > room) {
        return objects != NULL ? objects->count : 0;
    }
    while ((slot = kl__table_next(objects, &cursor)) != KL__NO_SLOT) {
        list->items[list->count++] = kl_object_ref(objects->items[slot]);
    }
    return objects->count;
}

/* Collects a consistent, unsorted snapshot. Memory is allocated without the
 * lock; if the answer has grown meanwhile, it is allocated again. */
static kl_code collect_objects(kl__indexer *indexer, question *query,
                               kl_object_list *list)
{
    size_t room = 0;

    for (;;) {
        size_t count;

        kl__rwlock_read(&indexer->lock);
        count = collect_locked(indexer, query, list, room);
        kl__rwlock_unlock(&indexer->lock);
        if (count <= room) {
            return KL_OK;
        }
        kl__free(list->items);
        room = count + count / 8 + 8;
        list->items = kl__malloc(room * sizeof(kl_object *));
        if (list->items == NULL) {
            return KL_ENOMEM;
        }
    }
}

static kl_code fail_no_memory(kl_object_list *list, kl_error *err)
{
    kl_object_list_clear(list);
    return kl_error_set(err, KL_ENOMEM, "out of memory for a list of objects");
}

kl_code kl__indexer_snapshot(kl__indexer *indexer, kl_object_list *list)
{
    question query = {0};

    return collect_objects(indexer, &query, list);
}

/* Sets *matches. False: out of memory. */
static bool match_labels(kl_fields *labels, const kl_selector *selector,
                         const kl_object *object, bool *matches)
{
    if (kl_fields_read(labels, object, NULL) != KL_OK) {
        return false;
    }
    *matches = kl_selector_matches(selector, kl_fields_value(labels, 0));
    return true;
}

/* Keeps only the objects that the selector matches. False: out of memory. */
static bool filter_by_labels(kl_object_list *list, const kl_selector *selector)
{
    static const char *const path[] = {"metadata.labels"};
    kl_fields *labels = kl_fields_new(path, 1, NULL);
    bool done = labels != NULL;
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        kl_object *object = list->items[i];
        bool matches = true;

        done = done && match_labels(labels, selector, object, &matches);
        if (matches) {
            list->items[kept++] = object;
        } else {
            kl_object_unref(object);
        }
    }
    list->count = kept;
    kl_fields_free(labels);
    return done;
}

kl_code kl__indexer_list(kl__indexer *indexer, const char *name_space,
                         const kl_selector *labels, kl_object_list *list,
                         kl_error *err)
{
    question query = {name_space != NULL ? "" : NULL, name_space, false};

    *list = (kl_object_list){0};
    if (collect_objects(indexer, &query, list) != KL_OK) {
        return fail_no_memory(list, err);
    }
    if (labels != NULL && !kl_selector_is_empty(labels) &&
        !filter_by_labels(list, labels)) {
        return fail_no_memory(list, err);
    }
    kl__object_list_sort(list);
    return KL_OK;
}

/* The error for an unknown index; the message lists the existing ones. */
static kl_code fail_no_index(kl__indexer *indexer, const char *name,
                             kl_error *err)
{
    kl__buf names = {0};
    kl_code code;

    kl__rwlock_read(&indexer->lock);
    for (size_t i = 1; i < indexer->index_count; i++) {
        kl__buf_printf(&names, "%s%s", i > 1 ? ", " : "",
                       indexer->indexes[i]->name);
    }
    kl__rwlock_unlock(&indexer->lock);
    if (names.length == 0) {
        code = kl_error_set(err, KL_ENOT_FOUND,
                            "no index \"%s\": there is none yet, add it first",
                            name);
    } else {
        code = kl_error_set(err, KL_ENOT_FOUND, "no index \"%s\": there are %s",
                            name, names.bytes);
    }
    kl__buf_deinit(&names);
    return code;
}

kl_code kl__indexer_by_index(kl__indexer *indexer, const char *index,
                             const char *value, kl_object_list *list,
                             kl_error *err)
{
    question query = {index, value, false};

    *list = (kl_object_list){0};
    if (index[0] == '\0') {
        return fail_no_index(indexer, index, err);
    }
    if (collect_objects(indexer, &query, list) != KL_OK) {
        return fail_no_memory(list, err);
    }
    if (query.no_index) {
        return fail_no_index(indexer, index, err);
    }
    kl__object_list_sort(list);
    return KL_OK;
}

/* Appends all values of the index, a NUL after each. Returns their number; -1:
 * there is no such index. */
static long collect_values_locked(const kl__indexer *indexer, const char *name,
                                  kl__buf *values)
{
    const kl__index *index = kl__indexer_find_locked(indexer, name);
    const kl__table *buckets;
    uint32_t cursor = 0, slot;

    if (index == NULL) {
        return -1;
    }
    buckets = &index->table.buckets;
    while ((slot = kl__table_next(buckets, &cursor)) != KL__NO_SLOT) {
        const kl__bucket *bucket = buckets->items[slot];

        kl__buf_append(values, bucket->value, strlen(bucket->value) + 1);
    }
    return (long)index->table.buckets.count;
}

kl_code kl__indexer_index_values(kl__indexer *indexer, const char *index,
                                 kl_string_list *list, kl_error *err)
{
    kl__buf values = {0};
    const char *value;
    long count;

    *list = (kl_string_list){0};
    kl__rwlock_read(&indexer->lock);
    count = collect_values_locked(indexer, index, &values);
    kl__rwlock_unlock(&indexer->lock);
    if (count < 0) {
        return fail_no_index(indexer, index, err);
    }
    if (values.failed) {
        goto fail;
    }
    list->items = kl__calloc((size_t)count, sizeof(char *));
    if (list->items == NULL) {
        goto fail;
    }
    value = values.bytes;
    while (list->count < (size_t)count) {
        char *copy = kl__strdup(value);

        if (copy == NULL) {
            goto fail;
        }
        list->items[list->count++] = copy;
        value += strlen(value) + 1;
    }
    kl__buf_deinit(&values);
    kl__string_list_sort(list);
    return KL_OK;

fail:
    kl__buf_deinit(&values);
    kl_string_list_clear(list);
    return kl_error_set(err, KL_ENOMEM, "out of memory for a list of values");
}
