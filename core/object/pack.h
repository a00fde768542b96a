/*
 * pack.h - compresses the objects of a cache, for caches of many similar ones.
 *
 * 1. A packed object is an object like any other. Its identity can be read at
 *    once. Instead of its text it has a zstd frame and a reference to the
 *    dictionary that the frame was made with; neither ever changes. If it is
 *    of the dictionary's kind, it takes kind and apiVersion from there.
 * 2. The reflecting task packs. It makes each object of a list as usual, and
 *    replaces it by a packed copy before another thread can see it. An object
 *    of a list that the cache already has is not packed again.
 *    An object of a watch is young at first: its text stays plain, apart from
 *    the rest of the object, for young_ms (packer.h). Then it is packed where
 *    it is, when no event waits; readers that have its text open keep the plain
 *    one. If it was replaced or deleted meanwhile, it is never packed: a lease
 *    that is renewed every two seconds, a pod that starts. All young texts of
 *    the process together have at most young_bytes; if that is full, what
 *    comes is packed at once. Before a list all are packed.
 * 3. A dictionary is made of the first objects: of some of their texts, and of
 *    the statistics of all. Objects that were staged before it are packed when
 *    their list is complete. A small cache has no dictionary and its objects
 *    stay plain, as does an object that would not get smaller.
 * 4. When the packed size has grown by half, the dictionary does not fit any
 *    more: a new one is made of the next objects. The old one is freed with the
 *    last object that needs it.
 * 5. Opening an object, or its JSON, unpacks it. All readers that have it open
 *    share that memory, and the last close frees it. The trees of a few objects
 *    that are opened often are kept (object_open.c). The `old` of an update is
 *    unpacked only if it is read.
 * 6. Behind a frame is a checksum of the text (base/checksum.h). If a frame or
 *    a dictionary is damaged, the process ends with a message.
 * 7. Out of memory: the object stays plain, or the reader gets KL_ENOMEM.
 */
#ifndef KL_OBJECT_PACK_H
#define KL_OBJECT_PACK_H

#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zstd dictionary, shared by the objects that were packed with it. */
typedef struct kl__dictionary kl__dictionary;

/* Makes a dictionary. The bytes, the kind and the apiVersion are copied;
 * objects of that kind and apiVersion take both texts from the dictionary. The
 * caller gets a reference. NULL: out of memory. */
kl__dictionary *kl__dictionary_new(const void *bytes, size_t length,
                                   const char *kind, const char *api_version);
/* The kind and the apiVersion that most objects of this dictionary have.
 * Borrowed: valid until the last unref of the dictionary. */
const char *kl__dictionary_kind(const kl__dictionary *dictionary);
const char *kl__dictionary_api_version(const kl__dictionary *dictionary);
kl__dictionary *kl__dictionary_ref(kl__dictionary *dictionary);
/* NULL is fine. */
void kl__dictionary_unref(kl__dictionary *dictionary);

/* A text in its packed form. */
typedef struct kl__packed {
    kl__dictionary *dictionary; /* borrowed */
    const char *frame;          /* the frame of zstd, and the checksum */
    size_t frame_length;
    size_t text_length;
} kl__packed;

/* Returns the text, with eight NULs behind it; owned by the caller (kl__free).
 * NULL: out of memory. Aborts if the checksum does not match. Thread-safe. */
char *kl__unpack(const kl__packed *packed);

/* Packs the objects of one collection and makes dictionaries for them. One
 * thread at a time. */
typedef struct kl__packer kl__packer;

/* Owned by the caller. NULL: no memory. */
kl__packer *kl__packer_new(void);
/* NULL is fine. */
void kl__packer_free(kl__packer *packer);

/*
 * Packs an object. Takes the caller's reference, and returns a reference to the
 * packed object; or to the object itself if it is packed already, would not get
 * smaller, or there is no dictionary or no memory. `crowd`: the number of
 * objects of the cache or list; a dictionary saves memory only if they are
 * many. A NULL packer returns the object.
 */
kl_object *kl__packer_pack(kl__packer *packer, kl_object *object, size_t crowd);

/*
 * As kl__packer_pack, for an object of a watch: keeps it young, and packs it
 * later. `now_ms`: the time on the clock of the caller. If there is no
 * dictionary yet, or no room for young texts, it is as kl__packer_pack.
 */
kl_object *kl__packer_keep_young(kl__packer *packer, kl_object *object,
                                 size_t crowd, int64_t now_ms);

/*
 * Packs young objects that are due, at most `most`, and frees the memory of the
 * texts of others. Returns when it is to be called again: `now_ms` or before if
 * more objects are due; INT64_MAX: not before another object is young. A NULL
 * packer is fine.
 */
int64_t kl__packer_pack_due(kl__packer *packer, int64_t now_ms, size_t most);

/* Packs all young objects now. NULL is fine. */
void kl__packer_pack_all(kl__packer *packer);

/* Call when a list is complete: makes a dictionary of the gathered samples if
 * they are enough, else drops them. NULL is fine. */
void kl__packer_end_list(kl__packer *packer);

#endif
