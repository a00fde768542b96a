/*
 * store.h - the struct of an indexer: indexer.c reads it, diff.c and
 * transaction.c change it, index_build.c adds indexes.
 */
#ifndef KL_CACHE_STORE_H
#define KL_CACHE_STORE_H

#include "base/list.h"
#include "base/table.h"
#include "base/thread.h"
#include "cache/index.h"

#include <stdatomic.h>

/* One object that a transaction has changed, for an index that is being
 * built. */
typedef struct kl__journal_item {
    kl_object *before; /* a reference, or NULL */
    kl_object *after;  /* a reference, or NULL */
} kl__journal_item;

typedef struct kl__journal {
    kl__list node;
    size_t count;
    kl__journal_item items[];
} kl__journal;

/* NULL is fine. */
void kl__journal_free(kl__journal *journal);

/* An index that is being built and is not published yet. Lives on the stack of
 * the thread that builds it. */
typedef struct kl__index_build {
    kl__list node;     /* in the indexer's builds */
    kl__list journals; /* guarded by the indexer's lock */
} kl__index_build;

struct kl__indexer {
    /*
     * Rank INDEXER. Guards everything below for readers. The writer needs no
     * lock to read what only the writer changes: objects, the version, and the
     * tables of published indexes.
     */
    kl__rwlock lock;
    kl__table objects;   /* of kl_object, by key; references */
    kl__index **indexes; /* the first one is by namespace; its name is "" */
    size_t index_count;
    kl__list builds;
    uint64_t generation; /* rises when indexes or builds change */
    char *version;       /* NULL before the first list */

    /* Set before an index by function is published. Relaxed: if a turn of the
     * transport thread misses it, kl__index_compute does not call. */
    atomic_bool calls_functions;
};

/* The object of a key, without a reference, or NULL. */
kl_object *kl__indexer_find(const kl__indexer *indexer, const kl__key *key);
/* The published index with this name, or NULL. */
kl__index *kl__indexer_find_locked(const kl__indexer *indexer,
                                   const char *name);

#endif
