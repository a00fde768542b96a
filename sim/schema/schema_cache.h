/*
 * schema_cache.h - where the schemas of built-in kinds are kept once they were
 * read from the table: one for the process, under one lock.
 */
#ifndef KL_SCHEMA_SCHEMA_CACHE_H
#define KL_SCHEMA_SCHEMA_CACHE_H

#include "sim/schema/schema.h"
#include "sim/schema/schema_table.h"

/* Blocks of memory that are freed together. */
typedef struct kl__schema_block {
    struct kl__schema_block *next;
    size_t used;
    size_t size;
} kl__schema_block;

typedef struct kl__schema_cache {
    kl__schema **types; /* by row of the table; NULL: not read yet */
    kl__schema_block *blocks;
    kl_doc *initials; /* the defaults; its root is an array */
    size_t *begun;    /* the rows that the call under way reads */
    size_t begun_count;
} kl__schema_cache;

/* Memory that lives as long as the cache; zeroed. NULL: out of memory. */
void *kl__schema_alloc(kl__schema_cache *cache, size_t size);

/* The type of a row, with all that it is made of; NULL: out of memory, and
 * the rows that were begun are to be forgotten. */
kl__schema *kl__schema_read(kl__schema_cache *cache, size_t row);

#endif
