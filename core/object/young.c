/*
 * young.c - see young.h.
 */
#include "object/young.h"

#include "base/mem.h"
#include "object/object.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 64,
    /* How many of the oldest slabs are looked at for one without a text; a
     * reader may have a text of the first ones open for long. */
    REUSE_TRIES = 4
};

static bool grow_entries(kl__young *self)
{
    size_t capacity = self->capacity != 0 ? self->capacity * 2 : FIRST_CAPACITY;
    kl__young_entry *entries;

    if (self->count < self->capacity) {
        return true;
    }
    entries = kl__malloc(capacity * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < self->count; i++) {
        entries[i] = self->entries[(self->first + i) & (self->capacity - 1)];
    }
    kl__free(self->entries);
    self->entries = entries;
    self->capacity = capacity;
    self->first = 0;
    return true;
}

static void append_slab(kl__young *self, kl__text_slab *slab)
{
    *kl__text_slab_next(slab) = NULL;
    if (self->newest != NULL) {
        *kl__text_slab_next(self->newest) = slab;
    } else {
        self->oldest = slab;
    }
    self->newest = slab;
    self->bytes += kl__text_slab_room(slab);
}

/* Takes a slab out of the list; `previous`: the one before it, or NULL. */
static void remove_slab(kl__young *self, kl__text_slab *previous,
                        kl__text_slab *slab)
{
    kl__text_slab *next = *kl__text_slab_next(slab);

    if (previous != NULL) {
        *kl__text_slab_next(previous) = next;
    } else {
        self->oldest = next;
    }
    if (self->newest == slab) {
        self->newest = previous;
    }
    self->bytes -= kl__text_slab_room(slab);
}

/* Makes an old slab without a text the newest. False: found none. */
static bool reuse_slab(kl__young *self)
{
    kl__text_slab *previous = NULL;
    kl__text_slab *slab = self->oldest;

    for (int i = 0; slab != NULL && i < REUSE_TRIES; i++) {
        if (kl__text_slab_empty(slab)) {
            remove_slab(self, previous, slab);
            append_slab(self, slab);
            return true;
        }
        previous = slab;
        slab = *kl__text_slab_next(slab);
    }
    return false;
}

static bool add_slab(kl__young *self, size_t room, size_t budget)
{
    kl__text_slab *slab = kl__text_slab_new(room, budget);

    if (slab != NULL) {
        append_slab(self, slab);
    }
    return slab != NULL;
}

static kl_object *copy_object(kl__young *self, const kl_object *object,
                              const kl__young_room *room)
{
    size_t needed = kl_object_json_length(object) + 1;
    kl_object *copy = NULL;

    if (self->newest != NULL) {
        kl__text_slab_empty(self->newest); /* if it has no text any more */
        copy = kl__object_copy_young(object, self->newest);
    }
    if (copy == NULL && needed <= room->slab && reuse_slab(self)) {
        copy = kl__object_copy_young(object, self->newest);
    }
    if (copy == NULL &&
        add_slab(self, needed > room->slab ? needed : room->slab,
                 room->total)) {
        copy = kl__object_copy_young(object, self->newest);
    }
    return copy;
}

static void push_entry(kl__young *self, kl_object *object, int64_t due_ms)
{
    size_t at = (self->first + self->count) & (self->capacity - 1);

    self->entries[at] = (kl__young_entry){object, due_ms};
    self->count++;
}

kl_object *kl__young_add(kl__young *self, const kl_object *object,
                         int64_t due_ms, const kl__young_room *room)
{
    kl_object *copy =
        grow_entries(self) ? copy_object(self, object, room) : NULL;

    if (copy != NULL) {
        push_entry(self, kl_object_ref(copy), due_ms);
    }
    return copy;
}

const kl__young_entry *kl__young_oldest(const kl__young *self)
{
    return self->count > 0 ? &self->entries[self->first] : NULL;
}

kl_object *kl__young_take(kl__young *self)
{
    kl_object *object = self->entries[self->first].object;

    self->first = (self->first + 1) & (self->capacity - 1);
    self->count--;
    return object;
}

void kl__young_put_back(kl__young *self, kl_object *object, int64_t due_ms)
{
    push_entry(self, object, due_ms);
}

size_t kl__young_free_slabs(kl__young *self)
{
    size_t before = self->bytes;
    kl__text_slab *previous = NULL;
    kl__text_slab *slab = self->oldest;

    while (slab != NULL) {
        kl__text_slab *next = *kl__text_slab_next(slab);

        if (kl__text_slab_empty(slab)) {
            remove_slab(self, previous, slab);
            kl__text_slab_unref(slab);
        } else {
            previous = slab;
        }
        slab = next;
    }
    return before - self->bytes;
}

void kl__young_deinit(kl__young *self)
{
    while (self->count > 0) {
        kl_object_unref(kl__young_take(self));
    }
    while (self->oldest != NULL) {
        kl__text_slab *slab = self->oldest;

        remove_slab(self, NULL, slab);
        kl__text_slab_unref(slab);
    }
    kl__free(self->entries);
    *self = (kl__young){0};
}
