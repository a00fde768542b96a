/*
 * reflector_stage.h - a list that is still coming in, paged or streamed. It
 * becomes visible as a whole, as one Replaced delta, or not at all.
 */
#ifndef KL_INFORMER_REFLECTOR_STAGE_H
#define KL_INFORMER_REFLECTOR_STAGE_H

#include "base/map.h"
#include "cache/indexer.h"
#include "object/pack.h"

/* Zeroed: empty. */
typedef struct kl__stage {
    kl_object **items; /* NULL where one was removed; references */
    size_t count;
    size_t capacity;
    size_t bytes;       /* of objects, since memory was asked for ahead */
    kl__map places;     /* key -> index + 1, as a pointer; keys of the items */
    kl__indexer *known; /* borrowed, may be NULL: see put */
    kl__packer *packer; /* borrowed, of what is put; NULL: it stays plain */
    bool by_text;       /* a version may be of another write than before */
} kl__stage;

/*
 * Takes the object, also when it fails (false: out of memory). An object with
 * the key of an earlier one replaces it in its place. Where the cache `known`
 * has the same version of the same object (and, with `by_text`, the same text),
 * the cache's one is staged and the copy dropped: a relist costs the memory of
 * what changed (reference K-3). Another one is packed.
 */
bool kl__stage_put(kl__stage *stage, kl_object *object);

/* Removes a key, if it is there. */
void kl__stage_remove(kl__stage *stage, const char *key);

/* The list is complete. Packs the objects that came before there was a
 * dictionary for them. */
void kl__stage_finish(kl__stage *stage);

/* Moves all objects, in the order in which they came, into `list` (empty); the
 * stage is empty afterwards. */
void kl__stage_take(kl__stage *stage, kl_object_list *list);

/* Drops everything. */
void kl__stage_clear(kl__stage *stage);

/*
 * What a fuzzy snapshot knows better than the watch that follows it. When the
 * token of a paged list has expired, its later pages are newer than the version
 * of the first page, from which the watch begins (reference 5.4): for a while
 * it tells of changes that the snapshot has gone beyond. Zeroed: knows nothing.
 */
typedef struct kl__ahead {
    kl__map objects; /* key -> object (a reference) of a later page */
    char until[64];  /* the greatest version among them, and of the pages */
} kl__ahead;

/* Notes an object of a later page, if it is newer than `version`. False: out of
 * memory. */
bool kl__ahead_note(kl__ahead *ahead, kl_object *object, const char *version);

/* Notes that the snapshot reaches as far as `version`, by what it lacks too. */
void kl__ahead_reach(kl__ahead *ahead, const char *version);

/* True if an event about `key` at `version` is history that the snapshot
 * already contains. Forgets everything once the watch is past `until`. */
bool kl__ahead_covers(kl__ahead *ahead, const char *key, const char *version);

/* Forgets everything. */
void kl__ahead_clear(kl__ahead *ahead);

#endif
