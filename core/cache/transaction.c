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

kl__step *kl__transaction_find_step(const kl__transaction *transaction,
                                    const char *key)
{
    size_t number = (uintptr_t)kl__map_get(&transaction->by_key, key);

    return number != 0 ? &transaction->steps[number - 1] : NULL;
}

kl_object *kl__transaction_known(const kl__transaction *transaction,
                                 const char *key)
{
    const kl__step *step = kl__transaction_find_step(transaction, key);

    return step != NULL ? step->after
                        : kl__map_get(&transaction->indexer->objects, key);
}

static bool has_step_room(kl__transaction *transaction)
{
    size_t capacity =
        transaction->capacity != 0 ? transaction->capacity * 2 : 16;
    kl__step *steps;

    if (transaction->count < transaction->capacity) {
        return true;
    }
    steps = kl__realloc(transaction->steps, capacity * sizeof(*steps));
    if (steps == NULL) {
        return false;
    }
    transaction->steps = steps;
    transaction->capacity = capacity;
    return true;
}

kl_code kl__transaction_stage(kl__transaction *transaction, const char *key,
                              kl_object *after)
{
    kl__step *step = kl__transaction_find_step(transaction, key);

    if (step == NULL) {
        void *number = (void *)(uintptr_t)(transaction->count + 1);

        if (!has_step_room(transaction) ||
            !kl__map_put(&transaction->by_key, key, number, NULL)) {
            return KL_ENOMEM;
        }
        step = &transaction->steps[transaction->count++];
        *step = (kl__step){
            .key = key,
            .before = kl__map_get(&transaction->indexer->objects, key)};
    }
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
    kl__map_deinit(&transaction->objects);
    kl__map_deinit(&transaction->by_key);
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
                                             const kl_object_list *list,
                                             const char *version)
{
    kl__transaction *transaction = new_transaction(indexer);
    kl_code code;

    if (transaction == NULL) {
        return NULL;
    }
    code = kl__transaction_version(transaction, version, false);
    if (code == KL_OK) {
        code = kl__diff_list(transaction, list);
    }
    return plan_or_free(transaction, code);
}

static void swap_maps(kl__map *a, kl__map *b)
{
    kl__map former = *a;

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

    if (transaction->objects.slots != NULL) {
        swap_maps(&indexer->objects, &transaction->objects);
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
