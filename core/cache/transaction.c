/*
 * transaction.c - the writer's side of the cache. Everything that can fail or
 * take long is done before the lock is taken; freeing comes after it.
 */
#include "cache/transaction.h"

#include "base/mem.h"
#include "base/str.h"

#include <limits.h>

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
    kl__transaction_drop_plan(transaction);
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
        code = kl__transaction_plan_objects(transaction);
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
        kl__transaction_apply_steps(transaction, &indexer->objects);
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
