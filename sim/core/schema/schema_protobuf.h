/*
 * schema_protobuf.h - decodes objects of built-in kinds in protobuf, as typed
 * Go clients send them; answers are JSON. The schemas have the numbers of the
 * fields.
 */
#ifndef KL_SCHEMA_SCHEMA_PROTOBUF_H
#define KL_SCHEMA_SCHEMA_PROTOBUF_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* The envelope of an object: its apiVersion and kind, and the bytes of its
 * message (`raw`). All borrowed, without NUL at the end. */
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

/* Reads an envelope. KL_EPARSE: there is none; the message is that of
 * kube-apiserver. */
kl_code kl__protobuf_open(const char *bytes, size_t length, kl__protobuf *out,
                          kl_error *err);

/*
 * Decodes a message into the tree that the same object in JSON would give:
 * empty values that JSON leaves out are left out. The result is a node of
 * `edit`, without kind and apiVersion. NULL: KL_EPARSE, with Go's message;
 * KL_ENOMEM.
 */
kl__node *kl__protobuf_decode(kl__edit *edit, const kl__schema *schema,
                              const char *raw, size_t length, kl_error *err);

#endif
