/*
 * scan.c - see scan.h. Bytes are kept from the start of the frame in progress
 * on; each is looked at once, however they are chunked. Both modes read one
 * object's members: those of a watch event, or of a list, whose items come out
 * one by one while its other members are collected for the last frame.
 */
#include "json/scan.h"

#include "base/mem.h"
#include "json/skip.h"
#include "json/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_SIZE = 160, IDLE_CAPACITY = 1024 * 1024 };

typedef enum state {
    BEFORE_TOP,
    BEFORE_FIRST_KEY,
    BEFORE_KEY,
    IN_KEY,
    BEFORE_COLON,
    BEFORE_VALUE,
    IN_VALUE,
    AFTER_VALUE,
    BEFORE_FIRST_ITEM,
    BEFORE_ITEM,
    IN_ITEM,
    AFTER_ITEM,
    AFTER_TOP
} state;

/* A part of the bytes that are held. */
typedef struct span {
    size_t at;
    size_t length; /* 0: there is none */
} span;

struct kl__scan {
    kl__scan_mode mode;
    state state;
    kl__skip skip; /* of the key, value or item in progress */

    kl__buf bytes;
    size_t kept;     /* bytes before it are no longer needed */
    size_t at;       /* the next byte to look at */
    uint64_t offset; /* of bytes[0] in the stream */
    bool is_keeping; /* a frame or member is in progress, from `kept` on */

    span key;        /* of the member in progress, with its quotes */
    size_t value_at; /* its value */
    span type;       /* of a watch event, without its quotes */
    span object;     /* of a watch event */
    kl__buf rest;    /* of a list: its members but for the items */
    bool has_items;

    kl_error error; /* code KL_OK until the stream is broken */
    char head[HEAD_SIZE];
    size_t head_length;
};

kl__scan *kl__scan_new(kl__scan_mode mode)
{
    kl__scan *scan = kl__calloc(1, sizeof(*scan));

    if (scan != NULL) {
        scan->mode = mode;
    }
    return scan;
}

void kl__scan_free(kl__scan *scan)
{
    if (scan != NULL) {
        kl__buf_deinit(&scan->bytes);
        kl__buf_deinit(&scan->rest);
        kl__free(scan);
    }
}

/* The failure that sticks, told once more. */
static kl_code broken(const kl__scan *scan, kl_error *err)
{
    if (err != NULL) {
        *err = scan->error;
    }
    return scan->error.code;
}

/* Forgets what lies before the frame in progress. Positions of parts that are
 * forgotten wrap around, and are set anew before they are used. */
static void drop_done(kl__scan *scan)
{
    size_t done;

    if (!scan->is_keeping) {
        scan->kept = scan->at;
    }
    done = scan->kept;
    kl__buf_consume(&scan->bytes, done);
    scan->offset += done;
    scan->at -= done;
    scan->key.at -= done;
    scan->value_at -= done;
    scan->type.at -= done;
    scan->object.at -= done;
    scan->kept = 0;
}

kl_code kl__scan_feed(kl__scan *scan, const char *bytes, size_t length,
                      kl_error *err)
{
    size_t head = sizeof(scan->head) - scan->head_length;

    if (scan->error.code != KL_OK) {
        return broken(scan, err);
    }
    head = head < length ? head : length;
    if (head > 0) {
        memcpy(scan->head + scan->head_length, bytes, head);
        scan->head_length += head;
    }
    /* A frame's bytes are moved at most once: afterwards it starts at 0. */
    drop_done(scan);
    kl__buf_append(&scan->bytes, bytes, length);
    if (scan->bytes.failed) {
        kl_error_set(&scan->error, KL_ENOMEM, "out of memory for a frame");
        return broken(scan, err);
    }
    return KL_OK;
}

