/*
 * identity.h - the first step of making an object from JSON: find its identity
 * (kind, name, namespace, UID, resourceVersion), and which part of its text is
 * kept. object.c then copies both into one block.
 */
#ifndef KL_OBJECT_IDENTITY_H
#define KL_OBJECT_IDENTITY_H

#include "base/buf.h"
#include "json/check.h"
#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__slice {
    const char *bytes; /* may be NULL if length is 0 */
    size_t length;
} kl__slice;

/* The input of an object. */
typedef struct kl__object_source {
    const char *json; /* one JSON value */
    size_t length;
    const kl_object_options *options;
} kl__object_source;

/* What was found. Borrows from the document, the text and the options. */
typedef struct kl__identity {
    kl__slice kind;
    kl__slice api_version;
    kl__slice name;
    kl__slice name_space;
    kl__slice uid;
    kl__slice version;
    bool adds_kind;        /* the text has none: the options' kind is added */
    bool adds_api_version; /* the same for apiVersion */
    size_t cut_from;       /* offset of managedFields, including a comma */
    size_t cut_to;         /* end of managedFields; 0: nothing is cut out */
    size_t metadata_from;  /* metadata_only: offset of the member "metadata" */
    size_t metadata_to;    /* its end; 0: the whole object is kept */
} kl__identity;

/* Finds the identity in a parsed document. KL_EPARSE: not an object, no name, a
 * wrong type; the message names the object. No name may be twice among the
 * outermost members, or in the metadata. */
kl_code kl__identity_read(kl__identity *identity,
                          const kl__object_source *source, const kl_doc *doc,
                          kl_error *err);

/* Finds the identity with an outline of the text, without parsing it: faster.
 * False: the text is unusual; parse it and call kl__identity_read. */
bool kl__identity_scan(kl__identity *identity, const kl__object_source *source,
                       const kl__outline *outline);

/* For options->metadata_only: keeps only the bytes from `from` to `to`, the
 * member "metadata". A PartialObjectMetadata gets the kind and apiVersion of
 * the options. */
void kl__identity_keep_metadata(kl__identity *identity,
                                const kl_object_options *options, size_t from,
                                size_t to);

/* The text of the new object, in parts: an opening brace, `added` (kind and
 * apiVersion), the given text without managedFields and without whitespace
 * outside of strings, and a closing brace if the given one was cut off. */
typedef struct kl__object_text {
    kl__buf added;
    kl__slice before; /* from behind the opening brace to the cut */
    kl__slice after;
    bool is_compact; /* the given text has no whitespace to drop */
    bool is_closed;  /* a closing brace is added */
    size_t length;   /* of the whole text */
} kl__object_text;

/* The caller has zeroed `text` and set is_compact. Borrows `json`. False: out
 * of memory. */
bool kl__object_text_init(kl__object_text *text, const kl__identity *identity,
                          const char *json, size_t length);
void kl__object_text_deinit(kl__object_text *text);
/* Writes text->length bytes, without a NUL. */
void kl__object_text_write(const kl__object_text *text, char *out);

#endif
