/*
 * mem.h - every allocation of the library goes through here, so that a host
 * can replace the allocator and a test can make it fail.
 */
#ifndef KL_BASE_MEM_H
#define KL_BASE_MEM_H

#include "kubelua/memory.h"

#include <stddef.h>

/* As malloc, calloc, realloc and free; NULL when out of memory. */
void *kl__malloc(size_t size);
void *kl__calloc(size_t count, size_t size);
void *kl__realloc(void *block, size_t size);
void kl__free(void *block);

/* Counts one more (+1) or one less (-1) live thing of a kind. */
void kl__live_add(kl_live_kind kind, int delta);

#endif
