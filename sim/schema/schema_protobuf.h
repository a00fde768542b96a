/*
 * schema_protobuf.h - objects of built-in kinds as typed Go clients send and
 * take them: protobuf, read and written by the field numbers that the schemas
 * know.
 */
#ifndef KL_SCHEMA_SCHEMA_PROTOBUF_H
#define KL_SCHEMA_SCHEMA_PROTOBUF_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* What stands around an object: its type, and its bytes. Borrowed. */
typedef struct kl__protobuf {
    const char *api_version;
    size_t api_version_length;
    const char *kind;
    size_t kind_length;
    const char *raw;
    size_t raw_length;
} kl__protobuf;

/* What every envelope begins with. */
#define KL__PROTOBUF_MAGIC "k8s" /* with its NUL byte */

/* Takes the envelope off. KL_EPARSE: it is none, in kube-apiserver's words. */
kl_code kl__protobuf_open(const char *bytes, size_t length, kl__protobuf *out,
                          kl_error *err);

/*
 * The object that a message says, as the same JSON that a client of JSON would
 * have sent: what is empty and may be left out is left out. A node of `edit`,
 * without kind and apiVersion. NULL: KL_EPARSE, in Go's words; KL_ENOMEM.
 */
kl__node *kl__protobuf_decode(kl__edit *edit, const kl__schema *schema,
                              const char *raw, size_t length, kl_error *err);

/*
 * Appends the message that an object of that schema is: what the schema does
 * not know is left out, what does not fit it is as if it was not there. Out of
 * memory sticks in `out`.
 */
void kl__protobuf_encode(const kl__schema *schema, const kl_value *object,
                         kl__buf *out);

/* The envelope: between the two comes field 2, the message. */
enum { KL__PROTOBUF_RAW = 2 };
void kl__protobuf_begin(kl__buf *out, const char *api_version,
                        const char *kind);
void kl__protobuf_end(kl__buf *out);

#endif
