/*
 * identity.h - what kl_object_parse takes out of an object's tree or outline:
 * who it is, and what of its text is kept.
 */
#ifndef KL_OBJECT_IDENTITY_H
#define KL_OBJECT_IDENTITY_H

#include "base/buf.h"
#include "json/check.h"
#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__slice {
    const char *bytes; /* may be NULL where length is 0 */
    size_t length;
} kl__slice;

/* What an object is made of. */
typedef struct kl__object_source {
    const char *json; /* one JSON value */
    size_t length;
    const kl_object_options *options;
} kl__object_source;

/* Borrowed from the document, the text and the options it was read from. */
typedef struct kl__identity {
    kl__slice kind;
    kl__slice api_version;
    kl__slice name;
    kl__slice name_space;
    kl__slice uid;
    kl__slice version;
    bool adds_kind;        /* the text has none: it is put in */
    bool adds_api_version; /* likewise */
    size_t cut_from;       /* of the text: managedFields, with its comma */
    size_t cut_to;         /* 0: nothing is cut out */
    size_t metadata_from;  /* of the text: the member, from its name's quote to
                              behind its value, where it alone is kept */
    size_t metadata_to;    /* 0: all is kept */
} kl__identity;

/* KL_EPARSE: not an object, no name, wrong types, a member of the identity
 * twice; the message says which object. */
kl_code kl__identity_read(kl__identity *identity,
                          const kl__object_source *source, const kl_doc *doc,
                          kl_error *err);

/* The same of an outline, without a document. False: it is not what it mostly
 * is, so ask kl__identity_read. */
bool kl__identity_scan(kl__identity *identity, const kl__object_source *source,
                       const kl__outline *outline);

/* Where metadata alone is kept: what was found becomes what it is called. */
void kl__identity_keep_metadata(kl__identity *identity,
                                const kl_object_options *options, size_t from,
                                size_t to);

/* An object's text to be: `added` after the opening brace, then the given text
 * but for a cut and for whitespace outside of strings, then a brace where the
 * given text's own is not among that. */
typedef struct kl__object_text {
    kl__buf added;
    kl__slice before; /* the cut; from the opening brace on, without it */
    kl__slice after;
    bool is_compact; /* there is no whitespace to drop */
    bool is_closed;  /* a closing brace is put in */
    size_t length;   /* of the whole */
} kl__object_text;

/* `text` is zeroed but for is_compact. False: out of memory. Borrows `json`. */
bool kl__object_text_init(kl__object_text *text, const kl__identity *identity,
                          const char *json, size_t length);
void kl__object_text_deinit(kl__object_text *text);
/* Writes text->length bytes, no NUL. */
void kl__object_text_write(const kl__object_text *text, char *out);

#endif
