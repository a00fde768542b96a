/*
 * scan_state.h - the state of a scan, shared by scan.c, which buffers the
 * bytes, and scan_grammar.c, which interprets them.
 */
#ifndef KL_JSON_SCAN_STATE_H
#define KL_JSON_SCAN_STATE_H

#include "json/scan.h"
#include "json/skip.h"

#include <stdint.h>

enum { KL__SCAN_HEAD = 160 };

typedef enum kl__scan_state {
    KL__BEFORE_TOP,
    KL__BEFORE_FIRST_KEY,
    KL__BEFORE_KEY,
    KL__IN_KEY,
    KL__BEFORE_COLON,
    KL__BEFORE_VALUE,
    KL__IN_VALUE,
    KL__AFTER_VALUE,
    KL__BEFORE_FIRST_ITEM,
    KL__BEFORE_ITEM,
    KL__IN_ITEM,
    KL__AFTER_ITEM,
    KL__AFTER_TOP
} kl__scan_state;

/* A range of scan->bytes. */
typedef struct kl__span {
    size_t at;
    size_t length; /* 0: no range */
} kl__span;

struct kl__scan {
    kl__scan_mode mode;
    kl__scan_state state;
    kl__skip skip; /* finds the end of the current key, value or item */
    kl__skip_levels levels; /* of `skip` */
    kl__outline outline; /* of the last item, or of the last event's object */

    kl__buf bytes;
    size_t kept;     /* bytes before this offset are not needed any more */
    size_t at;       /* the next byte to look at */
    uint64_t offset; /* position of bytes[0] in the stream */
    bool is_hungry;  /* the bytes from `at` on are too few: feed more */
    bool is_keeping; /* the bytes of a frame or member start at `kept` */

    kl__span key;    /* of the current member, with the quotes */
    size_t value_at; /* where the current member's value starts */
    kl__span type;   /* the type of a watch event, without the quotes */
    kl__span object; /* the object of a watch event */
    size_t spaces;   /* bytes of whitespace in `object` */
    kl_code failure; /* of the item or object; see kl__frame */
    size_t dropped;  /* bytes of it that are not kept any more */
    kl__remains remains;
    kl__buf rest; /* a list's members except the items */
    bool has_items;

    kl_error error; /* code KL_OK until the stream is invalid */
    char head[KL__SCAN_HEAD];
    size_t head_length;
};

/* Drops the bytes of the item or object that is being cut, which is too large.
 * False: another member is, and its bytes are needed; or too many were
 * dropped. */
bool kl__scan_drop(kl__scan *scan);

/* Consumes the next byte, or what is available of a key, value or item. The
 * caller makes sure that there is a byte. Fills `frame` when a frame is
 * complete. Stores a failure in scan->error, too. */
kl_code kl__scan_step(kl__scan *scan, kl__frame *frame);

#endif
