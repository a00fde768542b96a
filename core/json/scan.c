/*
 * scan.c - see scan.h. Buffers the bytes from the start of the current frame
 * on. A byte is read once, but the last 63 bytes that have arrived may be read
 * again with each chunk (skip.h). scan_grammar.c interprets the bytes.
 */
#include "json/scan.h"

#include "base/mem.h"
#include "json/scan_state.h"
#include "json/text.h"

#include <string.h>

enum { IDLE_CAPACITY = 1024 * 1024 };

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
        frame->type == KL__FRAME_MORE && kl__scan_drop(scan)) {
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
        code = kl__scan_step(scan, frame);
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
    kl__scan_state end =
        scan->mode == KL__SCAN_WATCH ? KL__BEFORE_TOP : KL__AFTER_TOP;

    return scan->error.code == KL_OK && scan->state == end &&
           scan->at == scan->bytes.length;
}

void kl__scan_excerpt(const kl__scan *scan, char *text, size_t size)
{
    kl__text_excerpt(text, size, scan->head, scan->head_length);
}
