/*
 * scan_state.h - a scan in progress: scan.c holds the bytes, scan_grammar.c
 * reads them.
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

/* A part of the bytes that are held. */
typedef struct kl__span {
    size_t at;
    size_t length; /* 0: there is none */
} kl__span;

struct kl__scan {
    kl__scan_mode mode;
    kl__scan_state state;
    kl__skip skip;       /* of the key, value or item in progress */
    kl__outline outline; /* of the last item or event's object */

    kl__buf bytes;
    size_t kept;     /* bytes before it are no longer needed */
    size_t at;       /* the next byte to look at */
    uint64_t offset; /* of bytes[0] in the stream */
    bool is_hungry;  /* what is left cannot be judged without more */
    bool is_keeping; /* a frame or member is in progress, from `kept` on */

    kl__span key;    /* of the member in progress, with its quotes */
    size_t value_at; /* its value */
    kl__span type;   /* of a watch event, without its quotes */
    kl__span object; /* of a watch event */
    size_t spaces;   /* in it */
    kl__buf rest;    /* of a list: its members but for the items */
    bool has_items;

    kl_error error; /* code KL_OK until the stream is broken */
    char head[KL__SCAN_HEAD];
    size_t head_length;
};

/* Takes the next byte, or as much as there is of a key, value or item; there
 * is at least one byte. Fills `frame` where one is complete. A failure is in
 * scan->error, too. */
kl_code kl__scan_step(kl__scan *scan, kl__frame *frame);

#endif
