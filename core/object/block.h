/*
 * block.h - the struct behind kl_object, one block of memory, for the two files
 * that work on it: object.c makes objects, object_open.c opens them.
 */
#ifndef KL_OBJECT_BLOCK_H
#define KL_OBJECT_BLOCK_H

#include "json/doc.h"
#include "object/object.h"

#include <stdatomic.h>
#include <stdint.h>

/* Offsets have 32 bits to save memory: a cache may have hundreds of thousands
 * of objects. */
struct kl_object {
    /* Guarded by the object's stripe (object_open.c). */
    kl_doc *tree;         /* while the object is open, or kept */
    char *text;           /* of a packed object, while its JSON is open */
    uint32_t opens : 31;  /* users of the tree: kl_object_open */
    uint32_t is_warm : 1; /* it was opened before: keep its tree next time */
    uint32_t texts;       /* users of `text`: kl_object_json */

    atomic_uint references;

    /* Constant. */
    uint32_t frame_length;      /* of a packed object */
    kl__dictionary *dictionary; /* a reference; NULL: the text is plain */
    uint32_t name;              /* offsets into bytes; the key is at 0 */
    uint32_t name_space;
    uint32_t uid;
    uint32_t version;
    uint32_t kind;
    uint32_t api_version : 31;
    uint32_t is_pruned : 1;
    uint32_t json; /* offset of the text and a NUL, or of the frame */
    uint32_t json_length : 31;
    uint32_t is_metadata_only : 1;
    char bytes[];
};

/* Allocates an object with `length` bytes behind the struct: one reference, not
 * open, plain. The caller fills in the rest. NULL: out of memory. */
kl_object *kl__object_new(size_t length);

#endif