/* What may come next, for messages. */
static const char *expected(const kl__scan *scan)
{
    static const char *const texts[] = {
        [BEFORE_TOP] = "\"{\"",
        [BEFORE_FIRST_KEY] = "a member's name or \"}\"",
        [BEFORE_KEY] = "a member's name",
        [BEFORE_COLON] = "\":\"",
        [BEFORE_VALUE] = "a value",
        [AFTER_VALUE] = "\",\" or \"}\"",
        [BEFORE_FIRST_ITEM] = "an item's \"{\" or \"]\"",
        [BEFORE_ITEM] = "an item's \"{\"",
        [AFTER_ITEM] = "\",\" or \"]\"",
        [AFTER_TOP] = "nothing after the list",
    };

    return texts[scan->state] != NULL ? texts[scan->state] : "another bracket";
}

static kl_code fail_with(kl__scan *scan, const char *what)
{
    const char *at = scan->bytes.bytes + scan->at;
    char found[40];

    kl__text_excerpt(found, sizeof(found), at, scan->bytes.length - scan->at);
    return kl_error_set(&scan->error, KL_EPARSE,
                        "the stream breaks the protocol at byte %llu: %s; "
                        "found: %s",
                        (unsigned long long)(scan->offset + scan->at), what,
                        found);
}

static kl_code fail_expecting(kl__scan *scan)
{
    char what[80];

    snprintf(what, sizeof(what), "expected %s", expected(scan));
    return fail_with(scan, what);
}

/* Keeps what comes from the byte in hand on. */
static void keep(kl__scan *scan)
{
    scan->kept = scan->at;
    scan->is_keeping = true;
}

static bool key_is(const kl__scan *scan, const char *name)
{
    size_t length = strlen(name);

    return scan->key.length == length + 2 &&
           memcmp(scan->bytes.bytes + scan->key.at + 1, name, length) == 0;
}

static kl_code begin_key(kl__scan *scan)
{
    if (scan->mode == KL__SCAN_LIST) {
        keep(scan);
    }
    scan->key = (span){scan->at, 0};
    kl__skip_begin(&scan->skip, '"');
    scan->state = IN_KEY;
    return KL_OK;
}

static kl_code begin_items(kl__scan *scan)
{
    if (scan->has_items) {
        return fail_with(scan, "a list with items twice");
    }
    scan->has_items = true;
    scan->is_keeping = false;
    scan->at++;
    scan->state = BEFORE_FIRST_ITEM;
    return KL_OK;
}

/* The value's first byte is in hand. */
static kl_code begin_value(kl__scan *scan, char byte)
{
    bool is_watch = scan->mode == KL__SCAN_WATCH;

    if (!is_watch && key_is(scan, "items") && byte != 'n') {
        return byte == '[' ? begin_items(scan)
                           : fail_with(scan, "items is not an array");
    }
    if (is_watch && key_is(scan, "type") &&
        (byte != '"' || scan->type.length > 0)) {
        return fail_with(scan, "an event's type is one string");
    }
    if (is_watch && key_is(scan, "object") &&
        (byte != '{' || scan->object.length > 0)) {
        return fail_with(scan, "an event's object is one object");
    }
    if (!kl__skip_begin(&scan->skip, byte)) {
        return fail_expecting(scan);
    }
    scan->value_at = scan->at;
    scan->state = IN_VALUE;
    return KL_OK;
}

/* A member of a list is collected, unless it is its items: null. */
static kl_code end_list_member(kl__scan *scan)
{
    const char *bytes = scan->bytes.bytes;

    scan->is_keeping = false;
    if (key_is(scan, "items")) {
        if (scan->at - scan->value_at != 4 ||
            memcmp(bytes + scan->value_at, "null", 4) != 0) {
            return fail_with(scan, "items is not an array");
        }
        return KL_OK;
    }
    kl__buf_putc(&scan->rest, scan->rest.length == 0 ? '{' : ',');
    kl__buf_append(&scan->rest, bytes + scan->kept, scan->at - scan->kept);
    return KL_OK;
}

