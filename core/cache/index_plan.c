/*
 * index_plan.c - changes to the table of an index, in two steps: the plan
 * allocates all memory, the commit allocates nothing and cannot fail.
 */
#include "cache/index.h"

#include "base/mem.h"

#include <string.h>

static bool has_step_room(kl__index_plan *plan)
{
    size_t capacity = plan->capacity != 0 ? plan->capacity * 2 : 16;
    kl__index_step *steps;

    if (plan->count < plan->capacity) {
        return true;
    }
    steps = kl__realloc(plan->steps, capacity * sizeof(*steps));
    if (steps == NULL) {
        return false;
    }
    plan->steps = steps;
    plan->capacity = capacity;
    return true;
}

/* The bucket of a value: from the table, or a new one of the plan. */
static kl__bucket *bucket_of(kl__index_plan *plan, const char *value)
{
    kl__bucket *bucket = kl__map_get(&plan->table->buckets, value);
    size_t size = strlen(value) + 1;

    if (bucket == NULL) {
        bucket = kl__map_get(&plan->fresh, value);
    }
    if (bucket != NULL) {
        return bucket;
    }
    bucket = kl__calloc(1, sizeof(*bucket) + size);
    if (bucket == NULL) {
        return NULL;
    }
    kl__list_init(&bucket->postings);
    memcpy(bucket->value, value, size);
    if (!kl__map_put(&plan->fresh, bucket->value, bucket, NULL)) {
        kl__free(bucket);
        return NULL;
    }
    return bucket;
}

/* Makes an entry. Its postings point to their buckets; link_entry adds them to
 * the buckets' lists in the commit. */
static kl__index_entry *new_entry(kl__index_plan *plan, kl_object *object,
                                  const kl_index_sink *sink)
{
    kl__index_entry *entry =
        kl__malloc(sizeof(*entry) + sink->count * sizeof(kl__posting));
    const char *value = sink->bytes.bytes;
    uint64_t serial = ++plan->table->serial;

    if (entry == NULL) {
        return NULL;
    }
    entry->count = 0;
    for (size_t i = 0; i < sink->count; i++, value += strlen(value) + 1) {
        kl__bucket *bucket = bucket_of(plan, value);

        if (bucket == NULL) {
            kl__free(entry);
            return NULL;
        }
        if (bucket->mark != serial) { /* else the object has this value twice */
            bucket->mark = serial;
            entry->postings[entry->count++] =
                (kl__posting){.bucket = bucket, .object = object};
        }
    }
    entry->object = kl_object_ref(object);
    return entry;
}

kl_code kl__index_plan_put(kl__index_plan *plan, kl_object *object,
                           const kl_index_sink *sink)
{
    kl__index_entry *entry;

    if (!has_step_room(plan)) {
        return KL_ENOMEM;
    }
    entry = new_entry(plan, object, sink);
    if (entry == NULL) {
        return KL_ENOMEM;
    }
    plan->steps[plan->count++] = (kl__index_step){kl_object_key(object), entry};
    return KL_OK;
}

kl_code kl__index_plan_remove(kl__index_plan *plan, const char *key)
{
    if (!has_step_room(plan)) {
        return KL_ENOMEM;
    }
    plan->steps[plan->count++] = (kl__index_step){key, NULL};
    return KL_OK;
}

kl_code kl__index_plan_finish(kl__index_plan *plan)
{
    const kl__index_table *table = plan->table;

    if (!kl__map_has_room(&table->entries, plan->count) &&
        !kl__map_copy(&table->entries, plan->count, &plan->entries)) {
        return KL_ENOMEM;
    }
    if (!kl__map_has_room(&table->buckets, plan->fresh.count) &&
        !kl__map_copy(&table->buckets, plan->fresh.count, &plan->buckets)) {
        return KL_ENOMEM;
    }
    return KL_OK;
}

static void swap_if_grown(kl__map *live, kl__map *grown)
{
    kl__map former = *live;

    if (grown->slots != NULL) {
        *live = *grown;
        *grown = former;
    }
}

static void link_entry(kl__index_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) {
        kl__posting *posting = &entry->postings[i];

        kl__list_append(&posting->bucket->postings, &posting->node);
        posting->bucket->count++;
    }
}

static void unlink_entry(kl__index_plan *plan, kl__index_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) {
        kl__bucket *bucket = entry->postings[i].bucket;

        kl__list_remove(&entry->postings[i].node);
        if (--bucket->count == 0) {
            kl__map_remove(&plan->table->buckets, bucket->value);
            bucket->next = plan->emptied;
            plan->emptied = bucket;
        }
    }
}

void kl__index_plan_commit(kl__index_plan *plan)
{
    kl__index_table *table = plan->table;
    const kl__map_slot *slot;
    size_t cursor = 0;

    swap_if_grown(&table->entries, &plan->entries);
    swap_if_grown(&table->buckets, &plan->buckets);
    while ((slot = kl__map_next(&plan->fresh, &cursor)) != NULL) {
        kl__map_put(&table->buckets, slot->key, slot->value, NULL);
    }
    plan->fresh.count = 0;
    /* First link all new entries, then unlink all old ones. Else a bucket that
     * one object leaves and another enters would be empty in between, and
     * removed. */
    for (size_t i = 0; i < plan->count; i++) {
        kl__index_step *step = &plan->steps[i];
        void *former;

        if (step->entry != NULL) {
            link_entry(step->entry);
            kl__map_put(&table->entries, step->key, step->entry, &former);
        } else {
            former = kl__map_remove(&table->entries, step->key);
        }
        step->entry = former;
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].entry != NULL) {
            unlink_entry(plan, plan->steps[i].entry);
        }
    }
}

void kl__index_plan_clear(kl__index_plan *plan)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].entry != NULL) {
            kl_object_unref(plan->steps[i].entry->object);
            kl__free(plan->steps[i].entry);
        }
    }
    while (plan->fresh.count > 0 &&
           (slot = kl__map_next(&plan->fresh, &cursor)) != NULL) {
        kl__free(slot->value);
    }
    while (plan->emptied != NULL) {
        kl__bucket *bucket = plan->emptied;

        plan->emptied = bucket->next;
        kl__free(bucket);
    }
    kl__free(plan->steps);
    kl__map_deinit(&plan->fresh);
    kl__map_deinit(&plan->entries);
    kl__map_deinit(&plan->buckets);
    *plan = (kl__index_plan){.table = plan->table};
}
