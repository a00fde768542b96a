/*
 * young.h - the young objects of a packer, oldest first. A watch brought them;
 * they are still plain, and are packed when they are due, unless only this
 * queue refers to them by then. One thread at a time.
 */
#ifndef KL_OBJECT_YOUNG_H
#define KL_OBJECT_YOUNG_H

#include "kubelua/object.h"
#include "object/text_slab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kl__young_entry {
    kl_object *object; /* a reference */
    int64_t due_ms;    /* on the clock: when it is packed */
} kl__young_entry;

typedef struct kl__young {
    kl__young_entry *entries; /* a ring */
    size_t capacity;          /* a power of two, or 0 */
    size_t first;
    size_t count;
    kl__text_slab *oldest; /* the slabs of their texts, a reference each */
    kl__text_slab *newest; /* this one is filled */
    size_t bytes;          /* of all these slabs */
} kl__young;

/* The memory for young texts. */
typedef struct kl__young_room {
    size_t slab;  /* bytes of a slab; a longer text has one for itself */
    size_t total; /* bytes of all slabs of the process, at most */
} kl__young_room;

/* Copies the object, adds a reference to the copy to the queue, and returns
 * another to the caller. NULL: out of memory, or no room; nothing has changed.
 */
kl_object *kl__young_add(kl__young *self, const kl_object *object,
                         int64_t due_ms, const kl__young_room *room);

/* The oldest; NULL: none. Borrowed until the next call. */
const kl__young_entry *kl__young_oldest(const kl__young *self);

/* Takes the oldest out of the queue; the caller gets the reference. There must
 * be one. */
kl_object *kl__young_take(kl__young *self);

/* Takes the caller's reference and makes the object the newest again. Only
 * after kl__young_take, and before the next kl__young_add. */
void kl__young_put_back(kl__young *self, kl_object *object, int64_t due_ms);

/* Frees the slabs without a text. Returns how many bytes they had. */
size_t kl__young_free_slabs(kl__young *self);

/* Drops all objects. */
void kl__young_deinit(kl__young *self);

#endif
