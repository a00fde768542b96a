/*
 * scan.h - cuts frames out of a stream of JSON bytes as they arrive, however
 * they are chunked: the items of a list, the events of a watch, one document.
 * Holds the frame in progress and nothing else. Structure is checked here
 * (strings, nesting, depth); that a frame is JSON is for its reader to check.
 */
#ifndef KL_JSON_SCAN_H
#define KL_JSON_SCAN_H

#include "base/buf.h"
#include "json/check.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum kl__scan_mode {
    KL__SCAN_WATCH, /* {"type":T,"object":O} one after the other */
    KL__SCAN_LIST   /* {"kind":..,"metadata":{..},"items":[O,O,..]} */
} kl__scan_mode;

/* Bounds against a server that lies. A Kubernetes object is at most 1.5 MB in
 * etcd and 3 MB in a request; aggregated APIs may have larger ones. */
enum { KL__MAX_FRAME = 64 * 1024 * 1024 };

typedef enum kl__frame_type {
    KL__FRAME_MORE,  /* feed more bytes */
    KL__FRAME_ITEM,  /* of a list: the object's text */
    KL__FRAME_EVENT, /* of a watch: `name` is its type, `text` its object */
    KL__FRAME_END    /* of a list: `text` is the rest, as one JSON object
                        without its items: kind, apiVersion, metadata; `name`
                        is "items", or NULL where the object has none (nor null
                        for them): that is no empty list, but no list */
} kl__frame_type;

/* Borrowed until the next call on the scan. */
typedef struct kl__frame {
    kl__frame_type type;
    const char *name;
    size_t name_length;
    const char *text;
    size_t length;
    size_t spaces; /* of an item or event: whitespace in the text, outside of
                      strings; counted when it was cut */
    const kl__outline *outline; /* likewise; of no other frames */
} kl__frame;

typedef struct kl__scan kl__scan;

/* Owned by the caller; NULL when out of memory. One thread at a time. */
kl__scan *kl__scan_new(kl__scan_mode mode);
void kl__scan_free(kl__scan *scan); /* NULL is fine */

/*
 * Gives it the next bytes: room is where `size` of them may be written (NULL:
 * KL_ENOMEM, or what broke it before), and fed says how many have been; or
 * feed copies them. Call kl__scan_next until it wants more before the next
 * ones.
 */
char *kl__scan_room(kl__scan *scan, size_t size, kl_error *err);
void kl__scan_fed(kl__scan *scan, size_t length);
kl_code kl__scan_feed(kl__scan *scan, const char *bytes, size_t length,
                      kl_error *err);

/* Cuts the next frame. KL_EPARSE with what was found and where; it sticks. */
kl_code kl__scan_next(kl__scan *scan, kl__frame *frame, kl_error *err);

/* Whether the stream may end here: nothing begun that is not finished. A list
 * must also have had its KL__FRAME_END. */
bool kl__scan_at_boundary(const kl__scan *scan);

/* The first bytes that were fed, for an error message about a body that is no
 * JSON (an HTML page of a proxy): printable, at most `size`. */
void kl__scan_excerpt(const kl__scan *scan, char *text, size_t size);

#endif
