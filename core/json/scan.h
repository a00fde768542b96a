/*
 * scan.h - cuts frames out of a stream of JSON bytes as the bytes arrive, in
 * chunks of any size: the items of a list, the events of a watch. The reflector
 * thread feeds it the body of a response and makes an object of each frame. It
 * buffers the current frame only. It checks the structure (strings, brackets,
 * depth); the reader of a frame must check that the frame is JSON. An object
 * that is too deep or too large is passed by, and the stream goes on.
 */
#ifndef KL_JSON_SCAN_H
#define KL_JSON_SCAN_H

#include "base/buf.h"
#include "json/check.h"
#include "json/remains.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum kl__scan_mode {
    KL__SCAN_WATCH, /* {"type":T,"object":O}, any number of them */
    KL__SCAN_LIST   /* {"kind":..,"metadata":{..},"items":[O,O,..]} */
} kl__scan_mode;

/* A bound on memory, against a misbehaving server. A Kubernetes object has at
 * most 1.5 MB in etcd and 3 MB in a request (docs/KUBERNETES.md#sizes);
 * aggregated API servers may have larger objects. */
enum { KL__MAX_FRAME = 64 * 1024 * 1024 };

/* An item or event's object up to this size is passed by; a longer one may have
 * no end. */
enum { KL__MAX_PASSED = 256 * 1024 * 1024 };

typedef enum kl__frame_type {
    KL__FRAME_MORE,  /* feed more bytes */
    KL__FRAME_ITEM,  /* an item of a list: the object's text */
    KL__FRAME_EVENT, /* an event: `name` is its type, `text` its object */
    KL__FRAME_END    /* the end of a list: `text` is a JSON object of its
                      * other members (kind, apiVersion, metadata). `name` is
                      * "items"; NULL if the member "items" is missing: then
                      * the body is not a list */
} kl__frame_type;

/* Borrowed until the next call on the scan. */
typedef struct kl__frame {
    kl__frame_type type;
    const char *name;
    size_t name_length;
    const char *text;
    size_t length;
    size_t spaces;              /* item, event: whitespace outside of strings */
    const kl__outline *outline; /* item, event only */
    /* Item, event: why the object cannot be read, though the stream goes on.
     * KL_OK: it may be readable. KL_EPARSE: nested deeper than KL_MAX_DEPTH;
     * KL_ETOO_LARGE: above KL__MAX_FRAME, and `text` is NULL. */
    kl_code failure;
    const kl__remains *remains; /* what it was, after a failure; else NULL */
} kl__frame;

/* Sets the error of a frame with a failure; returns the failure. */
kl_code kl__frame_error(const kl__frame *frame, kl_error *err);

typedef struct kl__scan kl__scan;

/* Owned by the caller; NULL when out of memory. One thread at a time. */
kl__scan *kl__scan_new(kl__scan_mode mode);
void kl__scan_free(kl__scan *scan); /* NULL is fine */

/*
 * Give the scan more bytes. kl__scan_room returns memory for `size` bytes
 * (NULL: KL_ENOMEM, or an earlier failure); the caller writes bytes there and
 * calls kl__scan_fed with their number. kl__scan_feed does both: it copies the
 * given bytes. Before giving more, call kl__scan_next until it returns
 * KL__FRAME_MORE.
 */
char *kl__scan_room(kl__scan *scan, size_t size, kl_error *err);
/* No bytes have come, and none may come for long: frees memory that holds
 * none. */
void kl__scan_rest(kl__scan *scan);
void kl__scan_fed(kl__scan *scan, size_t length);
kl_code kl__scan_feed(kl__scan *scan, const char *bytes, size_t length,
                      kl_error *err);

/* Cuts the next frame. KL_EPARSE: the message says what was found and where.
 * KL_ETOO_LARGE: an item or an event's object is above KL__MAX_PASSED, or
 * another part above KL__MAX_FRAME. KL_ENOMEM. After a failure, every later
 * call fails in the same way. */
kl_code kl__scan_next(kl__scan *scan, kl__frame *frame, kl_error *err);

/* True if the stream may end here: no frame is incomplete, and a list has had
 * its KL__FRAME_END. */
bool kl__scan_at_boundary(const kl__scan *scan);

/* A printable excerpt of the first bytes, at most `size`, for an error message
 * about a body that is not JSON, such as the HTML page of a proxy. */
void kl__scan_excerpt(const kl__scan *scan, char *text, size_t size);

#endif
