/*
 * block.h - the struct behind kl_object, one block of memory, for the two files
 * that work on it: object.c makes objects, object_open.c opens them.
 */
#ifndef KL_OBJECT_BLOCK_H
#define KL_OBJECT_BLOCK_H

#include "json/doc.h"
#include "object/object.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What readers of an object share. Guarded by the object's stripe
 * (object_open.c). */
typedef struct kl__opened {
    kl_doc *tree;   /* while the object is open, or kept */
    char *text;     /* of a packed object, while its JSON is open */
    uint32_t opens; /* users of `tree`: kl_object_open */
    uint32_t texts; /* users of `text`: kl_object_json */
} kl__opened;

/* A cache may have a million of them, so each byte counts. */
struct kl_object {
    kl__opened *opened; /* NULL: neither tree nor text. Guarded by the stripe */
    kl__dictionary *dictionary; /* a reference; NULL: the text is plain */
    atomic_uint references;

    /* Constant. The key is at offset 0 of `bytes`. */
    uint32_t frame_length; /* of a packed object */
    uint32_t json_length;
    uint16_t name_space; /* offsets into bytes */
    uint16_t uid;
    uint16_t version;
    uint16_t kind;
    uint16_t api_version;
    uint16_t json; /* offset of the text and a NUL, or of the frame */
    uint8_t is_metadata_only : 1;
    uint8_t is_pruned : 1;
    uint8_t has_usual_kind : 1; /* the dictionary's: not in bytes */

    /* Guarded by the stripe. */
    bool is_warm; /* it was opened before: keep its tree next time */
    char bytes[];
};

/* Allocates an object with `length` bytes: one reference, not open, plain. The
 * caller fills in the rest. NULL: out of memory. */
kl_object *kl__object_new(size_t length);

#endif
