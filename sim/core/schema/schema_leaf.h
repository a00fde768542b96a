/*
 * schema_leaf.h - checks a scalar value by its schema, with the messages of
 * Go's decoders; and makes its canonical form.
 */
#ifndef KL_SCHEMA_SCHEMA_LEAF_H
#define KL_SCHEMA_SCHEMA_LEAF_H

#include "base/buf.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

typedef enum kl__leaf {
    KL__LEAF_FITS,
    KL__LEAF_TYPE, /* the type is wrong; `*go`, if set, is the right one */
    KL__LEAF_TEXT  /* the text is malformed; `why` says how */
} kl__leaf;

/* Checks a value that is not null. When memory runs out, `why` keeps the
 * failure. */
kl__leaf kl__leaf_fits(const kl__node *value, const kl__schema *schema,
                       kl__buf *why, const char **go);

/* Appends Go's words for a value of the wrong type: "string", "number 1.5". */
void kl__leaf_put_found(kl__buf *out, const kl__node *value,
                        const kl__schema *schema);

/* The canonical form of a value (quantity, time, bytes): a node of `edit`, or
 * `value` itself. NULL: out of memory. */
kl__node *kl__leaf_canonical(kl__edit *edit, kl__node *value,
                             const kl__schema *schema);

/* A new node with the bytes of `text` in base64; NULL: out of memory. */
kl__node *kl__leaf_base64(kl__edit *edit, const kl__node *text);

#endif
