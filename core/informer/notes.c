/*
 * notes.c - see notes.h. While keyed, the notes of one object form a chain; the
 * map has the newest note, and borrows the key from its object.
 */
#include "informer/notes.h"

#include "base/mem.h"

void kl__event_clear(kl_event *event)
{
    kl_object_unref(event->old);
    kl_object_unref(event->object);
    kl__free(event->error);
    *event = (kl_event){0};
}

kl__note *kl__note_new(void)
{
    kl__note *note = kl__calloc(1, sizeof(*note));

    if (note != NULL) {
        kl__list_init(&note->node);
    }
    return note;
}

void kl__note_free(kl__note *note)
{
    if (note != NULL) {
        kl__event_clear(&note->event);
        kl__free(note);
    }
}

void kl__notes_init(kl__notes *notes)
{
    *notes = (kl__notes){0};
    kl__list_init(&notes->list);
}

void kl__notes_deinit(kl__notes *notes)
{
    kl__list *node;

    while ((node = kl__list_shift(&notes->list)) != NULL) {
        kl__note_free(KL__CONTAINER(node, kl__note, node));
    }
    kl__map_deinit(&notes->keys);
    kl__notes_init(notes);
}

/* The key of the event's object; NULL: the event has no object. */
static const char *key_of(const kl__note *note)
{
    return note->event.object != NULL ? kl_object_key(note->event.object)
                                      : NULL;
}

/* Makes a note the newest of its key. There is room in the map. */
static void link_note(kl__notes *notes, kl__note *note)
{
    const char *key = key_of(note);
    void *former;

    if (key == NULL) {
        return;
    }
    kl__map_put(&notes->keys, key, note, &former);
    note->older = former;
    if (note->older != NULL) {
        note->older->newer = note;
    }
}

bool kl__notes_key(kl__notes *notes, size_t extra)
{
    size_t new_keys = extra + (notes->is_keyed ? 0 : notes->count);

    if (!kl__map_reserve(&notes->keys, new_keys)) {
        return false;
    }
    if (notes->is_keyed) {
        return true;
    }
    notes->is_keyed = true;
    for (kl__list *node = notes->list.next; node != &notes->list;
         node = node->next) {
        link_note(notes, KL__CONTAINER(node, kl__note, node));
    }
    return true;
}

void kl__notes_unkey(kl__notes *notes)
{
    if (!notes->is_keyed) {
        return;
    }
    for (kl__list *node = notes->list.next; node != &notes->list;
         node = node->next) {
        kl__note *note = KL__CONTAINER(node, kl__note, node);

        note->older = NULL;
        note->newer = NULL;
    }
    kl__map_deinit(&notes->keys);
    notes->is_keyed = false;
}

kl__note *kl__notes_find(const kl__notes *notes, const char *key)
{
    return kl__map_get(&notes->keys, key);
}

kl__note **kl__notes_error(kl__notes *notes, const kl_error *error)
{
    return error->code == KL_EUNREADABLE ? &notes->unreadable : &notes->failure;
}

void kl__notes_append(kl__notes *notes, kl__note *note)
{
    kl__list_append(&notes->list, &note->node);
    notes->count++;
    if (note->event.type == KL_EVENT_ERROR) {
        *kl__notes_error(notes, note->event.error) = note;
    }
    if (notes->is_keyed) {
        link_note(notes, note);
    }
}

/* Makes a note the oldest of its key. There is room in the map. */
static void link_oldest(kl__notes *notes, kl__note *note)
{
    const char *key = key_of(note);
    kl__note *oldest = key != NULL ? kl__notes_find(notes, key) : NULL;

    if (oldest == NULL) {
        link_note(notes, note);
        return;
    }
    while (oldest->older != NULL) {
        oldest = oldest->older;
    }
    oldest->older = note;
    note->newer = oldest;
}

void kl__notes_prepend(kl__notes *notes, kl__list *older, size_t count)
{
    while (!kl__list_empty(older)) {
        kl__list *last = older->prev;

        kl__list_remove(last);
        kl__list_append(notes->list.next, last);
        if (notes->is_keyed) {
            link_oldest(notes, KL__CONTAINER(last, kl__note, node));
        }
    }
    notes->count += count;
}

/* Removes a note from the chain of its key. */
static void unlink_note(kl__notes *notes, kl__note *note)
{
    const char *key = key_of(note);

    if (key == NULL) {
        return;
    }
    if (note->older != NULL) {
        note->older->newer = note->newer;
    }
    if (note->newer != NULL) {
        note->newer->older = note->older;
    } else {
        kl__map_remove(&notes->keys, key);
        if (note->older != NULL) {
            kl__map_put(&notes->keys, key_of(note->older), note->older, NULL);
        }
    }
    note->older = NULL;
    note->newer = NULL;
}

void kl__notes_remove(kl__notes *notes, kl__note *note)
{
    if (notes->is_keyed) {
        unlink_note(notes, note);
    }
    if (note->event.type == KL_EVENT_ERROR &&
        *kl__notes_error(notes, note->event.error) == note) {
        *kl__notes_error(notes, note->event.error) = NULL;
    }
    kl__list_remove(&note->node);
    notes->count--;
}

/* Gives a note the event's object; the map borrows its key from the new object.
 */
static void replace_object(kl__notes *notes, kl__note *note, kl_event *event)
{
    kl_object *former = note->event.object;

    note->event.object = event->object;
    event->object = NULL;
    kl__map_put(&notes->keys, key_of(note), note, NULL);
    kl_object_unref(former);
}

static void merge_update(kl__notes *notes, kl__note *last, kl_event *event)
{
    replace_object(notes, last, event);
    last->event.resync = false; /* a resync becomes a real update */
}

static void merge_delete(kl__notes *notes, kl__note *last, kl_event *event)
{
    replace_object(notes, last, event);
    kl_object_unref(last->event.old);
    last->event.old = NULL;
    last->event.type = KL_EVENT_DELETE;
    last->event.resync = false;
    last->event.unknown = event->unknown;
    last->event.left_shard = event->left_shard;
}

/*
 * What waits, unseen by the handler | what comes  | what the handler gets
 * ----------------------------------+-------------+---------------------------
 * add(1)                            | update(1,2) | add(2), initial as before
 * add(1)                            | delete(2)   | nothing
 * update(1,2)                       | update(2,3) | update(1,3)
 * update(1,2)                       | delete(3)   | delete(3)
 * update(1,1), a resync             | update(1,2) | update(1,2), not a resync
 * update(1,1), a resync             | delete(2)   | delete(2)
 * delete(1)                         | add(2)      | delete(1), add(2)
 * anything                          | a resync    | as before (listener.c)
 *
 * The indexer reports a changed UID as a delete and an add, so no row mixes two
 * objects. Other combinations cannot occur: the indexer never adds a key that
 * it has.
 */
bool kl__notes_merge(kl__notes *notes, kl_event *event, kl__note **unseen)
{
    kl__note *last = kl__notes_find(notes, kl_object_key(event->object));

    *unseen = NULL;
    if (last == NULL || last->event.type == KL_EVENT_DELETE ||
        event->type == KL_EVENT_ADD) {
        return false;
    }
    if (event->type == KL_EVENT_UPDATE) {
        merge_update(notes, last, event);
    } else if (last->event.type == KL_EVENT_ADD) {
        kl__notes_remove(notes, last);
        *unseen = last;
    } else {
        merge_delete(notes, last, event);
    }
    kl__event_clear(event);
    return true;
}
