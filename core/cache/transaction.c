/*
 * transaction.c - the writer's side of the cache. Everything that can fail or
 * take long is done before the lock is taken: all memory that a transaction
 * needs is allocated, and the new content of the store and its indexes
 * computed. Freeing comes after the lock.
 */
#include "cache/transaction.h"

#include "base/mem.h"
#include "base/str.h"
#include "object/object.h"

#include <limits.h>

/* Up to this many keys are changed one by one under the lock. For more, a new
 * table and new index tables are built without the lock and swapped in. */
enum { MAX_STEPS_IN_PLACE = 1024 };

/* Applies the steps to the store's table, or to a copy of it; the table has
 * room. */
static void apply_steps(const kl__transaction *transaction, kl__table *objects)
{
    for (size_t i = 0; i < transaction->count; i++) {
        const kl__step *step = &transaction->steps[i];
        uint32_t slot = KL__NO_SLOT;

        if (step->before != NULL) {
            slot = kl__table_find_item(objects, step->hash, step->before);
        }
        if (slot != KL__NO_SLOT && step->after != NULL) {
            objects->items[slot] = step->after;
        } else if (slot != KL__NO_SLOT) {
            kl__table_remove(objects, slot);
        } else if (step->after != NULL) {
            kl__table_add(objects, step->hash, step->after);
        }
    }
}

/* How many keys the store gets in addition. */
static size_t count_new_keys(const kl__transaction *transaction)
{
    size_t count = 0;

    for (size_t i = 0; i < transaction->count; i++) {
        const kl__step *step = &transaction->steps[i];

        count += step->before == NULL && step->after != NULL ? 1 : 0;
    }
    return count;
}

/* Makes a new table for the store if the present one does not fit, or if too
 * many keys change. KL_ENOMEM. */
static kl_code plan_objects(kl__transaction *transaction)
{
    const kl__table *objects = &transaction->indexer->objects;
    size_t extra = count_new_keys(transaction);

    transaction->is_aside = transaction->count > MAX_STEPS_IN_PLACE;
    if (!transaction->is_aside && kl__table_fits(objects, extra)) {
        return KL_OK;
    }
    if (!kl__table_copy(objects, extra, &transaction->objects)) {
        return KL_ENOMEM;
    }
    if (transaction->is_aside) {
        apply_steps(transaction, &transaction->objects);
    }
    return KL_OK;
}

/* Frees the plans of the indexes; after the commit, what they have replaced. */
static void drop_plan(kl__transaction *transaction)
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

        part->aside = kl__index_table_for(part->index->name);
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

/* How many indexes read an object's text, and how many its tree. */
static void count_readers(const kl__transaction *transaction, size_t *texts,
                          size_t *trees)
{
    *texts = *trees = 0;
    for (size_t i = 0; i < transaction->part_count; i++) {
        const kl__index *index = transaction->parts[i].index;

        *texts += index->path != NULL ? 1 : 0;
        *trees += index->path == NULL && !index->table.by_namespace ? 1 : 0;
    }
}

/* Adds a changed object to the plan of every index. What several of them read
 * is kept open, so that it is unpacked or parsed once; without the memory for
 * that, kl__index_compute fails, or can do without. */
static kl_code plan_changed(kl__transaction *transaction,
                            const kl__index_change *change, kl_index_sink *sink)
{
    size_t texts, trees;
    bool has_text, has_tree;
    kl_code code = KL_OK;

    count_readers(transaction, &texts, &trees);
    has_text = texts > 1 && kl_object_json(change->after, NULL, NULL) != NULL;
    has_tree = trees > 1 && kl_object_open(change->after, NULL) != NULL;
    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        kl__part *part = &transaction->parts[i];

        code = kl__index_compute(part->index, change->after, sink);
        if (code == KL_OK) {
            code = kl__index_plan_add(&part->plan, change, sink);
        }
    }
    if (has_text) {
        kl_object_close_json(change->after);
    }
    if (has_tree) {
        kl_object_close(change->after);
    }
    return code;
}

/* The same for an unchanged object: copies its values from the old table. */
static kl_code plan_kept(kl__transaction *transaction,
                         const kl__index_change *change, kl_index_sink *sink)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        kl__part *part = &transaction->parts[i];

        code = kl__index_recall(&part->index->table, change->after,
                                change->hash, sink);
        if (code == KL_OK) {
            code = kl__index_plan_add(&part->plan, change, sink);
        }
    }
    return code;
}

