/*
 * text_slab.h - memory for the texts of several young objects (young.h). The
 * texts are not in the heap between the small heads of their objects, which
 * stay: when the texts go, whole pages are free again.
 */
#ifndef KL_OBJECT_TEXT_SLAB_H
#define KL_OBJECT_TEXT_SLAB_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__text_slab kl__text_slab;

/* A slab for `room` bytes; the caller gets a reference. NULL: out of memory,
 * or all slabs of the process together would have more than `budget` bytes.
 * Thread-safe. */
kl__text_slab *kl__text_slab_new(size_t room, size_t budget);

/* Copies a text and a NUL into the slab, and takes a reference for it. NULL:
 * there is no room. One thread at a time. */
char *kl__text_slab_add(kl__text_slab *slab, const char *text, size_t length);

/* Makes the slab empty again, if there is no other reference than the
 * caller's. One thread at a time. */
bool kl__text_slab_empty(kl__text_slab *slab);

/* NULL is fine. Thread-safe. */
void kl__text_slab_unref(kl__text_slab *slab);

/* The next slab in the queue that fills them; the queue's to read and set. */
kl__text_slab **kl__text_slab_next(kl__text_slab *slab);

/* The bytes that it has room for. */
size_t kl__text_slab_room(const kl__text_slab *slab);

/* The bytes of all slabs of the process. Thread-safe. */
size_t kl__text_slab_total(void);

#endif