static kl_code end_value(kl__scan *scan)
{
    scan->state = AFTER_VALUE;
    if (scan->mode == KL__SCAN_LIST) {
        return end_list_member(scan);
    }
    if (key_is(scan, "type")) {
        scan->type = (span){scan->value_at + 1, scan->at - scan->value_at - 2};
    } else if (key_is(scan, "object")) {
        scan->object = (span){scan->value_at, scan->at - scan->value_at};
    }
    return KL_OK;
}

/* The closing brace is in hand: an event is complete, or a list. */
static kl_code end_top(kl__scan *scan, kl__frame *frame)
{
    const char *bytes = scan->bytes.bytes;

    if (scan->mode == KL__SCAN_LIST) {
        kl__buf_puts(&scan->rest, scan->rest.length == 0 ? "{}" : "}");
        *frame = (kl__frame){.type = KL__FRAME_END,
                             .text = scan->rest.bytes,
                             .length = scan->rest.length};
        scan->state = AFTER_TOP;
    } else {
        if (scan->type.length == 0 || scan->object.length == 0) {
            return fail_with(scan, "an event without a type or an object");
        }
        *frame = (kl__frame){.type = KL__FRAME_EVENT,
                             .name = bytes + scan->type.at,
                             .name_length = scan->type.length,
                             .text = bytes + scan->object.at,
                             .length = scan->object.length};
        scan->state = BEFORE_TOP;
    }
    scan->is_keeping = false;
    scan->at++;
    return KL_OK;
}

static kl_code begin_top(kl__scan *scan)
{
    if (scan->mode == KL__SCAN_WATCH) {
        keep(scan);
    }
    scan->type = (span){0};
    scan->object = (span){0};
    scan->at++;
    scan->state = BEFORE_FIRST_KEY;
    return KL_OK;
}

static kl_code begin_item(kl__scan *scan)
{
    keep(scan);
    kl__skip_begin(&scan->skip, '{');
    scan->state = IN_ITEM;
    return KL_OK;
}

static kl_code move_on(kl__scan *scan, state to)
{
    scan->at++;
    scan->state = to;
    return KL_OK;
}

/* A byte that is neither whitespace nor within a key, value or item. */
static kl_code take_byte(kl__scan *scan, char byte, kl__frame *frame)
{
    switch (scan->state) {
    case BEFORE_TOP:
        return byte == '{' ? begin_top(scan) : fail_expecting(scan);
    case BEFORE_FIRST_KEY:
        if (byte == '}') {
            return end_top(scan, frame);
        }
        return byte == '"' ? begin_key(scan) : fail_expecting(scan);
    case BEFORE_KEY:
        return byte == '"' ? begin_key(scan) : fail_expecting(scan);
    case BEFORE_COLON:
        return byte == ':' ? move_on(scan, BEFORE_VALUE) : fail_expecting(scan);
    case BEFORE_VALUE:
        return begin_value(scan, byte);
    case AFTER_VALUE:
        if (byte == '}') {
            return end_top(scan, frame);
        }
        return byte == ',' ? move_on(scan, BEFORE_KEY) : fail_expecting(scan);
    case BEFORE_FIRST_ITEM:
    case AFTER_ITEM:
        if (byte == ']') {
            return move_on(scan, AFTER_VALUE);
        }
        if (scan->state == AFTER_ITEM && byte == ',') {
            return move_on(scan, BEFORE_ITEM);
        }
        return scan->state == BEFORE_FIRST_ITEM && byte == '{'
                   ? begin_item(scan)
                   : fail_expecting(scan);
    case BEFORE_ITEM:
        return byte == '{' ? begin_item(scan) : fail_expecting(scan);
    default:
        return fail_expecting(scan);
    }
}

