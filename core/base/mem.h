/*
 * mem.h - every allocation of the library goes through these functions, so that
 * a host program can replace the allocator and a test can make it fail.
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

/* Call before many small blocks are allocated and kept. It allocates and frees
 * one block of `size` bytes, so that the allocator takes that memory from the
 * system in one step. Without this call glibc extends the heap page by page in
 * each thread but the main thread. `size` is at most 64 KB: glibc may give a
 * larger block back to the system when it is freed. Cannot fail. */
void kl__mem_ahead(size_t size);

/* Call once much memory has been freed and little of it will be needed again
 * soon: after a long list. Gives the free pages of the C library's heaps back
 * to the system; glibc keeps a page that lies before memory in use. It looks at
 * all heaps of the process. Does nothing with another C library, or if the
 * program has set its own allocator. Cannot fail. */
void kl__mem_trim(void);

/* Adds 1 or -1 to the number of live things of a kind. */
KL__FOR_SIM void kl__live_add(kl_live_kind kind, int delta);

#endif
