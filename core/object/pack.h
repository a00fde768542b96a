/*
 * pack.h - objects that rest compressed, for caches of many that are alike.
 *
 * 1. A packed object is an object like any other. Its identity is readable at
 *    once; in place of its text it has a zstd frame and a reference to the
 *    dictionary that the frame was made with. Neither ever changes.
 * 2. The reflector packs: each object of a list or watch is parsed as ever, and
 *    its packed copy takes its place before another thread can see it. A list
 *    that the cache has already is not packed again.
 * 3. A dictionary is made of the first objects: some of their texts, and the
 *    statistics of all. The objects that were staged before it are packed when
 *    their list is complete. Small caches have no dictionary and stay plain, as
 *    does an object that would not get smaller.
 * 4. When what is packed gets half as large again as it was, the dictionary
 *    does not fit any more: another one is made of the next objects. The former
 *    one lives for as long as an object that needs it.
 * 5. Opening an object, or its JSON, unpacks into memory that all readers
 *    share and the last one frees; the trees of a few objects that are
 *    opened again and again are kept (object.c). `old` is unpacked if it is
 *    read.
 * 6. A frame has a checksum of the text: what is damaged, be it the frame or
 *    the dictionary, ends the process with a message.
 * 7. Without memory an object stays plain, and a reader has KL_ENOMEM.
 */
#ifndef KL_OBJECT_PACK_H
#define KL_OBJECT_PACK_H

#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>

/* What unpacks, shared by the objects that need it. */
typedef struct kl__dictionary kl__dictionary;

/* Copies the bytes of a zstd dictionary; one reference. NULL: no memory. */
kl__dictionary *kl__dictionary_new(const void *bytes, size_t length);
kl__dictionary *kl__dictionary_ref(kl__dictionary *dictionary);
/* NULL is fine. */
void kl__dictionary_unref(kl__dictionary *dictionary);

/* A text in its packed form. */
typedef struct kl__packed {
    kl__dictionary *dictionary; /* borrowed */
    const char *frame;
    size_t frame_length;
    size_t text_length;
} kl__packed;

/* The text, with eight NULs behind it; the caller owns it (kl__free). NULL: no
 * memory. Aborts if the text is not the one that was packed. Thread-safe. */
char *kl__unpack(const kl__packed *packed);

/* Packs the objects of one collection, and makes the dictionaries for it. Of
 * one thread at a time. */
typedef struct kl__packer kl__packer;

/* Owned by the caller. NULL: no memory. */
kl__packer *kl__packer_new(void);
/* NULL is fine. */
void kl__packer_free(kl__packer *packer);

/*
 * Takes a reference to the object, and gives one to its packed form; or to the
 * object itself, where it is packed already or is better plain, there is no
 * dictionary yet, or no memory. `crowd` is how many objects the cache or list
 * has: only many are worth a dictionary. A NULL packer gives the object.
 */
kl_object *kl__packer_pack(kl__packer *packer, kl_object *object, size_t crowd);

/* A list is complete: makes a dictionary of what was gathered, if that is
 * enough, or forgets it. NULL is fine. */
void kl__packer_end_list(kl__packer *packer);

#endif
