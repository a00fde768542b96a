/*
 * frames.c - the frame cutter: "L" or "W" and a pattern of chunks on the first
 * line, a list's or a watch's bytes on the others. The frames do not depend on
 * the chunks, and are what yyjson reads from the whole text.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "json/check.h"
#include "json/scan.h"
#include "json/skip.h"
#include "json/text.h"
#include "object/object.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum { MOST_FRAMES = 128 };

/* The result of a scan. */
typedef struct outcome {
    kl__buf log; /* every frame, and where the stream broke */
    kl_code code;
    bool at_boundary;
    size_t count;
    fuzz_text frames[MOST_FRAMES]; /* the texts, copied */
    fuzz_text names[MOST_FRAMES];
    bool has_end;
    bool has_items;
    char *rest; /* the rest of a list */
} outcome;

static fuzz_text keep(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};

    text.bytes = fuzz_string(text);
    return text;
}

/* The outline that the cutter noted of a frame agrees with the frame's text. */
static void expect_outline(const kl__frame *frame)
{
    static const kl_object_options options = {.kind = "Pod",
                                              .api_version = "v1"};
    char *block = fuzz_block((fuzz_text){frame->text, frame->length});
    kl__text_shape shape = {.spaces = frame->spaces, .outline = frame->outline};
    kl_doc *doc = kl_doc_parse(block, frame->length, NULL);
    kl_error err = {.message = ""}, plain_err = {.message = ""};
    kl_object *object =
        kl__object_parse_measured(block, frame->length, &shape, &options, &err);
    kl_object *plain =
        kl_object_parse(block, frame->length, &options, &plain_err);

    FUZZ_EXPECT(frame->outline == NULL || !frame->outline->is_sure ||
                doc != NULL);
    FUZZ_EXPECT((object == NULL) == (plain == NULL));
    FUZZ_EXPECT(strcmp(err.message, plain_err.message) == 0);
    if (object != NULL) {
        FUZZ_EXPECT(strcmp(kl_object_key(object), kl_object_key(plain)) == 0);
        FUZZ_EXPECT(strcmp(kl_object_uid(object), kl_object_uid(plain)) == 0);
        FUZZ_EXPECT(strcmp(kl_object_kind(object), kl_object_kind(plain)) == 0);
        FUZZ_EXPECT(strcmp(kl_object_api_version(object),
                           kl_object_api_version(plain)) == 0);
        FUZZ_EXPECT(strcmp(kl_object_resource_version(object),
                           kl_object_resource_version(plain)) == 0);
        FUZZ_EXPECT(strcmp(kl_object_json(object, NULL, NULL),
                           kl_object_json(plain, NULL, NULL)) == 0);
    }
    kl_object_unref(object);
    kl_object_unref(plain);
    kl_doc_unref(doc);
    free(block);
}

static void take_frame(outcome *out, const kl__frame *frame)
{
    kl__text_shape shape = kl__text_measure(frame->text, frame->length);

    kl__buf_printf(&out->log, "%d %zu %zu\n", (int)frame->type,
                   frame->name_length, frame->length);
    kl__buf_append(&out->log, frame->name, frame->name_length);
    kl__buf_append(&out->log, frame->text, frame->length);
    if (frame->type == KL__FRAME_END) {
        FUZZ_EXPECT(!out->has_end);
        out->has_end = true;
        out->has_items = frame->name != NULL;
        out->rest = fuzz_string((fuzz_text){frame->text, frame->length});
        return;
    }
    FUZZ_EXPECT((frame->remains != NULL) == (frame->failure != KL_OK));
    FUZZ_EXPECT(frame->failure == KL_OK || frame->failure == KL_EPARSE);
    FUZZ_EXPECT((frame->failure == KL_OK) == (shape.depth <= KL_MAX_DEPTH));
    FUZZ_EXPECT(frame->text[0] == '{');
    FUZZ_EXPECT(frame->text[frame->length - 1] == '}');
    if (frame->failure != KL_OK) {
        return;
    }
    FUZZ_EXPECT(frame->spaces == shape.spaces);
    expect_outline(frame);
    if (out->count < MOST_FRAMES) {
        out->names[out->count] = keep(frame->name, frame->name_length);
        out->frames[out->count++] = keep(frame->text, frame->length);
    }
}