/* What was skipped is complete. */
static kl_code end_skip(kl__scan *scan, kl__frame *frame)
{
    if (scan->state == IN_VALUE) {
        return end_value(scan);
    }
    if (scan->state == IN_KEY) {
        scan->key.length = scan->at - scan->key.at;
        scan->state = BEFORE_COLON;
        return KL_OK;
    }
    *frame = (kl__frame){.type = KL__FRAME_ITEM,
                         .text = scan->bytes.bytes + scan->kept,
                         .length = scan->at - scan->kept};
    scan->is_keeping = false;
    scan->state = AFTER_ITEM;
    return KL_OK;
}

static kl_code run_skip(kl__scan *scan, kl__frame *frame)
{
    const char *at = scan->bytes.bytes + scan->at;
    const char *end = scan->bytes.bytes + scan->bytes.length;
    kl__skip_result result = kl__skip_run(&scan->skip, &at, end);

    scan->at = (size_t)(at - scan->bytes.bytes);
    switch (result) {
    case KL__SKIP_DONE:
        return end_skip(scan, frame);
    case KL__SKIP_MISMATCH:
        return fail_with(scan, "a bracket that closes another one");
    case KL__SKIP_TOO_DEEP:
        return fail_with(scan, "nested too deeply");
    default:
        return KL_OK;
    }
}

/* One step: a byte, or as much of a key, value or item as there is. */
static kl_code step(kl__scan *scan, kl__frame *frame)
{
    char byte;

    if (scan->state == IN_KEY || scan->state == IN_VALUE ||
        scan->state == IN_ITEM) {
        return run_skip(scan, frame);
    }
    byte = scan->bytes.bytes[scan->at];
    if (kl__byte_class[(unsigned char)byte] == KL__BYTE_SPACE) {
        scan->at++;
        return KL_OK;
    }
    return take_byte(scan, byte, frame);
}

static kl_code check_bounds(kl__scan *scan, const kl__frame *frame)
{
    size_t held = frame->length;

    if (scan->rest.failed) {
        return kl_error_set(&scan->error, KL_ENOMEM,
                            "out of memory for a list's metadata");
    }
    if (frame->type == KL__FRAME_MORE) {
        held = scan->rest.length;
        held += scan->is_keeping ? scan->bytes.length - scan->kept : 0;
    }
    if (held > KL__MAX_FRAME) {
        return kl_error_set(&scan->error, KL_ETOO_LARGE,
                            "one object of the stream takes more than %d MB",
                            KL__MAX_FRAME / (1024 * 1024));
    }
    return KL_OK;
}

/* A watch is idle for minutes: it shall not hold what one large object took. */
static void give_back(kl__scan *scan)
{
    if (!scan->is_keeping && scan->bytes.capacity > IDLE_CAPACITY) {
        scan->offset += scan->bytes.length;
        scan->kept = 0;
        scan->at = 0;
        kl__buf_deinit(&scan->bytes);
    }
}

kl_code kl__scan_next(kl__scan *scan, kl__frame *frame, kl_error *err)
{
    kl_code code = scan->error.code;

    *frame = (kl__frame){.type = KL__FRAME_MORE};
    while (code == KL_OK && frame->type == KL__FRAME_MORE &&
           scan->at < scan->bytes.length) {
        code = step(scan, frame);
    }
    if (code == KL_OK) {
        code = check_bounds(scan, frame);
    }
    if (code != KL_OK) {
        *frame = (kl__frame){.type = KL__FRAME_MORE};
        return broken(scan, err);
    }
    if (frame->type == KL__FRAME_MORE) {
        give_back(scan);
    }
    return KL_OK;
}

bool kl__scan_at_boundary(const kl__scan *scan)
{
    state end = scan->mode == KL__SCAN_WATCH ? BEFORE_TOP : AFTER_TOP;

    return scan->error.code == KL_OK && scan->state == end &&
           scan->at == scan->bytes.length;
}

void kl__scan_excerpt(const kl__scan *scan, char *text, size_t size)
{
    kl__text_excerpt(text, size, scan->head, scan->head_length);
}
