/*
 * scan.c - see scan.h. Buffers the bytes from the start of the current frame
 * on, and runs a state machine over them. A byte is read once, but the last 63
 * bytes that have arrived may be read again with each chunk (skip.h). Both
 * modes read the members of an object. A watch event gives one frame. A list
 * gives one frame for each item; its other members, before or behind the items
 * (docs/KUBERNETES.md#order-of-members), are collected for the last frame.
 */
#include "json/scan.h"

#include "base/mem.h"
#include "json/skip.h"
#include "json/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { IDLE_CAPACITY = 1024 * 1024, HEAD = 160 };

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

/* A range of scan->bytes. */
typedef struct span {
    size_t at;
    size_t length; /* 0: no range */
} span;

struct kl__scan {
    kl__scan_mode mode;
    state state;
    kl__skip skip; /* finds the end of the current key, value or item */
    kl__skip_levels levels; /* of `skip` */
    kl__outline outline; /* of the last item, or of the last event's object */

    kl__buf bytes;
    size_t kept;     /* bytes before this offset are not needed any more */
    size_t at;       /* the next byte to look at */
    uint64_t offset; /* position of bytes[0] in the stream */
    bool is_hungry;  /* the bytes from `at` on are too few: feed more */
    bool is_keeping; /* the bytes of a frame or member start at `kept` */

    span key;        /* of the current member, with the quotes */
    size_t value_at; /* where the current member's value starts */
    span type;       /* the type of a watch event, without the quotes */
    span object;     /* the object of a watch event */
    size_t spaces;   /* bytes of whitespace in `object` */
    kl_code failure; /* of the item or object; see kl__frame */
    size_t dropped;  /* bytes of it that are not kept any more */
    kl__remains remains;
    kl__buf rest; /* a list's members except the items */
    bool has_items;

    kl_error error; /* code KL_OK until the stream is invalid */
    char head[HEAD];
    size_t head_length;
};

/* What may come next, for error messages. */
static const char *expected_text(const kl__scan *scan)
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

    snprintf(what, sizeof(what), "expected %s", expected_text(scan));
    return fail_with(scan, what);
}

/* Keeps the bytes from the current one on in the buffer. */
static void keep_bytes(kl__scan *scan)
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
        keep_bytes(scan);
    }
    scan->key = (span){scan->at, 0};
    kl__skip_begin(&scan->skip, &scan->levels, '"');
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

/* `byte` is the value's first byte, not consumed yet. */
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
    if (!kl__skip_begin(&scan->skip, &scan->levels, byte)) {
        return fail_expecting(scan);
    }
    if (is_watch && key_is(scan, "object")) {
        kl__skip_outline(&scan->skip, &scan->outline);
    }
    scan->value_at = scan->at;
    scan->state = IN_VALUE;
    return KL_OK;
}

/* Adds a member of a list to scan->rest. "items": null is not added: it means
 * an empty list. */
static kl_code end_list_member(kl__scan *scan)
{
    const char *bytes = scan->bytes.bytes;

    scan->is_keeping = false;
    if (key_is(scan, "items")) {
        if (scan->at - scan->value_at != 4 ||
            memcmp(bytes + scan->value_at, "null", 4) != 0) {
            return fail_with(scan, "items is not an array");
        }
        if (scan->has_items) {
            return fail_with(scan, "a list with items twice");
        }
        scan->has_items = true;
        return KL_OK;
    }
    kl__buf_putc(&scan->rest, scan->rest.length == 0 ? '{' : ',');
    kl__buf_append(&scan->rest, bytes + scan->kept, scan->at - scan->kept);
    return KL_OK;
}

/* True while the bytes of an item or an event's object are read. */
static bool is_in_object(const kl__scan *scan)
{
    return scan->state == IN_ITEM ||
           (scan->state == IN_VALUE && scan->mode == KL__SCAN_WATCH &&
            key_is(scan, "object"));
}

/* The offset of the first byte of the item or object that is still there. */
static size_t object_begin(const kl__scan *scan)
{
    return scan->state == IN_ITEM ? scan->kept : scan->value_at;
}

/* Drops the bytes of the item or object that is being cut, which is too large.
 * False: another member is, and its bytes are needed; or too many were
 * dropped. */
