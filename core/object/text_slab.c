/*
 * text_slab.c - see text_slab.h.
 */
#include "object/text_slab.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

struct kl__text_slab {
    atomic_uint references;
    size_t room;
    size_t used;
    kl__text_slab *next;
    char bytes[];
};

/* The bytes of all slabs. Relaxed: a number that nothing else depends on. */
static atomic_size_t total;

kl__text_slab *kl__text_slab_new(size_t room, size_t budget)
{
    kl__text_slab *slab = NULL;

    if (atomic_fetch_add_explicit(&total, room, memory_order_relaxed) + room <=
        budget) {
        slab = kl__malloc(sizeof(*slab) + room);
    }
    if (slab == NULL) {
        atomic_fetch_sub_explicit(&total, room, memory_order_relaxed);
        return NULL;
    }
    atomic_init(&slab->references, 1);
    slab->room = room;
    slab->used = 0;
    slab->next = NULL;
    return slab;
}

char *kl__text_slab_add(kl__text_slab *slab, const char *text, size_t length)
{
    char *copy = slab->bytes + slab->used;

    if (length >= slab->room - slab->used) {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    slab->used += length + 1;
    /* Relaxed: the caller holds a reference already. */
    atomic_fetch_add_explicit(&slab->references, 1, memory_order_relaxed);
    return copy;
}

bool kl__text_slab_empty(kl__text_slab *slab)
{
    /* Acquire: the reads of all threads that have dropped their reference come
     * before the next text is written. */
    if (atomic_load_explicit(&slab->references, memory_order_acquire) > 1) {
        return false;
    }
    slab->used = 0;
    return true;
}

void kl__text_slab_unref(kl__text_slab *slab)
{
    /* Release: this thread's reads come before the free. Acquire: so do the
     * reads of all threads that have dropped their reference before. */
    if (slab == NULL || atomic_fetch_sub_explicit(&slab->references, 1,
                                                  memory_order_acq_rel) > 1) {
        return;
    }
    atomic_fetch_sub_explicit(&total, slab->room, memory_order_relaxed);
    kl__free(slab);
}

kl__text_slab **kl__text_slab_next(kl__text_slab *slab)
{
    return &slab->next;
}

size_t kl__text_slab_room(const kl__text_slab *slab)
{
    return slab->room;
}

size_t kl__text_slab_total(void)
{
    return atomic_load_explicit(&total, memory_order_relaxed);
}
