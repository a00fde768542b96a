/*
 * index_plan.c - changes to the tables of an index, in two steps: the plan
 * allocates all memory, the commit allocates nothing and cannot fail.
 */
#include "cache/index.h"

#include "base/mem.h"

#include <string.h>

/* Returns the array with room for one more item, or NULL when out of memory:
 * then the array is as before. */
static void *make_room(void *items, size_t count, size_t *capacity, size_t size)
{
    size_t wanted = *capacity != 0 ? *capacity * 2 : 16;
    void *larger;

    if (count < *capacity) {
        return items;
    }
    larger = kl__realloc(items, wanted * size);
    if (larger != NULL) {
        *capacity = wanted;
    }
    return larger;
}

/* The bucket of a value: from the table, or a new one of the plan. */
static kl__bucket *bucket_of(kl__index_plan *plan, const char *value)
{
    kl__key key = kl__key_of(value);
    kl__bucket *bucket = kl__bucket_find(&plan->table->buckets, &key);

    if (bucket == NULL) {
        bucket = kl__bucket_find(&plan->fresh, &key);
    }
    if (bucket != NULL) {
        return bucket;
    }
    if (!kl__table_reserve(&plan->fresh, 1)) {
        return NULL;
    }
    bucket = kl__bucket_new(&key);
    if (bucket != NULL) {
        kl__table_add(&plan->fresh, bucket->hash, bucket);
    }
    return bucket;
}

/* Makes a link to several values. False: out of memory. */
static bool link_values(kl__index_plan *plan, const kl_index_sink *sink,
                        kl__link *link)
{
    kl__values *values =
        kl__malloc(sizeof(*values) + sink->count * sizeof(kl__bucket *));
    const char *value = sink->bytes.bytes;
    uint64_t serial = ++plan->table->serial;

    if (values == NULL) {
        return false;
    }
    values->count = 0;
    for (size_t i = 0; i < sink->count; i++, value += strlen(value) + 1) {
        kl__bucket *bucket = bucket_of(plan, value);

        if (bucket == NULL) {
            kl__free(values);
            return false;
        }
        if (bucket->mark != serial) { /* else the object has this value twice */
            bucket->mark = serial;
            values->buckets[values->count++] = bucket;
        }
    }
    *link = kl__link_to(values);
    return true;
}

static bool make_link(kl__index_plan *plan, const kl_index_sink *sink,
                      kl__link *link)
{
    *link = NULL;
    if (sink->count == 0) {
        return true;
    }
    if (sink->count == 1) {
        *link = bucket_of(plan, sink->bytes.bytes);
        return *link != NULL;
    }
    return link_values(plan, sink, link);
}

/* Notes that a bucket gains an object, or loses one. */
static bool touch_bucket(kl__index_plan *plan, kl__bucket *bucket, bool gains)
{
    if (bucket->touched == 0) {
        kl__touched *touched =
            make_room(plan->touched, plan->touched_count,
                      &plan->touched_capacity, sizeof(*touched));

        if (touched == NULL) {
            return false;
        }
        plan->touched = touched;
        touched[plan->touched_count++] = (kl__touched){.bucket = bucket};
        bucket->touched = (uint32_t)plan->touched_count;
    }
    plan->touched[bucket->touched - 1].gains += gains ? 1 : 0;
    return true;
}

static bool has_object(const kl__bucket *bucket, uint32_t hash,
                       const kl_object *object)
{
    return object != NULL &&
           kl__table_find_item(&bucket->objects, hash, object) != KL__NO_SLOT;
}

static bool touch_buckets(kl__index_plan *plan, const kl__index_step *step)
{
    bool done = true;

    if (step->was == step->now) {
        /* The one bucket keeps its number of objects. The commit looks for the
         * object in it. */
        kl__table_fetch(&kl__link_bucket(step->was, 0)->objects, step->hash);
        return true;
    }
    for (size_t i = 0; done && i < kl__link_count(step->was); i++) {
        done = touch_bucket(plan, kl__link_bucket(step->was, i), false);
    }
    for (size_t i = 0; done && i < kl__link_count(step->now); i++) {
        kl__bucket *bucket = kl__link_bucket(step->now, i);

        if (!has_object(bucket, step->hash, step->before)) {
            done = touch_bucket(plan, bucket, true);
        }
    }
    return done;
}

kl_code kl__index_plan_add(kl__index_plan *plan, const kl__index_change *change,
                           const kl_index_sink *sink)
{
    kl__index_step step = {
        .before = change->before, .after = change->after, .hash = change->hash};
    kl__index_step *steps;

    if (change->before == change->after) {
        return KL_OK;
    }
    steps =
        make_room(plan->steps, plan->count, &plan->capacity, sizeof(*steps));
    if (steps == NULL) {
        return KL_ENOMEM;
    }
    plan->steps = steps;
    if (change->before != NULL) {
        step.was = kl__index_link(plan->table, change->before, change->hash);
    }
    if (change->after != NULL && !make_link(plan, sink, &step.now)) {
        return KL_ENOMEM;
    }
    if (step.was == NULL && step.now == NULL) {
        return KL_OK;
    }
    if (!touch_buckets(plan, &step)) {
        kl__link_free(step.now);
        return KL_ENOMEM;
    }
    plan->gains += step.was == NULL ? 1 : 0;
    if (!plan->table->by_namespace && step.now != NULL) {
        kl_object_ref(step.after);
    }
    steps[plan->count++] = step;
    return KL_OK;
}

static bool copy_unless_fits(const kl__table *table, size_t extra,
                             kl__table *copy)
{
    return kl__table_fits(table, extra) || kl__table_copy(table, extra, copy);
}