static kl_code plan_gone(kl__transaction *transaction,
                         const kl__index_change *change)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->part_count; i++) {
        code = kl__index_plan_add(&transaction->parts[i].plan, change, NULL);
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

/* Plans only the changed keys; all other entries stay. */
static kl_code plan_in_place(kl__transaction *transaction, kl_index_sink *sink)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < transaction->count; i++) {
        const kl__step *step = &transaction->steps[i];
        kl__index_change change = {step->before, step->after, step->hash};

        if (change.after != NULL) {
            code = plan_changed(transaction, &change, sink);
        } else if (change.before != NULL) {
            code = plan_gone(transaction, &change);
        }
    }
    return code;
}

/* Plans the whole content, into empty tables; a plan has at most CHUNK steps,
 * to need little memory. */
static kl_code plan_aside(kl__transaction *transaction, kl_index_sink *sink)
{
    enum { CHUNK = 1024 };
    const kl__table *objects = &transaction->objects;
    uint32_t cursor = 0, slot, planned = 0;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (slot = kl__table_next(objects, &cursor)) != KL__NO_SLOT) {
        kl_object *object = objects->items[slot];
        kl__key key = kl__object_key(object);
        kl__index_change change = {NULL, object, key.hash};
        bool is_kept = kl__table_find_item(&transaction->indexer->objects,
                                           key.hash, object) != KL__NO_SLOT;

        code = is_kept ? plan_kept(transaction, &change, sink)
                       : plan_changed(transaction, &change, sink);
        if (code == KL_OK && ++planned % CHUNK == 0) {
            code = finish_parts(transaction);
        }
    }
    return code;
}

