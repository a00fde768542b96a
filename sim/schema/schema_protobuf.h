/*
 * schema_protobuf.h - objects of built-in kinds in protobuf, as typed Go
 * clients send and receive them: decoded and encoded by the field numbers in
 * the schemas.
 */
#ifndef KL_SCHEMA_SCHEMA_PROTOBUF_H
#define KL_SCHEMA_SCHEMA_PROTOBUF_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* The envelope of an object: its type, and its bytes. Borrowed. */
typedef struct kl__protobuf {
    const char *api_version;
    size_t api_version_length;
    const char *kind;
    size_t kind_length;
    const char *raw;
    size_t raw_length;
} kl__protobuf;

/* The start of every envelope. */
#define KL__PROTOBUF_MAGIC "k8s" /* with its NUL byte */

/* Opens an envelope. KL_EPARSE: there is none, in kube-apiserver's words. */
kl_code kl__protobuf_open(const char *bytes, size_t length, kl__protobuf *out,
                          kl_error *err);

/*
 * Decodes a message into the same JSON that a client of JSON would have sent:
 * empty values that may be left out are left out. A node of `edit`, without
 * kind and apiVersion. NULL: KL_EPARSE, in Go's words; KL_ENOMEM.
 */
kl__node *kl__protobuf_decode(kl__edit *edit, const kl__schema *schema,
                              const char *raw, size_t length, kl_error *err);

/*
 * Appends the message of an object of that schema: unknown members are left
 * out; a value of the wrong type counts as absent. When memory runs out, `out`
 * keeps the failure.
 */
void kl__protobuf_encode(const kl__schema *schema, const kl_value *object,
                         kl__buf *out);

/* The envelope; between these two calls comes field 2, the message. */
enum { KL__PROTOBUF_RAW = 2 };
void kl__protobuf_begin(kl__buf *out, const char *api_version,
                        const char *kind);
void kl__protobuf_end(kl__buf *out);

#endif