kl_code kl__index_plan_finish(kl__index_plan *plan)
{
    kl__index_table *table = plan->table;
    size_t gains = table->by_namespace ? 0 : plan->gains;

    if (!copy_unless_fits(&table->entries, gains, &plan->entries) ||
        !copy_unless_fits(&table->buckets, plan->fresh.count, &plan->buckets)) {
        return KL_ENOMEM;
    }
    for (size_t i = 0; i < plan->touched_count; i++) {
        kl__touched *touched = &plan->touched[i];

        if (!copy_unless_fits(&touched->bucket->objects, touched->gains,
                              &touched->grown)) {
            return KL_ENOMEM;
        }
    }
    return KL_OK;
}

static void swap_if_copied(kl__table *live, kl__table *copy)
{
    kl__table former = *live;

    if (copy->items != NULL) {
        *live = *copy;
        *copy = former;
    }
}

static void swap_tables(kl__index_plan *plan)
{
    uint32_t cursor = 0, slot;

    swap_if_copied(&plan->table->entries, &plan->entries);
    swap_if_copied(&plan->table->buckets, &plan->buckets);
    for (size_t i = 0; i < plan->touched_count; i++) {
        swap_if_copied(&plan->touched[i].bucket->objects,
                       &plan->touched[i].grown);
    }
    while ((slot = kl__table_next(&plan->fresh, &cursor)) != KL__NO_SLOT) {
        kl__bucket *bucket = plan->fresh.items[slot];

        kl__table_add(&plan->table->buckets, bucket->hash, bucket);
    }
}

/* Puts the new object into its buckets; where the old one is, in its place. */
static void commit_buckets(const kl__index_step *step)
{
    for (size_t i = 0; i < kl__link_count(step->now); i++) {
        kl__table *objects = &kl__link_bucket(step->now, i)->objects;
        uint32_t slot =
            step->before != NULL
                ? kl__table_find_item(objects, step->hash, step->before)
                : KL__NO_SLOT;

        if (slot != KL__NO_SLOT) {
            objects->items[slot] = step->after;
        } else {
            kl__table_add(objects, step->hash, step->after);
        }
    }
    for (size_t i = 0; i < kl__link_count(step->was); i++) {
        kl__table *objects = &kl__link_bucket(step->was, i)->objects;
        uint32_t slot =
            step->was != step->now
                ? kl__table_find_item(objects, step->hash, step->before)
                : KL__NO_SLOT;

        if (slot != KL__NO_SLOT) {
            kl__table_remove(objects, slot);
        }
    }
}

static void commit_entry(kl__index_plan *plan, const kl__index_step *step)
{
    kl__table *entries = &plan->table->entries;
    uint32_t slot = KL__NO_SLOT;

    if (step->was != NULL) {
        slot = kl__table_find_item(entries, step->hash, step->before);
    }
    if (step->now == NULL) {
        kl__table_remove(entries, slot);
        return;
    }
    if (slot == KL__NO_SLOT) {
        slot = kl__table_add(entries, step->hash, step->after);
    }
    entries->items[slot] = step->after;
    *kl__table_link(entries, slot) = step->now;
}

/* Removes buckets without objects from the table; the plan frees them. */
static void remove_empty_buckets(kl__index_plan *plan)
{
    kl__table *buckets = &plan->table->buckets;

    for (size_t i = 0; i < plan->touched_count; i++) {
        kl__bucket *bucket = plan->touched[i].bucket;

        bucket->touched = 0;
        if (bucket->objects.count > 0) {
            plan->touched[i].bucket = NULL;
        } else {
            kl__table_remove(
                buckets, kl__table_find_item(buckets, bucket->hash, bucket));
        }
    }
}

void kl__index_plan_commit(kl__index_plan *plan)
{
    swap_tables(plan);
    for (size_t i = 0; i < plan->count; i++) {
        commit_buckets(&plan->steps[i]);
        if (!plan->table->by_namespace) {
            commit_entry(plan, &plan->steps[i]);
        }
    }
    /* Only now: two objects may have swapped their values. */
    remove_empty_buckets(plan);
    plan->is_committed = true;
}

static void clear_step(const kl__index_plan *plan, const kl__index_step *step)
{
    kl__link link = plan->is_committed ? step->was : step->now;

    if (link != NULL && !plan->table->by_namespace) {
        kl__link_free(link);
        kl_object_unref(plan->is_committed ? step->before : step->after);
    }
}

static void clear_touched(kl__index_plan *plan)
{
    for (size_t i = 0; i < plan->touched_count; i++) {
        kl__touched *touched = &plan->touched[i];

        kl__table_deinit(&touched->grown);
        if (!plan->is_committed) {
            touched->bucket->touched = 0;
        } else if (touched->bucket != NULL) {
            kl__bucket_free(touched->bucket);
        }
    }
    kl__free(plan->touched);
}

void kl__index_plan_clear(kl__index_plan *plan)
{
    uint32_t cursor = 0, slot;

    for (size_t i = 0; i < plan->count; i++) {
        clear_step(plan, &plan->steps[i]);
    }
    kl__free(plan->steps);
    clear_touched(plan);
    while (!plan->is_committed &&
           (slot = kl__table_next(&plan->fresh, &cursor)) != KL__NO_SLOT) {
        kl__bucket_free(plan->fresh.items[slot]);
    }
    kl__table_deinit(&plan->fresh);
    kl__table_deinit(&plan->entries);
    kl__table_deinit(&plan->buckets);
    *plan = (kl__index_plan){.table = plan->table};
}
