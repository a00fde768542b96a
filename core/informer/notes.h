/*
 * notes.h - the events that wait for one handler, oldest first, and the rule by
 * which two events of one object become one. No lock of its own.
 */
#ifndef KL_INFORMER_NOTES_H
#define KL_INFORMER_NOTES_H

#include "base/list.h"
#include "base/map.h"
#include "kubelua/handler.h"

/* One event that waits. */
typedef struct kl__note {
    kl__list node;
    kl_event event;
    /* While the notes are keyed: the neighbours of the same key. */
    struct kl__note *older;
    struct kl__note *newer;
} kl__note;

/* Drops what an event holds, and zeroes it. */
void kl__event_clear(kl_event *event);

/* An empty note, NULL when out of memory; and its end with what it holds. */
kl__note *kl__note_new(void);
void kl__note_free(kl__note *note);

typedef struct kl__notes {
    kl__list list;
    size_t count;
    kl__map keys; /* while keyed: key -> its newest note */
    bool is_keyed;
    kl__note *error; /* the newest error that waits, or NULL */
} kl__notes;

void kl__notes_init(kl__notes *notes);
/* Frees all notes. */
void kl__notes_deinit(kl__notes *notes);

/* Makes notes findable by key, with room for `extra` more; O(notes) the first
 * time. False: out of memory, and as before. */
bool kl__notes_key(kl__notes *notes, size_t extra);
/* Undoes that; O(notes). */
void kl__notes_unkey(kl__notes *notes);
/* The newest note of that key, or NULL; while keyed. */
kl__note *kl__notes_find(const kl__notes *notes, const char *key);

/* Takes the note; while keyed, there must be room for it. */
void kl__notes_append(kl__notes *notes, kl__note *note);
/* Takes notes that are older than all that wait; while keyed, there must be
 * room for them. */
void kl__notes_prepend(kl__notes *notes, kl__list *older, size_t count);
/* Removes a note, for its taker. */
void kl__notes_remove(kl__notes *notes, kl__note *note);

/*
 * Merges an event into the newest note of its object, while keyed. True: done,
 * and the event is empty; `unseen` gets the note (or NULL) that went because it
 * and the event cancel each other out. False: there is nothing to merge with.
 */
bool kl__notes_merge(kl__notes *notes, kl_event *event, kl__note **unseen);

#endif
