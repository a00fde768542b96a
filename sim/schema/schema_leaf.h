/*
 * schema_leaf.h - scalar values: checks one by its schema, in the words of Go's
 * decoders, and finds its canonical form.
 */
#ifndef KL_SCHEMA_SCHEMA_LEAF_H
#define KL_SCHEMA_SCHEMA_LEAF_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/schema.h"

typedef enum kl__leaf {
    KL__LEAF_FITS,
    KL__LEAF_TYPE, /* wrong type; `go`, if set, is the right one */
    KL__LEAF_TEXT  /* right type; `why` says what is wrong with the text */
} kl__leaf;

/* Checks a value that is not null. If `why` has failed, memory ran out. */
kl__leaf kl__leaf_fits(const kl__node *value, const kl__schema *schema,
                       kl__buf *why, const char **go);

/* Appends what Go calls an unexpected value: "string", "number 1.5". */
void kl__leaf_put_found(kl__buf *out, const kl__node *value,
                        const kl__schema *schema);

/* The canonical form of a value (quantity, time, bytes): a node of `edit`, or
 * `value` itself. NULL: out of memory. */
kl__node *kl__leaf_canonical(kl__edit *edit, kl__node *value,
                             const kl__schema *schema);

/* The bytes of a text in base64; NULL: out of memory. */
kl__node *kl__leaf_base64(kl__edit *edit, const kl__node *text);

#endif
