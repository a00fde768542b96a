/*
 * mem.c - the allocator of the process, and counters of live objects, handles
 * and threads, which a program can read to find leaks.
 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static kl_allocator current = {malloc, realloc, free};

/* Release and acquire: a thread that reads 0 live threads also sees everything
 * that the ended threads have written. */
static atomic_long live[KL_LIVE_KINDS];

void kl_set_allocator(const kl_allocator *allocator)
{
    static const kl_allocator libc = {malloc, realloc, free};

    current = allocator != NULL ? *allocator : libc;
}

void *kl__malloc(size_t size)
{
    return current.malloc(size != 0 ? size : 1);
}

void *kl__calloc(size_t count, size_t size)
{
    void *block;

    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    block = kl__malloc(count * size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

void *kl__realloc(void *block, size_t size)
{
    return current.realloc(block, size != 0 ? size : 1);
}

void kl__free(void *block)
{
    if (block != NULL) {
        current.free(block);
    }
}

void kl__mem_ahead(size_t size)
{
    kl__free(kl__malloc(size));
}

void kl__mem_trim(void)
{
#ifdef __GLIBC__
    if (current.free == free) {
        malloc_trim(0);
    }
#endif
}

void kl_memory_trim(void)
{
    kl__mem_trim();
}

void kl_free(void *block)
{
    kl__free(block);
}

void kl__live_add(kl_live_kind kind, int delta)
{
    atomic_fetch_add_explicit(&live[kind], delta, memory_order_release);
}

long kl_live_count(kl_live_kind kind)
{
    return atomic_load_explicit(&live[kind], memory_order_acquire);
}

const char *kl_live_name(kl_live_kind kind)
{
    static const char *const names[KL_LIVE_KINDS] = {
        "objects",   "documents",     "streams",      "clients",
        "informers", "registrations", "event queues", "workqueues",
        "requests",  "simulators",    "shared maps",  "threads"};

    return (unsigned)kind < KL_LIVE_KINDS ? names[kind] : "unknown";
}
