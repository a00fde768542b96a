/*
 * schema_leaf.h - values that are neither struct, map nor array: whether one
 * fits its schema, in the words of Go's decoders, and its canonical form.
 */
#ifndef KL_SCHEMA_SCHEMA_LEAF_H
#define KL_SCHEMA_SCHEMA_LEAF_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/schema.h"

typedef enum kl__leaf {
    KL__LEAF_FITS,
    KL__LEAF_TYPE, /* of a wrong type; `go`, if it is set, is the right one */
    KL__LEAF_TEXT  /* of the right type; `why` says what is wrong with it */
} kl__leaf;

/* The value is not null. `why` may have failed: then memory is out. */
kl__leaf kl__leaf_fits(const kl__node *value, const kl__schema *schema,
                       kl__buf *why, const char **go);

/* What Go calls a value that it did not expect: "string", "number 1.5". */
void kl__leaf_put_found(kl__buf *out, const kl__node *value,
                        const kl__schema *schema);

/* The value in its canonical form, where it has another one (a quantity, a
 * time, bytes): a node of `edit`, else `value` itself. NULL: out of memory. */
kl__node *kl__leaf_canonical(kl__edit *edit, kl__node *value,
                             const kl__schema *schema);

/* The bytes of a text in base64; NULL: out of memory. */
kl__node *kl__leaf_base64(kl__edit *edit, const kl__node *text);

#endif
