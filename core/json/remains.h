/*
 * remains.h - finds the identity of an object whose text cannot be read: nested
 * too deeply, too large, or with brackets that hold no JSON. scan.c feeds it
 * the bytes that it does not keep; list_watch_read.c the text of a whole frame.
 */
#ifndef KL_JSON_REMAINS_H
#define KL_JSON_REMAINS_H

#include <stdbool.h>
#include <stddef.h>

enum { KL__REMAINS_TEXT = 320 }; /* a name has 253 bytes at most */

/* A string of the text; "": it was not found, or is no plain ASCII without
 * escapes, or is too long. */
typedef char kl__remains_text[KL__REMAINS_TEXT];

typedef struct kl__remains {
    kl__remains_text kind; /* members of the object */
    kl__remains_text api_version;
    kl__remains_text name; /* members of its metadata */
    kl__remains_text name_space;
    kl__remains_text uid;
    kl__remains_text version;

    /* How far the bytes were read. */
    size_t depth; /* open brackets */
    bool in_string;
    bool is_escaped;
    bool is_plain;    /* the string has no escapes and only ASCII so far */
    bool is_value;    /* a colon came: the next string is no name */
    bool in_metadata; /* bracket 2 is the value of the member "metadata" */
    size_t length;    /* of `string` */
    kl__remains_text string; /* the current string, or the one before */
    kl__remains_text member; /* the name of the current member */
} kl__remains;

/* Zeroed: nothing was read. Reads more bytes of the object's text. */
void kl__remains_feed(kl__remains *remains, const char *bytes, size_t length);

/* True if the object's key is known: it has a name. */
bool kl__remains_has_key(const kl__remains *remains);

#endif