static bool drop_frame(kl__scan *scan)
{
    size_t from, length;

    if (!is_in_object(scan)) {
        return false;
    }
    from = object_begin(scan);
    length = scan->at - from;
    if (scan->failure != KL_ETOO_LARGE) {
        scan->failure = KL_ETOO_LARGE;
        scan->remains = (kl__remains){0};
        scan->dropped = 0;
        scan->skip.outline = NULL; /* it needs the bytes */
    }
    kl__remains_feed(&scan->remains, scan->bytes.bytes + from, length);
    scan->bytes.length -= length;
    memmove(scan->bytes.bytes + from, scan->bytes.bytes + scan->at,
            scan->bytes.length - from);
    scan->offset += length;
    scan->dropped += length;
    scan->at = from;
    return scan->dropped <= KL__MAX_PASSED;
}

/* Notes why the item or object that is complete cannot be read, if so. */
static void note_failure(kl__scan *scan)
{
    size_t from = object_begin(scan);
    bool is_large = scan->at - from > KL__MAX_FRAME;

    if (scan->failure != KL_ETOO_LARGE) {
        if (!is_large && !scan->skip.is_too_deep) {
            return;
        }
        scan->failure = is_large ? KL_ETOO_LARGE : KL_EPARSE;
        scan->remains = (kl__remains){0};
    }
    kl__remains_feed(&scan->remains, scan->bytes.bytes + from, scan->at - from);
}

/* Adds to a frame what note_failure has found. */
static void put_failure(const kl__scan *scan, kl__frame *frame)
{
    if (scan->failure == KL_OK) {
        return;
    }
    frame->failure = scan->failure;
    frame->remains = &scan->remains;
    if (scan->failure == KL_ETOO_LARGE) {
        frame->text = NULL;
        frame->length = 0;
    }
}

static kl_code end_value(kl__scan *scan)
{
    if (is_in_object(scan)) {
        note_failure(scan);
    } else if (scan->skip.is_too_deep) {
        return fail_with(scan, "nested too deeply");
    }
    scan->state = AFTER_VALUE;
    if (scan->mode == KL__SCAN_LIST) {
        return end_list_member(scan);
    }
    if (key_is(scan, "type")) {
        scan->type = (span){scan->value_at + 1, scan->at - scan->value_at - 2};
    } else if (key_is(scan, "object")) {
        scan->object = (span){scan->value_at, scan->at - scan->value_at};
        scan->spaces = scan->skip.spaces;
    }
    return KL_OK;
}

/* At the closing brace of an event or a list: fills its frame. */
static kl_code end_top(kl__scan *scan, kl__frame *frame)
{
    const char *bytes = scan->bytes.bytes;

    if (scan->mode == KL__SCAN_LIST) {
        kl__buf_puts(&scan->rest, scan->rest.length == 0 ? "{}" : "}");
        *frame = (kl__frame){.type = KL__FRAME_END,
                             .name = scan->has_items ? "items" : NULL,
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
                             .length = scan->object.length,
                             .spaces = scan->spaces,
                             .outline = &scan->outline};
        put_failure(scan, frame);
        scan->state = BEFORE_TOP;
    }
    scan->is_keeping = false;
    scan->at++;
    return KL_OK;
}

static kl_code begin_top(kl__scan *scan)
{
    if (scan->mode == KL__SCAN_WATCH) {
        keep_bytes(scan);
    }
    scan->type = (span){0};
    scan->object = (span){0};
    scan->failure = KL_OK;
    scan->dropped = 0;
    scan->at++;
    scan->state = BEFORE_FIRST_KEY;
    return KL_OK;
}

static kl_code begin_item(kl__scan *scan)
{
    keep_bytes(scan);
    kl__skip_begin(&scan->skip, &scan->levels, '{');
    kl__skip_outline(&scan->skip, &scan->outline);
    scan->failure = KL_OK;
    scan->dropped = 0;
    scan->state = IN_ITEM;
    return KL_OK;
}

static kl_code move_on(kl__scan *scan, state to)
{
    scan->at++;
    scan->state = to;
    return KL_OK;
}

/* Consumes a byte that is neither whitespace nor part of a key, value or
 * item. */
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