kl_code kl__transaction_refresh(kl__transaction *transaction)
{
    kl_index_sink sink = {0};
    size_t builds;
    kl_code code;

    drop_plan(transaction);
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

void kl__journal_free(kl__journal *journal)
{
    if (journal == NULL) {
        return;
    }
    for (size_t i = 0; i < journal->count; i++) {
        kl_object_unref(journal->items[i].before);
        kl_object_unref(journal->items[i].after);
    }
    kl__free(journal);
}

static const char *key_of_step(const void *context, const void *number)
{
    return ((const kl__step *)context)[(uintptr_t)number - 1].key;
}

kl__known kl__transaction_known(const kl__transaction *transaction,
                                const kl__key *key)
{
    const kl__table *by_key = &transaction->by_key;
    uint32_t slot =
        kl__table_find(by_key, key, key_of_step, transaction->steps);
    kl__known known = {.key = *key};

    if (slot != KL__NO_SLOT) {
        known.step = (uintptr_t)by_key->items[slot];
        known.stored = transaction->steps[known.step - 1].before;
        known.object = transaction->steps[known.step - 1].after;
    } else {
        known.stored = kl__indexer_find(transaction->indexer, key);
        known.object = known.stored;
    }
    return known;
}

kl_code kl__transaction_reserve(kl__transaction *transaction, size_t count)
{
    kl__step *steps;

    if (count <= transaction->capacity) {
        return KL_OK;
    }
    steps = kl__realloc(transaction->steps, count * sizeof(*steps));
    if (steps == NULL) {
        return KL_ENOMEM;
    }
    transaction->steps = steps;
    transaction->capacity = count;
    return KL_OK;
}

kl_code kl__transaction_stage_once(kl__transaction *transaction,
                                   const kl__known *known, kl_object *after)
{
    size_t wanted = transaction->count < transaction->capacity
                        ? transaction->capacity
                        : transaction->capacity * 2 + 16;

    if (kl__transaction_reserve(transaction, wanted) != KL_OK) {
        return KL_ENOMEM;
    }
    transaction->steps[transaction->count++] =
        (kl__step){.key = known->key.text,
                   .before = known->stored,
                   .after = after != NULL ? kl_object_ref(after) : NULL,
                   .hash = known->key.hash};
    return KL_OK;
}

kl_code kl__transaction_stage(kl__transaction *transaction,
                              const kl__known *known, kl_object *after)
{
    kl__table *by_key = &transaction->by_key;
    kl__step *step;

    if (known->step == 0) {
        if (!kl__table_reserve(by_key, 1) ||
            kl__transaction_stage_once(transaction, known, after) != KL_OK) {
            return KL_ENOMEM;
        }
        kl__table_add(by_key, known->key.hash,
                      (void *)(uintptr_t)transaction->count);
        return KL_OK;
    }
    step = &transaction->steps[known->step - 1];
    if (after != NULL) {
        kl_object_ref(after);
    }
    kl_object_unref(step->after);
    step->after = after;
    return KL_OK;
}

kl_code kl__transaction_version(kl__transaction *transaction,
                                const char *version, bool forward)
{
    const char *known = transaction->version != NULL
                            ? transaction->version
                            : transaction->indexer->version;
    char *copy;

    if (version == NULL || version[0] == '\0') {
        return KL_OK;
    }
    if (forward && known != NULL) {
        int order = kl_version_compare(version, known);

        if (order <= 0 && order != INT_MIN) {
            return KL_OK;
        }
    }
    copy = kl__strdup(version);
    if (copy == NULL) {
        return KL_ENOMEM;
    }
    kl__free(transaction->version);
    transaction->version = copy;
    return KL_OK;
}

void kl__transaction_free(kl__transaction *transaction)
{
    if (transaction == NULL) {
        return;
    }
    drop_plan(transaction);
    for (size_t i = 0; i < transaction->count; i++) {
        const kl__step *step = &transaction->steps[i];

        kl_object_unref(transaction->is_committed ? step->before : step->after);
    }
    kl__change_list_clear(&transaction->changes);
    kl__table_deinit(&transaction->objects);
    kl__table_deinit(&transaction->by_key);
    kl__free(transaction->steps);
    kl__free(transaction->version);
    kl__free(transaction);
}

const kl__change_list *
kl__transaction_changes(const kl__transaction *transaction)
{
    return &transaction->changes;
}

static kl__transaction *new_transaction(kl__indexer *indexer)
{
    kl__transaction *transaction = kl__calloc(1, sizeof(*transaction));

    if (transaction != NULL) {
        transaction->indexer = indexer;
        kl__list_init(&transaction->journals);
    }
    return transaction;
}

/* Plans the steps of the transaction. NULL, and the transaction is freed, if
 * `code` is a failure or planning fails. */
static kl__transaction *plan_or_free(kl__transaction *transaction, kl_code code)
{
    if (code == KL_OK) {
        code = plan_objects(transaction);
    }
    if (code == KL_OK) {
        code = kl__transaction_refresh(transaction);
    }
    if (code != KL_OK) {
        kl__transaction_free(transaction);
        return NULL;
    }
    return transaction;
}

kl__transaction *kl__indexer_prepare(kl__indexer *indexer,
                                     const kl__delta_batch *batch)
{
    kl__transaction *transaction = new_transaction(indexer);

    if (transaction == NULL) {
        return NULL;
    }
    return plan_or_free(transaction, kl__diff_batch(transaction, batch));
}

kl__transaction *kl__indexer_prepare_replace(kl__indexer *indexer,
                                             const kl__listed *listed,
                                             const char *version)
{
    kl__transaction *transaction = new_transaction(indexer);
    kl_code code;

    if (transaction == NULL) {
        return NULL;
    }
    code = kl__transaction_version(transaction, version, false);
    if (code == KL_OK) {
        code = kl__diff_list(transaction, listed);
    }
    return plan_or_free(transaction, code);
}

static void swap_object_tables(kl__table *a, kl__table *b)
{
    kl__table former = *a;

    *a = *b;
    *b = former;
}

static void commit_part_locked(kl__transaction *transaction, kl__part *part)
{
    kl__index_table former = part->index->table;

    if (transaction->is_aside) {
        part->index->table = part->aside;
        part->aside = former;
    } else {
        kl__index_plan_commit(&part->plan);
    }
}

/* Under the write lock: neither allocates nor frees, and cannot fail. */
static void commit_locked(kl__transaction *transaction)
{
    kl__indexer *indexer = transaction->indexer;

    if (transaction->objects.items != NULL) {
        swap_object_tables(&indexer->objects, &transaction->objects);
    }
    if (!transaction->is_aside) {
        apply_steps(transaction, &indexer->objects);
    }
    for (size_t i = 0; i < transaction->part_count; i++) {
        commit_part_locked(transaction, &transaction->parts[i]);
    }
    if (transaction->version != NULL) {
        char *former = indexer->version;

        indexer->version = transaction->version;
        transaction->version = former;
    }
    for (kl__list *node = indexer->builds.next; node != &indexer->builds;
         node = node->next) {
        kl__index_build *build = KL__CONTAINER(node, kl__index_build, node);

        kl__list_append(&build->journals,
                        kl__list_shift(&transaction->journals));
    }
    transaction->is_committed = true;
}

bool kl__transaction_commit(kl__transaction *transaction)
{
    kl__indexer *indexer = transaction->indexer;
    bool fits;

    kl__rwlock_write(&indexer->lock);
    fits = indexer->generation == transaction->generation;
    if (fits) {
        commit_locked(transaction);
    }
    kl__rwlock_unlock(&indexer->lock);
    return fits;
}
