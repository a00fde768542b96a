/*
 * block.h - the struct behind kl_object, one block of memory. object.c makes
 * objects, object_open.c opens them and packs young ones where they are,
 * young.c has the queue of young ones.
 */
#ifndef KL_OBJECT_BLOCK_H
#define KL_OBJECT_BLOCK_H

#include "base/list.h"
#include "base/thread.h"
#include "json/doc.h"
#include "object/object.h"
#include "object/text_slab.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What readers of an object share. Guarded by the object's stripe
 * (object_open.c). */
typedef struct kl__opened {
    kl_doc *tree; /* while the object is open, or kept */
    /* Of a packed object, while its JSON is open; of an object that is apart,
     * as long as it is not packed. */
    char *text;
    kl__text_slab *slab; /* a reference; `text` is in there; NULL: it is
                              allocated by itself */
    uint32_t opens;      /* users of `tree`: kl_object_open */
    uint32_t texts;      /* users of `text`: kl_object_json */
    bool is_young;       /* constant: it is in a kl__youth */
} kl__opened;

/* What a young object has in place of a kl__opened: its node in the queue of
 * young objects (young.h). The queue has no reference: an object that is
 * replaced is freed at once, and leaves the queue. */
typedef struct kl__youth {
    kl__opened opened; /* the first member: it is freed as a kl__opened */
    kl_object *object; /* constant */
    kl__list node;     /* guarded by the mutex of young.c */
    int64_t due_ms;    /* the same */
} kl__youth;

/* A cache may have a million of them, so each byte counts. */
struct kl_object {
    kl__opened *opened; /* NULL: neither tree nor text. Guarded by the stripe */
    /* A reference; NULL: the text is plain. This, frame_length and the pointer
     * to the frame are constant, but of an object that is apart they are set
     * once, and guarded by the stripe until then. */
    kl__dictionary *dictionary;
    atomic_uint references;
    uint32_t frame_length; /* of a packed object */

    /* Constant. The key is at offset 0 of `bytes`. */
    uint32_t json_length;
    uint16_t name_space; /* offsets into bytes */
    uint16_t uid;
    uint16_t version;
    uint16_t kind;
    uint16_t api_version;
    uint16_t json; /* offset of the text and a NUL, or of the frame; or of the
                      pointer to the frame */
    uint8_t is_metadata_only : 1;
    uint8_t is_pruned : 1;
    uint8_t has_usual_kind : 1; /* the dictionary's: not in bytes */
    /* The text and the frame are not in `bytes`: a young object, or one that
     * was young. The text is in `opened`; `bytes` has a pointer to the frame,
     * which belongs to the object. */
    uint8_t is_apart : 1;

    uint8_t : 0; /* what follows is other memory, also for the threads */

    /* Guarded by the stripe. */
    uint8_t is_warm : 1;     /* it was opened before: keep its tree next time */
    uint8_t is_distinct : 1; /* it is known that no name is there twice */
    char bytes[];
};

/* Allocates an object with `length` bytes: one reference, not open, plain. The
 * caller fills in the rest. NULL: out of memory. */
kl_object *kl__object_new(size_t length);

/* The frame of a packed object. Borrowed from the object. */
const char *kl__object_frame(const kl_object *object);

/* In young.c, for the last unref of an object that was made young. */
void kl__youth_leave(kl__youth *youth);

#endif
