/*
 * schema_cache.h - the cache of the built-in schemas that were read from the
 * table. The process has one cache; one lock guards it.
 */
#ifndef KL_SCHEMA_SCHEMA_CACHE_H
#define KL_SCHEMA_SCHEMA_CACHE_H

#include "sim/core/schema/schema.h"
#include "sim/core/schema/schema_table.h"

/* Blocks of memory, freed together. */
typedef struct kl__schema_block {
    struct kl__schema_block *next;
    size_t used;
    size_t size;
} kl__schema_block;

typedef struct kl__schema_cache {
    kl__schema **types; /* by row of the table; NULL: not read */
    kl__schema_block *blocks;
    kl_doc *initials; /* the defaults: an array */
    size_t *begun;    /* the rows that the current call has begun to read */
    size_t begun_count;
} kl__schema_cache;

/* Zeroed memory that lives as long as the cache. NULL: out of memory. */
void *kl__schema_alloc(kl__schema_cache *cache, size_t size);

/* Reads the type of a row, and all types to which it refers. NULL: out of
 * memory; then the caller removes the rows in `begun` from the cache. */
kl__schema *kl__schema_read(kl__schema_cache *cache, size_t row);

#endif
