/*
 * packer_young.c - packs the objects of a watch later, when they are due. See
 * pack.h.
 */
#include "object/packer.h"

#include "base/mem.h"
#include "object/object.h"

/* An object that could not be packed is due again after young_ms. */
static int64_t due_after(const kl__packer *self, int64_t now_ms)
{
    int64_t step = self->limits->young_step_ms;

    return (now_ms + self->limits->young_ms + step - 1) / step * step;
}

/* Packs the oldest young object. If it could not be packed, it is tried again
 * later. False: there is none. */
static bool settle_oldest(kl__packer *self, int64_t now_ms)
{
    kl_object *object = kl__young_take(&self->young);

    if (object == NULL) {
        return false;
    }
    if (kl__object_is_shared(object) && !kl__packer_pack_young(self, object)) {
        kl__young_put_back(&self->young, object, due_after(self, now_ms));
        return true;
    }
    kl_object_unref(object);
    return true;
}

kl_object *kl__packer_keep_young(kl__packer *self, kl_object *object,
                                 size_t crowd, int64_t now_ms)
{
    kl__young_room room;
    kl_object *young;

    if (self == NULL || self->writes == NULL || self->limits->young_ms == 0 ||
        kl_object_json_length(object) < self->limits->min_text) {
        return kl__packer_pack(self, object, crowd);
    }
    self->crowd = crowd;
    room =
        (kl__young_room){self->limits->young_slab, self->limits->young_bytes};
    young = kl__young_add(&self->young, object, due_after(self, now_ms), &room);
    if (young == NULL) {
        return kl__packer_pack(self, object, crowd);
    }
    kl_object_unref(object);
    return young;
}

/* Frees the slabs that have no text. If that was a storm, gives the memory
 * back. */
static void free_slabs(kl__packer *self)
{
    self->freed += kl__young_free_slabs(&self->young);
    if (self->freed >= KL__PACK_TRIM && self->young.bytes <= self->freed / 8) {
        self->freed = 0;
        kl__mem_trim();
    }
}

int64_t kl__packer_pack_due(kl__packer *self, int64_t now_ms, size_t most)
{
    int64_t due_ms = self != NULL ? kl__young_due(&self->young) : INT64_MAX;

    if (most == 0 || due_ms > now_ms) {
        return due_ms;
    }
    for (size_t i = 0;
         i < most && due_ms <= now_ms && settle_oldest(self, now_ms); i++) {
        due_ms = kl__young_due(&self->young);
    }
    if (due_ms > now_ms || kl__young_is_empty(&self->young)) {
        free_slabs(self);
        due_ms = kl__young_due(&self->young);
    }
    return due_ms;
}

void kl__packer_pack_all(kl__packer *self)
{
    size_t count = self != NULL ? kl__young_count(&self->young) : 0;

    for (size_t i = 0; i < count; i++) {
        (void)settle_oldest(self, self->young.last_due_ms);
    }
    if (self != NULL) {
        free_slabs(self);
    }
}
