/*
 * young.c - see young.h.
 */
#include "object/young.h"

#include "base/thread.h"
#include "object/block.h"

/* How many of the oldest slabs are looked at for one without a text; a reader
 * may have a text of the first ones open for long. */
enum { REUSE_TRIES = 4 };

/* Guards the links of all queues: an object leaves its queue on the thread that
 * drops its last reference. The same rank as the stripes of objects, and never
 * locked together with one. */
static kl__mutex links = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_OBJECT};

__attribute__((constructor)) static void keep_links_over_fork(void)
{
    kl__mutex_outlive_fork(&links, 1);
}

static kl__youth *youth_of(kl__list *node)
{
    return KL__CONTAINER(node, kl__youth, node);
}

void kl__youth_leave(kl__youth *youth)
{
    kl__mutex_lock(&links);
    kl__list_remove(&youth->node);
    kl__mutex_unlock(&links);
}

void kl__young_init(kl__young *self)
{
    *self = (kl__young){0};
    kl__list_init(&self->objects);
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

/* Makes a young object the newest of the queue. */
static void append(kl__young *self, kl_object *object, int64_t due_ms)
{
    kl__youth *youth = (kl__youth *)object->opened;

    kl__mutex_lock(&links);
    youth->due_ms = due_ms;
    kl__list_append(&self->objects, &youth->node);
    kl__mutex_unlock(&links);
    self->last_due_ms = due_ms;
}

kl_object *kl__young_add(kl__young *self, const kl_object *object,
                         int64_t due_ms, const kl__young_room *room)
{
    kl_object *copy = copy_object(self, object, room);

    if (copy != NULL) {
        append(self, copy, due_ms);
    }
    return copy;
}

int64_t kl__young_due(kl__young *self)
{
    int64_t due_ms = self->oldest != NULL ? self->last_due_ms : INT64_MAX;

    kl__mutex_lock(&links);
    if (!kl__list_empty(&self->objects)) {
        due_ms = youth_of(self->objects.next)->due_ms;
    }
    kl__mutex_unlock(&links);
    return due_ms;
}

bool kl__young_is_empty(kl__young *self)
{
    bool is_empty;

    kl__mutex_lock(&links);
    is_empty = kl__list_empty(&self->objects);
    kl__mutex_unlock(&links);
    return is_empty;
}

size_t kl__young_count(kl__young *self)
{
    size_t count = 0;

    kl__mutex_lock(&links);
    for (kl__list *node = self->objects.next; node != &self->objects;
         node = node->next) {
        count++;
    }
    kl__mutex_unlock(&links);
    return count;
}

kl_object *kl__young_take(kl__young *self)
{
    kl_object *object = NULL;
    kl__list *node;

    kl__mutex_lock(&links);
    /* An object that gets no reference is about to leave on another thread. */
    while (object == NULL && (node = kl__list_shift(&self->objects)) != NULL) {
        object = youth_of(node)->object;
        if (!kl__object_try_ref(object)) {
            object = NULL;
        }
    }
    kl__mutex_unlock(&links);
    return object;
}

void kl__young_put_back(kl__young *self, kl_object *object, int64_t due_ms)
{
    append(self, object, due_ms);
    kl_object_unref(object);
}

size_t kl__young_free_slabs(kl__young *self)
{
    bool is_last = kl__young_is_empty(self);
    size_t before = self->bytes;
    kl__text_slab *previous = NULL;
    kl__text_slab *slab = self->oldest;

    while (slab != NULL) {
        kl__text_slab *next = *kl__text_slab_next(slab);

        if (is_last || kl__text_slab_empty(slab)) {
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
    kl__mutex_lock(&links);
    while (kl__list_shift(&self->objects) != NULL) {
    }
    kl__mutex_unlock(&links);
    kl__young_free_slabs(self);
}