/* The current key, value or item is complete. */
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
    note_failure(scan);
    *frame = (kl__frame){.type = KL__FRAME_ITEM,
                         .text = scan->bytes.bytes + scan->kept,
                         .length = scan->at - scan->kept,
                         .spaces = scan->skip.spaces,
                         .outline = &scan->outline};
    put_failure(scan, frame);
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
    scan->is_hungry = result == KL__SKIP_MORE && at < end;
    switch (result) {
    case KL__SKIP_DONE:
        return end_skip(scan, frame);
    case KL__SKIP_MISMATCH:
        return fail_with(scan, "a bracket that closes another one");
    default:
        return KL_OK;
    }
}

/* Consumes the next byte, or what is available of a key, value or item. The
 * caller makes sure that there is a byte. Fills `frame` when a frame is
 * complete. Stores a failure in scan->error, too. */
static kl_code take_step(kl__scan *scan, kl__frame *frame)
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

/* Copies the stored failure to `err` and returns its code. */
static kl_code copy_failure(const kl__scan *scan, kl_error *err)
{
    if (err != NULL) {
        *err = scan->error;
    }
    return scan->error.code;
}

/* Drops the bytes before the current frame. Offsets of ranges in the dropped
 * bytes wrap around; they are set again before they are used. */
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

char *kl__scan_room(kl__scan *scan, size_t size, kl_error *err)
{
    char *room = NULL;

    if (scan->error.code == KL_OK) {
        /* A frame's bytes are moved at most once: afterwards the frame starts
         * at 0. */
        drop_done(scan);
        room = kl__buf_reserve(&scan->bytes, size);
        if (room == NULL) {
            kl_error_set(&scan->error, KL_ENOMEM, "out of memory for a frame");
        }
    }
    if (room == NULL) {
        copy_failure(scan, err);
    }
    return room;
}

void kl__scan_rest(kl__scan *scan)
{
    if (scan->bytes.length == 0) {
        kl__buf_deinit(&scan->bytes);
    }
}

void kl__scan_fed(kl__scan *scan, size_t length)
{
    size_t head = sizeof(scan->head) - scan->head_length;

    head = head < length ? head : length;
    if (head > 0) {
        memcpy(scan->head + scan->head_length,
               scan->bytes.bytes + scan->bytes.length, head);
        scan->head_length += head;
    }
    scan->bytes.length += length;
    scan->bytes.bytes[scan->bytes.length] = '\0';
    scan->is_hungry = false;
}

kl_code kl__scan_feed(kl__scan *scan, const char *bytes, size_t length,
                      kl_error *err)
{
    char *room = kl__scan_room(scan, length, err);

    if (room == NULL) {
        return scan->error.code;
    }
    if (length > 0) {
        memcpy(room, bytes, length);
    }
    kl__scan_fed(scan, length);
    return KL_OK;
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
        if (scan->is_keeping) {
            /* An event's object has its own bound: see note_failure. */
            held += scan->bytes.length - scan->kept - scan->object.length;
        }
    }
    if ((held > KL__MAX_FRAME || scan->failure == KL_ETOO_LARGE) &&
        frame->type == KL__FRAME_MORE && drop_frame(scan)) {
        return KL_OK;
    }
    if (held > KL__MAX_FRAME || scan->dropped > KL__MAX_PASSED) {
        return kl_error_set(
            &scan->error, KL_ETOO_LARGE,
            "one part of the stream takes more than %d MB",
            (scan->dropped > KL__MAX_PASSED ? KL__MAX_PASSED : KL__MAX_FRAME) /
                (1024 * 1024));
    }
    return KL_OK;
}

/* A watch may be idle for minutes. It must not keep the memory of one large
 * object meanwhile. */
static void free_idle_bytes(kl__scan *scan)
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
           scan->at < scan->bytes.length && !scan->is_hungry) {
        code = take_step(scan, frame);
    }
    if (code == KL_OK) {
        code = check_bounds(scan, frame);
    }
    if (code != KL_OK) {
        *frame = (kl__frame){.type = KL__FRAME_MORE};
        return copy_failure(scan, err);
    }
    if (frame->type == KL__FRAME_MORE) {
        free_idle_bytes(scan);
    }
    return KL_OK;
}

kl_code kl__frame_error(const kl__frame *frame, kl_error *err)
{
    if (frame->failure == KL_ETOO_LARGE) {
        return kl_error_set(err, KL_ETOO_LARGE, "it takes more than %d MB",
                            KL__MAX_FRAME / (1024 * 1024));
    }
    return kl_error_set(err, frame->failure,
                        "JSON nested deeper than %d levels", KL_MAX_DEPTH);
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
