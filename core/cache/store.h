/*
 * store.h - what an indexer is made of, for the files that make it: indexer.c
 * reads, transaction.c writes, index_build.c adds indexes.
 */
#ifndef KL_CACHE_STORE_H
#define KL_CACHE_STORE_H

#include "base/list.h"
#include "base/thread.h"
#include "cache/index.h"

/* What a transaction changed, for an index that is built meanwhile. */
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

/* An index that is not published yet; lives on the stack of its builder. */
typedef struct kl__index_build {
    kl__list node;     /* in the indexer's builds */
    kl__list journals; /* guarded by the indexer's lock */
} kl__index_build;

struct kl__indexer {
    /*
     * Rank INDEXER. Guards everything below for readers. The writer reads
     * without it what only the writer changes: objects, and the tables of
     * published indexes.
     */
    kl__rwlock lock;
    kl__map objects;     /* key -> kl_object, a reference */
    kl__index **indexes; /* the first is by namespace and has no name */
    size_t index_count;
    kl__list builds;
    uint64_t generation; /* of indexes and builds */
    char *version;       /* NULL before the first list */
};

/* The published index of that name, or NULL. */
kl__index *kl__indexer_find_locked(const kl__indexer *indexer,
                                   const char *name);

#endif