static void end_log(outcome *out, const kl_error *err)
{
    const char *found = strstr(err->message, "; found: ");

    /* The text after "; found: " depends on the chunk. */
    kl__buf_append(&out->log, err->message,
                   found != NULL ? (size_t)(found - err->message)
                                 : strlen(err->message));
}

static outcome *scan_all(kl__scan_mode mode, fuzz_text text, fuzz_chunks chunks)
{
    outcome *out = calloc(1, sizeof(*out));
    kl__scan *scan = kl__scan_new(mode);
    kl_error err = {.message = ""};
    kl__frame frame;

    while (text.length > 0 && out->code == KL_OK) {
        size_t size = fuzz_chunk(&chunks, text.length);
        char *chunk = fuzz_block((fuzz_text){text.bytes, size});

        out->code = kl__scan_feed(scan, chunk, size, &err);
        free(chunk);
        while (out->code == KL_OK) {
            out->code = kl__scan_next(scan, &frame, &err);
            if (out->code != KL_OK || frame.type == KL__FRAME_MORE) {
                break;
            }
            take_frame(out, &frame);
        }
        text.bytes += size;
        text.length -= size;
    }
    if (out->code != KL_OK) {
        end_log(out, &err);
        FUZZ_EXPECT(kl__scan_next(scan, &frame, &err) == out->code);
        FUZZ_EXPECT(kl__scan_feed(scan, "{}", 2, &err) == out->code);
    }
    out->at_boundary = kl__scan_at_boundary(scan);
    kl__scan_free(scan);
    return out;
}

static void free_outcome(outcome *out)
{
    for (size_t i = 0; i < out->count; i++) {
        free((char *)(uintptr_t)out->frames[i].bytes);
        free((char *)(uintptr_t)out->names[i].bytes);
    }
    kl__buf_deinit(&out->log);
    free(out->rest);
    free(out);
}

