/*
 * transaction_plan.c - allocates all memory that a transaction needs, and
 * computes the new content of the store and its indexes. Runs without the lock.
 */
#include "cache/transaction.h"

#include "base/mem.h"

/* Up to this many keys are changed one by one under the lock. For more, a new
 * map and new index tables are built without the lock and swapped in. */
enum { MAX_STEPS_IN_PLACE = 1024 };

void kl__transaction_apply_steps(const kl__transaction *transaction,
                                 kl__map *objects)
{
    for (size_t i = 0; i < transaction->count; i++) {
        const kl__step *step = &transaction->steps[i];

        if (step->after != NULL) {
            kl__map_put(objects, kl_object_key(step->after), step->after, NULL);
        } else {
            kl__map_remove(objects, step->key);
        }
    }
}

kl_code kl__transaction_plan_objects(kl__transaction *transaction)
{
    const kl__map *objects = &transaction->indexer->objects;

    transaction->is_aside = transaction->count > MAX_STEPS_IN_PLACE;
    if (!transaction->is_aside &&
        kl__map_has_room(objects, transaction->count)) {
        return KL_OK;
    }
    if (!kl__map_copy(objects, transaction->count, &transaction->objects)) {
        return KL_ENOMEM;
    }
    if (transaction->is_aside) {
        kl__transaction_apply_steps(transaction, &transaction->objects);
    }
    return KL_OK;
}

void kl__transaction_drop_plan(kl__transaction *transaction)
{
    kl__list *node;

    for (size_t i = 0; i < transaction->part_count; i++) {
        kl__index_plan_clear(&transaction->parts[i].plan);
        kl__index_table_deinit(&transaction->parts[i].aside);
    }
    kl__free(transaction->parts);
    transaction->parts = NULL;
    transaction->part_count = 0;
    while ((node = kl__list_shift(&transaction->journals)) != NULL) {
        kl__journal_free(KL__CONTAINER(node, kl__journal, node));
    }
}

/* Sets the index of each part. False: the generation has changed since the
 * parts were allocated, so their number may be wrong. */
static bool name_parts(kl__transaction *transaction)
{
    kl__indexer *indexer = transaction->indexer;
    bool same;

    kl__rwlock_read(&indexer->lock);
    same = indexer->generation == transaction->generation;
    for (size_t i = 0; same && i < transaction->part_count; i++) {
        transaction->parts[i].index = indexer->indexes[i];
    }
    kl__rwlock_unlock(&indexer->lock);
    return same;
}

/* Makes a part for each index; `builds` gets the number of indexes that are
 * being built. */
static kl_code plan_parts(kl__transaction *transaction, size_t *builds)
{
    kl__indexer *indexer = transaction->indexer;

    do {
        size_t count;

        *builds = 0;
        kl__rwlock_read(&indexer->lock);
        transaction->generation = indexer->generation;
        count = indexer->index_count;
        for (const kl__list *node = indexer->builds.next;
             node != &indexer->builds; node = node->next) {
            ++*builds;
        }
        kl__rwlock_unlock(&indexer->lock);
        kl__free(transaction->parts);
        transaction->parts = kl__calloc(count, sizeof(kl__part));
        transaction->part_count = transaction->parts != NULL ? count : 0;
        if (transaction->parts == NULL) {
            return KL_ENOMEM;
        }
    } while (!name_parts(transaction));
    for (size_t i = 0; i < transaction->part_count; i++) {
        kl__part *part = &transaction->parts[i];

        part->plan.table =
            transaction->is_aside ? &part->aside : &part->index->table;
    }
    return KL_OK;
}

/* Writes a journal of the steps, for an index that is being built. */
static kl_code write_journal(kl__transaction *transaction)
{
    kl__journal *journal = kl__malloc(
        sizeof(*journal) + transaction->count * sizeof(kl__journal_item));

    if (journal == NULL) {
        return KL_ENOMEM;
    }
    journal->count = 0;
    for (size_t i = 0; i < transaction->count; i++) {
        kl_object *before = transaction->steps[i].before;
        kl_object *after = transaction->steps[i].after;

        journal->items[journal->count++] =
            (kl__journal_item){before != NULL ? kl_object_ref(before) : NULL,
                               after != NULL ? kl_object_ref(after) : NULL};
    }
    kl__list_append(&transaction->journals, &journal->node);
    return KL_OK;
}

/* Adds a changed object to the plan of every index; it is parsed once. The
 * first index, by namespace, needs no tree. */
static kl_code plan_changed(kl__transaction *transaction, kl_object *object,
                            kl_index_sink *sink)
{
    const kl_value *root = NULL;
    kl_code code = KL_OK;

    if (transaction->part_count > 1) {
        root = kl_object_open(object, NULL);
        if (root == NULL) {
            return KL_ENOMEM;
        }
    }
    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        kl__part *part = &transaction->parts[i];

        code = kl__index_compute(part->index, object, root, sink);
        if (code == KL_OK) {
            code = kl__index_plan_put(&part->plan, object, sink);
        }
    }
    if (root != NULL) {
        kl_object_close(object);
    }
    return code;
}

/* The same for an unchanged object: copies its values from the old entry. */
static kl_code plan_kept(kl__transaction *transaction, kl_object *object,
                         kl_index_sink *sink)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        kl__part *part = &transaction->parts[i];

        code = kl__index_recall(
            kl__map_get(&part->index->table.entries, kl_object_key(object)),
            sink);
        if (code == KL_OK) {
            code = kl__index_plan_put(&part->plan, object, sink);
        }
    }
    return code;
}

static kl_code plan_gone(kl__transaction *transaction, const char *key)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        code = kl__index_plan_remove(&transaction->parts[i].plan, key);
    }
    return code;
}

/* Plans only the changed keys; all other entries stay. */
static kl_code plan_in_place(kl__transaction *transaction, kl_index_sink *sink)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->count; i++) {
        const kl__step *step = &transaction->steps[i];

        code = step->after != NULL
                   ? plan_changed(transaction, step->after, sink)
                   : plan_gone(transaction, step->key);
    }
    return code;
}

/* Plans the whole content, into empty tables. */
static kl_code plan_aside(kl__transaction *transaction, kl_index_sink *sink)
{
    const kl__map_slot *slot;
    size_t cursor = 0;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (slot = kl__map_next(&transaction->objects, &cursor)) != NULL) {
        code = kl__transaction_find_step(transaction, slot->key) != NULL
                   ? plan_changed(transaction, slot->value, sink)
                   : plan_kept(transaction, slot->value, sink);
    }
    return code;
}

static kl_code finish_parts(kl__transaction *transaction)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        kl__index_plan *index_plan = &transaction->parts[i].plan;

        code = kl__index_plan_finish(index_plan);
        if (code == KL_OK && transaction->is_aside) {
            kl__index_plan_commit(index_plan); /* no reader sees it */
            kl__index_plan_clear(index_plan);
        }
    }
    return code;
}

kl_code kl__transaction_refresh(kl__transaction *transaction)
{
    kl_index_sink sink = {0};
    size_t builds;
    kl_code code;

    kl__transaction_drop_plan(transaction);
    code = plan_parts(transaction, &builds);
    while (code == KL_OK && builds-- > 0) {
        code = write_journal(transaction);
    }
    if (code == KL_OK) {
        code = transaction->is_aside ? plan_aside(transaction, &sink)
                                     : plan_in_place(transaction, &sink);
    }
    if (code == KL_OK) {
        code = finish_parts(transaction);
    }
    kl__buf_deinit(&sink.bytes);
    return code;
}
