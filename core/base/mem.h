/*
 * mem.h - every allocation of the library goes through here, so that a host
 * can replace the allocator and a test can make it fail.
 */
#ifndef KL_BASE_MEM_H
#define KL_BASE_MEM_H

#include "base/for_sim.h"
#include "kubelua/memory.h"

#include <stddef.h>

/* As malloc, calloc, realloc and free; NULL when out of memory. */
KL__FOR_SIM void *kl__malloc(size_t size);
KL__FOR_SIM void *kl__calloc(size_t count, size_t size);
KL__FOR_SIM void *kl__realloc(void *block, size_t size);
KL__FOR_SIM void kl__free(void *block);

/* For many blocks that are about to be allocated one by one and kept: has the
 * allocator take `size` bytes from the system at once, by taking and giving
 * back one such block. glibc asks for each page by itself outside of the main
 * thread; up to 64 KB it keeps what is given back. Cannot fail. */
void kl__mem_ahead(size_t size);

/* Counts one more (+1) or one less (-1) live thing of a kind. */
KL__FOR_SIM void kl__live_add(kl_live_kind kind, int delta);

#endif
