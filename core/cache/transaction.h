/*
 * transaction.h - one transaction of the indexer: diff.c finds what changes,
 * transaction.c plans and commits it.
 */
#ifndef KL_CACHE_TRANSACTION_H
#define KL_CACHE_TRANSACTION_H

#include "cache/store.h"

/* One key that changes. */
typedef struct kl__step {
    const char *key;   /* borrowed from an object of the delta or list */
    kl_object *before; /* the store's reference; after the commit, the step's */
    kl_object *after;  /* the step's reference; after the commit, the store's */
    uint32_t hash;     /* of the key */
} kl__step;

/* The changes to one index. */
typedef struct kl__part {
    kl__index *index;
    kl__index_table aside; /* is_aside: the whole new table, to swap in */
    kl__index_plan plan;
} kl__part;

struct kl__transaction {
    kl__indexer *indexer;
    kl__change_list changes;
    kl__step *steps;
    size_t count;
    size_t capacity;
    kl__table by_key; /* numbers of steps, from 1, as pointers; a list has
                         none: it changes each key once */
    char *version; /* the new one; after the commit the old; NULL: unchanged */
    bool is_aside; /* too many steps to apply under the lock: swap in tables */
    bool is_committed;
    kl__table objects; /* the store's new table, if it is swapped in */

    uint64_t generation; /* the indexer's generation that the parts are for */
    kl__part *parts;
    size_t part_count;
    kl__list journals; /* one for each index that is being built */
};

/* What a key has, in the store and in the steps so far. */
typedef struct kl__known {
    kl__key key;
    kl_object *stored; /* NULL: none */
    kl_object *object; /* what the store will have; NULL: none */
    size_t step;       /* number of the key's step, from 1; 0: none */
} kl__known;

/* Looks a key up. */
kl__known kl__transaction_known(const kl__transaction *transaction,
                                const kl__key *key);
/* Makes room for so many steps; KL_ENOMEM. */
kl_code kl__transaction_reserve(kl__transaction *transaction, size_t count);
/* Adds a step: the store gets `after` under this key (NULL: the key is
 * removed). The key's text is borrowed. KL_ENOMEM. */
kl_code kl__transaction_stage(kl__transaction *transaction,
                              const kl__known *known, kl_object *after);
/* The same for a key without a step that gets no other step. */
kl_code kl__transaction_stage_once(kl__transaction *transaction,
                                   const kl__known *known, kl_object *after);
/* Sets the new version of the store (NULL or "": no change). `forward`: only if
 * it is higher than the present one, or cannot be compared with it.
 * KL_ENOMEM. */
kl_code kl__transaction_version(kl__transaction *transaction,
                                const char *version, bool forward);

/* Add the steps and changes of a batch or a list. KL_ENOMEM. */
kl_code kl__diff_batch(kl__transaction *transaction,
                       const kl__delta_batch *batch);
kl_code kl__diff_list(kl__transaction *transaction, const kl__listed *listed);

#endif
