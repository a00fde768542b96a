/*
 * object_young.c - what changes about an object after it was made: a young one
 * is packed where it is (pack.h), while others may read it. See block.h.
 */
#include "object/block.h"

#include "base/mem.h"
#include "base/thread.h"

#include <stddef.h>
#include <string.h>

bool kl__object_pack(kl_object *object, const kl__packed *packed)
{
    char *frame = kl__malloc(packed->frame_length);
    kl__mutex *stripe = kl__object_stripe(object);

    if (frame == NULL) {
        return false;
    }
    memcpy(frame, packed->frame, packed->frame_length);
    kl__dictionary_ref(packed->dictionary);
    kl__mutex_lock(stripe);
    memcpy(object->bytes + object->json, &frame, sizeof(frame));
    object->frame_length = (uint32_t)packed->frame_length;
    object->dictionary = packed->dictionary;
    kl__mutex_unlock(stripe);
    return true;
}

bool kl__object_leave_slab(kl_object *object)
{
    size_t size = (size_t)object->json_length + 1;
    kl__mutex *stripe = kl__object_stripe(object);
    kl__opened *opened = object->opened; /* it stays while the text is open */
    char *text = kl__malloc(size);
    kl__text_slab *slab = NULL;
    bool has_left;

    if (text == NULL) {
        return false;
    }
    memcpy(text, opened->text, size);
    kl__mutex_lock(stripe);
    has_left = opened->texts == 1;
    if (has_left) {
        slab = opened->slab;
        opened->text = text;
        opened->slab = NULL;
    }
    kl__mutex_unlock(stripe);
    kl__text_slab_unref(slab);
    if (!has_left) {
        kl__free(text);
    }
    return has_left;
}

/* The dictionary and the length of the frame, of any object. */
static kl__dictionary *read_dictionary(const kl_object *object,
                                       size_t *frame_length)
{
    kl__mutex *stripe = object->is_apart ? kl__object_stripe(object) : NULL;
    kl__dictionary *dictionary;

    if (stripe != NULL) {
        kl__mutex_lock(stripe);
    }
    dictionary = object->dictionary;
    *frame_length = object->frame_length;
    if (stripe != NULL) {
        kl__mutex_unlock(stripe);
    }
    return dictionary;
}

bool kl__object_is_packed(const kl_object *object)
{
    size_t frame_length;

    return read_dictionary(object, &frame_length) != NULL;
}

size_t kl_object_bytes(const kl_object *object)
{
    size_t head = offsetof(kl_object, bytes) + object->json;
    size_t frame_length;

    head += object->is_apart ? sizeof(char *) : 0;
    return read_dictionary(object, &frame_length) != NULL
               ? head + frame_length
               : head + object->json_length + 1;
}
