/*
 * index_table.c - looks up what the tables of an index have: the bucket of a
 * value, and the values of an object. index_plan.c changes the tables.
 */
#include "cache/index.h"

#include "base/mem.h"
#include "object/object.h"

#include <string.h>

static const char *text_of_bucket(const void *context, const void *bucket)
{
    (void)context;
    return ((const kl__bucket *)bucket)->value;
}

kl__bucket *kl__bucket_new(const kl__key *value)
{
    kl__bucket *bucket = kl__calloc(1, sizeof(*bucket) + value->length + 1);

    if (bucket != NULL) {
        /* Buckets are filled in the order of the store's table. */
        bucket->objects.salt = value->hash;
        bucket->hash = value->hash;
        memcpy(bucket->value, value->text, value->length);
    }
    return bucket;
}

void kl__bucket_free(kl__bucket *bucket)
{
    kl__table_deinit(&bucket->objects);
    kl__free(bucket);
}

kl__bucket *kl__bucket_find(const kl__table *buckets, const kl__key *value)
{
    uint32_t slot = kl__table_find(buckets, value, text_of_bucket, NULL);

    return slot != KL__NO_SLOT ? buckets->items[slot] : NULL;
}

kl__index_table kl__index_table_for(const char *name)
{
    /* The salt is the name's: the tables of an index are filled in the order of
     * the store's table. */
    uint32_t salt = kl__key_of(name).hash;

    return (kl__index_table){.entries = {.salt = salt, .has_links = 1},
                             .buckets = {.salt = salt},
                             .by_namespace = name[0] == '\0'};
}

void kl__index_table_deinit(kl__index_table *table)
{
    uint32_t cursor = 0, slot;

    while ((slot = kl__table_next(&table->entries, &cursor)) != KL__NO_SLOT) {
        kl__link_free(*kl__table_link(&table->entries, slot));
        kl_object_unref(table->entries.items[slot]);
    }
    cursor = 0;
    while ((slot = kl__table_next(&table->buckets, &cursor)) != KL__NO_SLOT) {
        kl__bucket_free(table->buckets.items[slot]);
    }
    kl__table_deinit(&table->entries);
    kl__table_deinit(&table->buckets);
}

/* The address of the values, if the link has many. */
static kl__values *values_of(kl__link link)
{
    uintptr_t address = (uintptr_t)link;

    return (address & 1) != 0 ? (kl__values *)(address - 1) : NULL;
}

kl__link kl__link_to(kl__values *values)
{
    return (kl__link)((uintptr_t)values + 1);
}

size_t kl__link_count(kl__link link)
{
    const kl__values *values = values_of(link);

    if (values != NULL) {
        return values->count;
    }
    return link != NULL ? 1 : 0;
}

kl__bucket *kl__link_bucket(kl__link link, size_t i)
{
    kl__values *values = values_of(link);

    return values != NULL ? values->buckets[i] : link;
}

void kl__link_free(kl__link link)
{
    kl__free(values_of(link));
}

kl__link kl__index_link(const kl__index_table *table, const kl_object *object,
                        uint32_t hash)
{
    kl__key value;
    uint32_t slot;

    if (table->by_namespace) {
        value = kl__key_of(kl_object_namespace(object));
        return kl__bucket_find(&table->buckets, &value);
    }
    slot = kl__table_find_item(&table->entries, hash, object);
    return slot != KL__NO_SLOT ? *kl__table_link(&table->entries, slot) : NULL;
}

kl_object *kl__index_entry(const kl__index_table *table, const kl__key *key)
{
    uint32_t slot =
        kl__table_find(&table->entries, key, kl__object_key_text, NULL);

    return slot != KL__NO_SLOT ? table->entries.items[slot] : NULL;
}
