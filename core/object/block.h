/*
 * block.h - an object's one block of memory, for the files that make it and
 * open it: object.c, object_open.c.
 */
#ifndef KL_OBJECT_BLOCK_H
#define KL_OBJECT_BLOCK_H

#include "json/doc.h"
#include "object/object.h"

#include <stdatomic.h>
#include <stdint.h>

/* Offsets are 32 bits wide: a cache holds hundreds of thousands of objects. */
struct kl_object {
    /* Guarded by the object's stripe (object_open.c). */
    kl_doc *tree;         /* while it is open, or kept */
    char *text;           /* of a packed object, while its JSON is open */
    uint32_t opens : 31;  /* of the tree */
    uint32_t is_warm : 1; /* it was open before: keep its tree next time */
    uint32_t texts;       /* opens of the JSON, where it is packed */

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
    uint32_t json; /* the text and a NUL, or its frame */
    uint32_t json_length : 31;
    uint32_t is_metadata_only : 1;
    char bytes[];
};

/* Memory for one with `length` bytes behind the struct: one reference, not
 * open, plain; the rest of it is for the caller to fill. NULL: no memory. */
kl_object *kl__object_new(size_t length);

#endif
