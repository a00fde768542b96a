/*
 * transaction.h - a change of the indexer in the making: transaction.c plans
 * and commits it, diff.c finds out what changes.
 */
#ifndef KL_CACHE_TRANSACTION_H
#define KL_CACHE_TRANSACTION_H

#include "cache/store.h"

/* One key that changes. */
typedef struct kl__step {
    const char *key;   /* borrowed from an object of the delta or list */
    kl_object *before; /* a reference once committed, else the store's */
    kl_object *after;  /* a reference until committed, then the store's */
} kl__step;

/* A plan for one index. */
typedef struct kl__part {
    kl__index *index;
    kl__index_table aside; /* the whole new table, where it is swapped in */
    kl__index_plan plan;
} kl__part;

struct kl__transaction {
    kl__indexer *indexer;
    kl__change_list changes;
    kl__step *steps;
    size_t count;
    size_t capacity;
    kl__map by_key; /* key -> its step's number, from 1 */
    char *version;  /* the new one, afterwards the former; NULL: unchanged */
    bool is_aside;  /* too much to do under the lock: swap everything in */
    bool is_committed;
    kl__map objects; /* the store's next map, where it is swapped in */

    uint64_t generation; /* of the indexes that the following is for */
    kl__part *parts;
    size_t part_count;
    kl__list journals; /* one for each build */
};

/* What the store will hold under that key. */
kl_object *kl__transaction_known(const kl__transaction *transaction,
                                 const char *key);
/* Notes that the key will hold `after` (NULL: nothing). KL_ENOMEM. */
kl_code kl__transaction_stage(kl__transaction *transaction, const char *key,
                              kl_object *after);
/* Notes a version (NULL or "": none); `forward`: unless it is an older one. */
kl_code kl__transaction_version(kl__transaction *transaction,
                                const char *version, bool forward);

/* The step of that key, or NULL. */
kl__step *kl__transaction_find_step(const kl__transaction *transaction,
                                    const char *key);
/* Puts the steps into the store's map, or into a copy of it, with room. */
void kl__transaction_apply_steps(const kl__transaction *transaction,
                                 kl__map *objects);
/* Makes the store's next map, where the present one is too small or too much of
 * it changes. KL_ENOMEM. */
kl_code kl__transaction_plan_objects(kl__transaction *transaction);
/* Forgets what was planned for the indexes, or what that replaced. */
void kl__transaction_drop_plan(kl__transaction *transaction);

/* Stage what a batch or a list changes. KL_ENOMEM. */
kl_code kl__diff_batch(kl__transaction *transaction,
                       const kl__delta_batch *batch);
kl_code kl__diff_list(kl__transaction *transaction, const kl_object_list *list);

#endif
