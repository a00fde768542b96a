/*
 * reflector_stage.h - a list, paged or streamed, that is still coming in. It
 * becomes visible as a whole, as one Replaced delta, or not at all.
 */
#ifndef KL_INFORMER_REFLECTOR_STAGE_H
#define KL_INFORMER_REFLECTOR_STAGE_H

#include "base/map.h"
#include "base/table.h"
#include "cache/indexer.h"
#include "object/pack.h"

/* Zeroed: empty. */
typedef struct kl__stage {
    kl_object **items; /* references; NULL: was removed */
    size_t count;
    size_t capacity;
    size_t bytes;     /* bytes of objects since kl__mem_ahead was called last */
    kl__table places; /* index + 1, as a pointer, by the item's key */
    kl__indexer *known; /* borrowed; may be NULL; see kl__stage_put */
    kl__packer *packer; /* borrowed; packs the objects; NULL: they stay plain */
    kl__unreadables unreadable; /* of the list, too */
    bool by_text; /* compare texts too: after a restore, the same version may be
                     another write */
} kl__stage;

/*
 * Adds an object and takes it, also when it fails (false: out of memory). An
 * object with the same key is replaced in its place. If the cache `known` has
 * the same version of the same object (with `by_text`: and the same text), the
 * cached one is used and the new copy dropped: so a relist needs memory only
 * for what changed. Other objects are packed.
 */
bool kl__stage_put(kl__stage *stage, kl_object *object);

/* Adds an object that cannot be read, in place of one with the same key, and
 * takes it, also when it fails (false: out of memory). */
bool kl__stage_put_unreadable(kl__stage *stage, kl__unreadable *unreadable);

/* Removes the object of a key, if there is one. */
void kl__stage_remove(kl__stage *stage, const char *key);

/* Called when the list is complete: packs the objects that came before there
 * was a dictionary for them. */
void kl__stage_finish(kl__stage *stage);

/* Moves all into `listed` (empty), objects in the order in which they came; the
 * stage is empty afterwards. */
void kl__stage_take(kl__stage *stage, kl__listed *listed);

/* Drops everything. */
void kl__stage_clear(kl__stage *stage);

/*
 * The objects of a list that are newer than its version. If the token of a
 * paged list has expired, its later pages are newer than the first page's
 * version, from which the watch begins (docs/KUBERNETES.md#expired-token). So
 * at first the watch sends changes that the list already contains; this finds
 * them. Zeroed: none.
 */
typedef struct kl__ahead {
    kl__map objects; /* key -> object (a reference) of a later page */
    char until[64];  /* the greatest version of these objects and pages */
} kl__ahead;

/* Notes an object of a later page, if it is newer than `version`. False: out of
 * memory. */
bool kl__ahead_note(kl__ahead *ahead, kl_object *object, const char *version);

/* Notes that the list contains all changes up to `version`. */
void kl__ahead_reach(kl__ahead *ahead, const char *version);

/* True if the list already contains an event about `key` at `version`. Forgets
 * everything once the watch is past `until`. */
bool kl__ahead_covers(kl__ahead *ahead, const char *key, const char *version);

/* Forgets everything. */
void kl__ahead_clear(kl__ahead *ahead);

#endif