static yyjson_doc *read_next(fuzz_text *text)
{
    yyjson_doc *doc = yyjson_read_opts(
        (char *)(uintptr_t)text->bytes, text->length,
        YYJSON_READ_STOP_WHEN_DONE | YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
    size_t size = doc != NULL ? yyjson_doc_get_read_size(doc) : 0;

    text->bytes += size;
    text->length -= size;
    return doc;
}

/* True if a frame's text is that value. */
static bool is_value(fuzz_text frame, const yyjson_val *value)
{
    kl_doc *doc = kl_doc_parse(frame.bytes, frame.length, NULL);
    bool same =
        doc != NULL && fuzz_same(kl_doc_root(doc), (const kl_value *)(value));

    kl_doc_unref(doc);
    return same;
}

/* The member of that name, spelled without escapes; NULL: none. `repeats` gets
 * how many there are. */
static yyjson_val *only_member(yyjson_val *object, const char *name,
                               size_t *repeats)
{
    yyjson_obj_iter iter = yyjson_obj_iter_with(object);
    yyjson_val *key, *found = NULL;

    *repeats = 0;
    while ((key = yyjson_obj_iter_next(&iter)) != NULL) {
        if (yyjson_equals_str(key, name)) {
            found = yyjson_obj_iter_get_val(key);
            ++*repeats;
        }
    }
    return found;
}

/* True if a text is nested as deeply as the library allows, or deeper. */
static bool is_deep(fuzz_text text)
{
    return kl__text_measure(text.bytes, text.length).depth >= KL_MAX_DEPTH;
}

/* Events that yyjson reads one after the other are cut into the same frames.
 * Texts with escapes are left out: the cutter reads names and types by their
 * bytes, and no server escapes them. */
static void expect_events(const outcome *out, fuzz_text text)
{
    bool sound = memchr(text.bytes, '\\', text.length) == NULL;
    size_t count = 0;

    while (sound && text.length > 0 && count < out->count) {
        size_t types, objects;
        yyjson_doc *doc = read_next(&text);
        yyjson_val *root = yyjson_doc_get_root(doc);
        yyjson_val *type = only_member(root, "type", &types);
        yyjson_val *object = only_member(root, "object", &objects);

        sound = types == 1 && objects == 1 && yyjson_is_str(type) &&
                yyjson_get_len(type) > 0 && yyjson_is_obj(object);
        if (sound) {
            FUZZ_EXPECT(fuzz_is(out->names[count], yyjson_get_str(type)));
            FUZZ_EXPECT(is_value(out->frames[count], object));
            count++;
        }
        yyjson_doc_free(doc);
    }
    /* The cutter stopped at the same event as yyjson, or later. */
    FUZZ_EXPECT(!sound || count == out->count);
    if (sound && out->code != KL_OK && text.length > 0 && count < MOST_FRAMES &&
        !is_deep(text)) {
        yyjson_doc *doc = read_next(&text);
        yyjson_val *root = yyjson_doc_get_root(doc);
        size_t types, objects;

        FUZZ_EXPECT(!yyjson_is_obj(root) ||
                    !yyjson_is_str(only_member(root, "type", &types)) ||
                    !yyjson_is_obj(only_member(root, "object", &objects)) ||
                    types != 1 || objects != 1 ||
                    yyjson_get_len(yyjson_obj_get(root, "type")) == 0);
        yyjson_doc_free(doc);
    }
}

static void expect_items(const outcome *out, yyjson_val *items)
{
    yyjson_arr_iter iter = yyjson_arr_iter_with(items);
    yyjson_val *item;
    size_t count = 0;

    while ((item = yyjson_arr_iter_next(&iter)) != NULL) {
        if (!yyjson_is_obj(item)) {
            FUZZ_EXPECT(out->code == KL_EPARSE);
            return;
        }
        FUZZ_EXPECT(count == MOST_FRAMES || count < out->count);
        if (count < out->count) {
            FUZZ_EXPECT(is_value(out->frames[count], item));
            count++;
        }
    }
    FUZZ_EXPECT(out->count == count);
}

/* The rest of a list is the object without its items. */
static void expect_rest(const outcome *out, const kl_value *root)
{
    kl_doc *rest = kl_doc_parse(out->rest, strlen(out->rest), NULL);
    kl_value_iter whole = {0}, part = {0};
    const kl_value *value, *key, *other;

    FUZZ_EXPECT(rest != NULL);
    while ((value = kl_value_next(root, &whole, &key)) != NULL) {
        if (strcmp(kl_value_string(key, NULL), "items") != 0) {
            const kl_value *name;

            other = kl_value_next(kl_doc_root(rest), &part, &name);
            FUZZ_EXPECT(fuzz_same(key, name) && fuzz_same(value, other));
        }
    }
    FUZZ_EXPECT(part.index == kl_value_size(kl_doc_root(rest)));
    kl_doc_unref(rest);
}

static void expect_list(const outcome *out, fuzz_text text)
{
    kl_doc *doc = kl_doc_parse(text.bytes, text.length, NULL);
    yyjson_val *root, *items;
    size_t repeats;

    if (doc == NULL || is_deep(text) ||
        memchr(text.bytes, '\\', text.length) != NULL) {
        kl_doc_unref(doc);
        return;
    }
    root = (yyjson_val *)(uintptr_t)kl_doc_root(doc);
    items = only_member(root, "items", &repeats);
    if (!yyjson_is_obj(root) || repeats > 1 ||
        (repeats == 1 && !yyjson_is_arr(items) && !yyjson_is_null(items))) {
        FUZZ_EXPECT(out->code == KL_EPARSE);
    } else {
        expect_items(out, items);
        FUZZ_EXPECT(out->code == KL_EPARSE ||
                    (out->has_end && out->at_boundary &&
                     out->has_items == (repeats == 1)));
        if (out->code == KL_OK) {
            expect_rest(out, kl_doc_root(doc));
        }
    }
    kl_doc_unref(doc);
}

/* The first object of a text, as `way` reads it in chunks. */
static kl__skip_result skip_first(kl__skip_way way, fuzz_text text,
                                  fuzz_chunks chunks, kl__outline *outline,
                                  size_t *taken)
{
    kl__skip_result result = KL__SKIP_MORE;
    const char *at = text.bytes;
    size_t fed = 0;
    kl__skip_levels levels;
    kl__skip skip;

    *outline = (kl__outline){.is_sure = false};
    kl__skip_begin(&skip, &levels, '{');
    skip.way = way;
    kl__skip_outline(&skip, outline);
    while (result == KL__SKIP_MORE && fed < text.length) {
        fed += fuzz_chunk(&chunks, text.length - fed);
        result = kl__skip_run(&skip, &at, text.bytes + fed);
    }
    *taken = (size_t)(at - text.bytes);
    return result;
}

/* All ways of the machine find the same. If an outline is sure may
 * depend on the chunks: a backslash behind the object makes it unsure. */
static void expect_ways(fuzz_text text, fuzz_chunks chunks)
{
    const char *brace =
        text.length > 0 ? memchr(text.bytes, '{', text.length) : NULL;
    kl__outline narrow, wide;
    size_t first, other;
    kl__skip_result result;

    if (brace == NULL || !kl__skip_has(KL__SKIP_16)) {
        return;
    }
    text.length -= (size_t)(brace - text.bytes);
    text.bytes = brace;
    result = skip_first(KL__SKIP_16, text, chunks, &narrow, &first);
    for (kl__skip_way way = KL__SKIP_16; way <= KL__SKIP_64; way++) {
        if (!kl__skip_has(way)) {
            continue;
        }
        FUZZ_EXPECT(skip_first(way, text, chunks, &wide, &other) == result);
        FUZZ_EXPECT(result == KL__SKIP_MORE || other == first);
        FUZZ_EXPECT(wide.is_sure == narrow.is_sure);
        FUZZ_EXPECT(!wide.is_sure || wide.count == narrow.count);
        for (size_t i = 0; wide.is_sure && i < wide.count; i++) {
            FUZZ_EXPECT(wide.keys[i].at == narrow.keys[i].at);
            FUZZ_EXPECT(wide.keys[i].is_in == narrow.keys[i].is_in);
        }
    }
}

void fuzz_frames(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text head = fuzz_line(&text);
    kl__scan_mode mode = head.length > 0 && head.bytes[0] == 'L'
                             ? KL__SCAN_LIST
                             : KL__SCAN_WATCH;
    fuzz_text pattern = {head.bytes + 1, head.length > 0 ? head.length - 1 : 0};
    outcome *whole = scan_all(mode, text, (fuzz_chunks){.at = 0});
    outcome *cut = scan_all(mode, text, (fuzz_chunks){.pattern = pattern});

    FUZZ_EXPECT(whole->code == KL_OK || whole->code == KL_EPARSE);
    FUZZ_EXPECT(whole->code == cut->code);
    FUZZ_EXPECT(whole->at_boundary == cut->at_boundary);
    FUZZ_EXPECT(whole->log.length == cut->log.length);
    FUZZ_EXPECT(whole->log.length == 0 ||
                memcmp(whole->log.bytes, cut->log.bytes, whole->log.length) ==
                    0);
    if (text.length > 0 && mode == KL__SCAN_LIST) {
        expect_list(whole, text);
    } else if (text.length > 0) {
        expect_events(whole, text);
    }
    expect_ways(text, (fuzz_chunks){.at = 0});
    expect_ways(text, (fuzz_chunks){.pattern = pattern});
    free_outcome(whole);
    free_outcome(cut);
}
