/*
 * young.h - the young objects of a packer, oldest first, and the memory of
 * their texts. A watch brought them; they are still plain, and are packed when
 * they are due. The queue has no references: an object that is replaced or
 * deleted leaves it at once. One thread at a time, but any thread may drop the
 * last reference to an object that is in the queue.
 */
#ifndef KL_OBJECT_YOUNG_H
#define KL_OBJECT_YOUNG_H

#include "base/list.h"
#include "kubelua/object.h"
#include "object/text_slab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kl__young {
    kl__list objects;      /* kl__youth.node (block.h) */
    int64_t last_due_ms;   /* of the object that was added last */
    kl__text_slab *oldest; /* the slabs of their texts, a reference each */
    kl__text_slab *newest; /* this one is filled */
    size_t bytes;          /* of all these slabs */
} kl__young;

/* The memory for young texts. */
typedef struct kl__young_room {
    size_t slab;  /* bytes of a slab; a longer text has one for itself */
    size_t total; /* bytes of all slabs of the process, at most */
} kl__young_room;

/* The struct must stay where it is, until kl__young_deinit. */
void kl__young_init(kl__young *self);

/* Copies the object and adds the copy to the queue. The caller gets the
 * reference. NULL: out of memory, or no room; nothing has changed. */
kl_object *kl__young_add(kl__young *self, const kl_object *object,
                         int64_t due_ms, const kl__young_room *room);

/* When the oldest object is due; or, if only slabs are left, when these are to
 * be freed. INT64_MAX: neither. */
int64_t kl__young_due(kl__young *self);

bool kl__young_is_empty(kl__young *self);

/* The number of objects in the queue; takes as long as they are many. */
size_t kl__young_count(kl__young *self);

/* Takes the oldest out of the queue; the caller gets a reference. NULL: the
 * queue is empty. */
kl_object *kl__young_take(kl__young *self);

/* Makes an object that was taken, and is still young, the newest again. Takes
 * the caller's reference. */
void kl__young_put_back(kl__young *self, kl_object *object, int64_t due_ms);

/* Frees the slabs without a text; if the queue is empty, all of them, as soon
 * as their last text is closed. Returns how many bytes they had. */
size_t kl__young_free_slabs(kl__young *self);

/* Takes all objects out of the queue; they stay plain. */
void kl__young_deinit(kl__young *self);

#endif
