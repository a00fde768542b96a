/*
 * scan_grammar.c - the state machine behind scan.c. Both modes read the members
 * of an object. A watch event gives one frame. A list gives one frame for each
 * item; its other members, before or behind the items
 * (docs/KUBERNETES.md#order-of-members), are collected for the last frame.
 */
#include "json/scan_state.h"

#include "json/text.h"

#include <stdio.h>
#include <string.h>

/* What may come next, for error messages. */
static const char *expected_text(const kl__scan *scan)
{
    static const char *const texts[] = {
        [KL__BEFORE_TOP] = "\"{\"",
        [KL__BEFORE_FIRST_KEY] = "a member's name or \"}\"",
        [KL__BEFORE_KEY] = "a member's name",
        [KL__BEFORE_COLON] = "\":\"",
        [KL__BEFORE_VALUE] = "a value",
        [KL__AFTER_VALUE] = "\",\" or \"}\"",
        [KL__BEFORE_FIRST_ITEM] = "an item's \"{\" or \"]\"",
        [KL__BEFORE_ITEM] = "an item's \"{\"",
        [KL__AFTER_ITEM] = "\",\" or \"]\"",
        [KL__AFTER_TOP] = "nothing after the list",
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
    scan->key = (kl__span){scan->at, 0};
    kl__skip_begin(&scan->skip, &scan->levels, '"');
    scan->state = KL__IN_KEY;
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
    scan->state = KL__BEFORE_FIRST_ITEM;
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
    scan->state = KL__IN_VALUE;
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
    return scan->state == KL__IN_ITEM ||
           (scan->state == KL__IN_VALUE && scan->mode == KL__SCAN_WATCH &&
            key_is(scan, "object"));
}

/* The offset of the first byte of the item or object that is still there. */
static size_t object_begin(const kl__scan *scan)
{
    return scan->state == KL__IN_ITEM ? scan->kept : scan->value_at;
}

bool kl__scan_drop(kl__scan *scan)
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
    scan->state = KL__AFTER_VALUE;
    if (scan->mode == KL__SCAN_LIST) {
        return end_list_member(scan);
    }
    if (key_is(scan, "type")) {
        scan->type =
            (kl__span){scan->value_at + 1, scan->at - scan->value_at - 2};
    } else if (key_is(scan, "object")) {
        scan->object = (kl__span){scan->value_at, scan->at - scan->value_at};
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
        scan->state = KL__AFTER_TOP;
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
        scan->state = KL__BEFORE_TOP;
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
    scan->type = (kl__span){0};
    scan->object = (kl__span){0};
    scan->failure = KL_OK;
    scan->dropped = 0;
    scan->at++;
    scan->state = KL__BEFORE_FIRST_KEY;
    return KL_OK;
}

static kl_code begin_item(kl__scan *scan)
{
    keep_bytes(scan);
    kl__skip_begin(&scan->skip, &scan->levels, '{');
    kl__skip_outline(&scan->skip, &scan->outline);
    scan->failure = KL_OK;
    scan->dropped = 0;
    scan->state = KL__IN_ITEM;
    return KL_OK;
}

static kl_code move_on(kl__scan *scan, kl__scan_state to)
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
    case KL__BEFORE_TOP:
        return byte == '{' ? begin_top(scan) : fail_expecting(scan);
    case KL__BEFORE_FIRST_KEY:
        if (byte == '}') {
            return end_top(scan, frame);
        }
        return byte == '"' ? begin_key(scan) : fail_expecting(scan);
    case KL__BEFORE_KEY:
        return byte == '"' ? begin_key(scan) : fail_expecting(scan);
    case KL__BEFORE_COLON:
        return byte == ':' ? move_on(scan, KL__BEFORE_VALUE)
                           : fail_expecting(scan);
    case KL__BEFORE_VALUE:
        return begin_value(scan, byte);
    case KL__AFTER_VALUE:
        if (byte == '}') {
            return end_top(scan, frame);
        }
        return byte == ',' ? move_on(scan, KL__BEFORE_KEY)
                           : fail_expecting(scan);
    case KL__BEFORE_FIRST_ITEM:
    case KL__AFTER_ITEM:
        if (byte == ']') {
            return move_on(scan, KL__AFTER_VALUE);
        }
        if (scan->state == KL__AFTER_ITEM && byte == ',') {
            return move_on(scan, KL__BEFORE_ITEM);
        }
        return scan->state == KL__BEFORE_FIRST_ITEM && byte == '{'
                   ? begin_item(scan)
                   : fail_expecting(scan);
    case KL__BEFORE_ITEM:
        return byte == '{' ? begin_item(scan) : fail_expecting(scan);
    default:
        return fail_expecting(scan);
    }
}

/* The current key, value or item is complete. */
static kl_code end_skip(kl__scan *scan, kl__frame *frame)
{
    if (scan->state == KL__IN_VALUE) {
        return end_value(scan);
    }
    if (scan->state == KL__IN_KEY) {
        scan->key.length = scan->at - scan->key.at;
        scan->state = KL__BEFORE_COLON;
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
    scan->state = KL__AFTER_ITEM;
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

kl_code kl__scan_step(kl__scan *scan, kl__frame *frame)
{
    char byte;

    if (scan->state == KL__IN_KEY || scan->state == KL__IN_VALUE ||
        scan->state == KL__IN_ITEM) {
        return run_skip(scan, frame);
    }
    byte = scan->bytes.bytes[scan->at];
    if (kl__byte_class[(unsigned char)byte] == KL__BYTE_SPACE) {
        scan->at++;
        return KL_OK;
    }
    return take_byte(scan, byte, frame);
}
