/*
 * schema_cache.c - see schema_cache.h: the schemas of built-in kinds, each read
 * at first use and kept until the last kl__schema_release.
 */
#include "sim/core/schema/schema_cache.h"

#include "base/mem.h"
#include "base/thread.h"
#include "kubelua/object.h"

#include <string.h>

/* Guards `cache` and `holders`. Rank SCHEMA: no lock is taken under it. */
static kl__mutex lock = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_SCHEMA};
static kl__schema_cache cache;
static long holders;

void *kl__schema_alloc(kl__schema_cache *from, size_t size)
{
    enum { BLOCK = 16 * 1024 };
    kl__schema_block *block = from->blocks;
    size_t head = (sizeof(*block) + 15) & ~(size_t)15;
    size_t room = (size + 15) & ~(size_t)15;
    char *bytes;

    if (block == NULL || block->size - block->used < room) {
        size_t whole = head + (room > BLOCK ? room : (size_t)BLOCK);

        block = kl__malloc(whole);
        if (block == NULL) {
            return NULL;
        }
        block->next = from->blocks;
        block->used = head;
        block->size = whole;
        from->blocks = block;
    }
    bytes = (char *)block + block->used;
    block->used += room;
    memset(bytes, 0, room);
    return bytes;
}

static void free_blocks(kl__schema_block **first, const kl__schema_block *until)
{
    while (*first != until) {
        kl__schema_block *next = (*first)->next;

        kl__free(*first);
        *first = next;
    }
}

/* The document lives as long as the cache, so it is not counted as alive: the
 * count was lowered when it was made, and is raised again here. */
static void drop_initials(void)
{
    if (cache.initials != NULL) {
        kl__live_add(KL_LIVE_DOC, 1);
        kl_doc_unref(cache.initials);
        cache.initials = NULL;
    }
}

static void forget_cache(void)
{
    free_blocks(&cache.blocks, NULL);
    drop_initials();
    kl__free(cache.types);
    kl__free(cache.begun);
    memset(&cache, 0, sizeof(cache));
}

static bool prepare_cache(void)
{
    if (cache.types == NULL) {
        cache.types = kl__calloc(kl__schema_row_count, sizeof(*cache.types));
    }
    if (cache.begun == NULL) {
        cache.begun = kl__calloc(kl__schema_row_count, sizeof(*cache.begun));
    }
    if (cache.initials == NULL) {
        cache.initials = kl_doc_parse(kl__schema_initials,
                                      strlen(kl__schema_initials), NULL);
        kl__live_add(KL_LIVE_DOC, cache.initials != NULL ? -1 : 0);
    }
    return cache.types != NULL && cache.begun != NULL && cache.initials != NULL;
}

/* Reads a type and all types to which it refers. If memory runs out, none of
 * them stays in the cache: as types can refer to each other in circles, a type
 * that was complete could refer to one that is not. */
static const kl__schema *read_locked(size_t row)
{
    kl__schema_block *before;
    size_t used;
    kl__schema *type;

    if (!prepare_cache()) {
        return NULL;
    }
    before = cache.blocks;
    used = before != NULL ? before->used : 0;
    cache.begun_count = 0;
    type = kl__schema_read(&cache, row);
    if (type == NULL) {
        for (size_t i = 0; i < cache.begun_count; i++) {
            cache.types[cache.begun[i]] = NULL;
        }
        free_blocks(&cache.blocks, before);
        if (before != NULL) {
            before->used = used;
        }
    }
    return type;
}

static bool find_row(const char *name, size_t *row)
{
    size_t low = 0;
    size_t high = kl__schema_row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, kl__schema_rows[middle].name);

        if (order == 0) {
            *row = middle;
            return true;
        }
        if (order > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

const kl__schema *kl__schema_type_named(const char *name, kl_error *err)
{
    const kl__schema *type;
    size_t row = 0;

    if (!find_row(name, &row)) {
        kl_error_set(err, KL_EUNKNOWN_KIND, "no built-in type is a %s", name);
        return NULL;
    }
    kl__mutex_lock(&lock);
    type = cache.types != NULL ? cache.types[row] : NULL;
    if (type == NULL) {
        type = read_locked(row);
    }
    kl__mutex_unlock(&lock);
    if (type == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    return type;
}

void kl__schema_hold(void)
{
    kl__mutex_lock(&lock);
    holders++;
    kl__mutex_unlock(&lock);
}

void kl__schema_release(void)
{
    kl__mutex_lock(&lock);
    holders--;
    if (holders <= 0) {
        holders = 0;
        forget_cache();
    }
    kl__mutex_unlock(&lock);
}
