/*
 * notes.h - the events of one listener, oldest first, and the rules by which
 * two events of one object are merged into one. The Lua module says "coalesced"
 * for merged. A C handler with the option `every_change` gets no merged events.
 * The list has no lock: the listener's lock guards it.
 */
#ifndef KL_INFORMER_NOTES_H
#define KL_INFORMER_NOTES_H

#include "base/list.h"
#include "base/map.h"
#include "kubelua/handler.h"

/* An event that waits. */
typedef struct kl__note {
    kl__list node;
    kl_event event;
    /* While the notes are keyed: the previous and next note of the same key. */
    struct kl__note *older;
    struct kl__note *newer;
    /* How often its listener had been marked when it was appended. */
    unsigned mark;
} kl__note;

/* Drops the references of an event, and zeroes it. */
void kl__event_clear(kl_event *event);

/* New makes an empty note; NULL: out of memory. Free drops its references,
 * too. */
kl__note *kl__note_new(void);
void kl__note_free(kl__note *note);

typedef struct kl__notes {
    kl__list list;
    size_t count;
    kl__map keys; /* while keyed: the newest note of each key */
    bool is_keyed;
    /* The newest errors that wait, or NULL: that an object cannot be read, and
     * of the informer. */
    kl__note *unreadable;
    kl__note *failure;
} kl__notes;

void kl__notes_init(kl__notes *notes);
/* Frees all notes. */
void kl__notes_deinit(kl__notes *notes);

/* Builds the index by key, with room for `extra` more notes; O(notes) the first
 * time. False: out of memory, nothing has changed. */
bool kl__notes_key(kl__notes *notes, size_t extra);
/* Drops the index; O(notes). */
void kl__notes_unkey(kl__notes *notes);
/* The newest note of that key, or NULL. Only while keyed. */
kl__note *kl__notes_find(const kl__notes *notes, const char *key);

/* The one of the two that an error belongs to. */
kl__note **kl__notes_error(kl__notes *notes, const kl_error *error);

/* Appends the note and owns it. While keyed, room was made before. */
void kl__notes_append(kl__notes *notes, kl__note *note);
/* Puts notes before all that wait, and owns them. While keyed, room was made
 * before. */
void kl__notes_prepend(kl__notes *notes, kl__list *older, size_t count);
/* Removes a note; the caller owns it. */
void kl__notes_remove(kl__notes *notes, kl__note *note);

/*
 * Merges an event into the newest note of its object; only while keyed. True:
 * merged, and the event is empty. If the add was still waiting and this is its
 * delete, both vanish, and `unseen` gets the note of the add (else NULL).
 * False: no note to merge with.
 */
bool kl__notes_merge(kl__notes *notes, kl_event *event, kl__note **unseen);

#endif
