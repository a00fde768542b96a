/*
 * memory.h - the library's allocator, and counts of what is alive, for tests.
 */
#ifndef KUBELUA_MEMORY_H
#define KUBELUA_MEMORY_H

#include "kubelua/error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions that behave as malloc, realloc and free of <stdlib.h>, on any
 * thread. */
typedef struct kl_allocator {
    void *(*malloc)(size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
} kl_allocator;

/*
 * Replaces the library's allocator in this process (NULL: the C library's). Not
 * thread-safe: call it before any other call, or when every object of the
 * library has been freed. libcurl, libyaml and zstd allocate for themselves.
 * With the C library's allocator, an informer calls glibc's malloc_trim once,
 * after its first list of a thousand objects or more.
 */
KL_API void kl_set_allocator(const kl_allocator *allocator);

/* Frees memory that a call of this library gave to the caller ("the caller
 * frees it with kl_free"). NULL is fine. */
KL_API void kl_free(void *block);

/* Gives free memory back to the system, by glibc's malloc_trim; with another
 * allocator or C library it does nothing. Takes some milliseconds. For a
 * process that has just dropped many objects. Thread-safe. */
KL_API void kl_memory_trim(void);

/* Kinds of objects of which the library counts the live ones. */
typedef enum kl_live_kind {
    KL_LIVE_OBJECT,
    KL_LIVE_DOC,
    KL_LIVE_STREAM,
    KL_LIVE_CLIENT,
    KL_LIVE_INFORMER,
    KL_LIVE_REGISTRATION,
    KL_LIVE_QUEUE,
    KL_LIVE_WORKQUEUE,
    KL_LIVE_REQUEST,
    KL_LIVE_SIM,
    KL_LIVE_SHARED,
    KL_LIVE_THREAD,
    KL_LIVE_KINDS
} kl_live_kind;

/* The number of live objects of a kind in this process. A thread that reads 0
 * also sees everything that those objects wrote before they were freed.
 * Thread-safe. */
KL_API long kl_live_count(kl_live_kind kind);

/* The kind's name ("objects"), static, never NULL. Thread-safe. */
KL_API const char *kl_live_name(kl_live_kind kind);

#ifdef __cplusplus
}
#endif
#endif
