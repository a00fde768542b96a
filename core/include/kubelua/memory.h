/*
 * memory.h - where the library's memory comes from, and what of it is live.
 */
#ifndef KUBELUA_MEMORY_H
#define KUBELUA_MEMORY_H

#include "kubelua/error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The three must behave as their namesakes of <stdlib.h>, on any thread. */
typedef struct kl_allocator {
    void *(*malloc)(size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
} kl_allocator;

/*
 * Replaces the allocator of the whole process (NULL: the C library's). Not
 * thread-safe: before any other call, or while nothing of the library lives.
 */
KL_API void kl_set_allocator(const kl_allocator *allocator);

/* Frees what a call of this library says that the caller owns. NULL is fine. */
KL_API void kl_free(void *block);

/* What is counted while it lives; for tests and for finding leaks. */
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

/* How many of a kind live in this process now. Whoever reads 0 also sees what
 * they did before they went. Thread-safe. */
KL_API long kl_live_count(kl_live_kind kind);

/* The kind's name ("objects"), static, never NULL. Thread-safe. */
KL_API const char *kl_live_name(kl_live_kind kind);

#ifdef __cplusplus
}
#endif
#endif
