/*
 * blocks.c - see blocks.h.
 */
#include "blocks.h"

#include "kubelua/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_long blocks;

static void *count_malloc(size_t size)
{
    void *block = malloc(size);

    blocks += block != NULL ? 1 : 0;
    return block;
}

static void *count_realloc(void *block, size_t size)
{
    void *moved = realloc(block, size);

    blocks += block == NULL && moved != NULL ? 1 : 0;
    return moved;
}

static void count_free(void *block)
{
    if (block != NULL) {
        memset(block, 0xa5, malloc_usable_size(block));
        blocks--;
    }
    free(block);
}

void blocks_watch(void)
{
    static const kl_allocator counting = {count_malloc, count_realloc,
                                          count_free};

    kl_set_allocator(&counting);
}

long blocks_count(void)
{
    return blocks;
}
