/*
 * list_parse.c - see kubelua/list.h. Cuts the items out of the text, as a
 * reflector does, so that each of them can fail by itself.
 */
#include "kubelua/list.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/scan.h"
#include "object/object.h"
#include "object/resource.h"
#include "object/unreadable.h"

#include <string.h>

typedef struct reader {
    kl__scan *scan;
    const kl_object_options *options;
    kl_list_page *list;
    size_t object_room;
    size_t unreadable_room;
    bool has_end; /* the list is complete */
    kl_error *err;
} reader;

void kl_unreadable_list_clear(kl_unreadable_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl__free(list->items[i].key);
        kl__free(list->items[i].why);
    }
    kl__free(list->items);
    *list = (kl_unreadable_list){0};
}

void kl_list_clear(kl_list_page *list)
{
    kl_object_list_clear(&list->objects);
    kl_unreadable_list_clear(&list->unreadable);
    kl__free(list->continue_token);
    list->continue_token = NULL;
}

/* Room for one more item of `size` bytes; false: out of memory. */
static bool make_room(void *items, size_t count, size_t *room, size_t size)
{
    void **array = items;
    size_t wanted = *room * 2 + 64;
    void *grown;

    if (count < *room) {
        return true;
    }
    grown = kl__realloc(*array, wanted * size);
    if (grown != NULL) {
        *array = grown;
        *room = wanted;
    }
    return grown != NULL;
}

static kl_code fail_memory(const reader *self)
{
    return kl_error_set(self->err, KL_ENOMEM, "out of memory for a list");
}

static kl_code add_unreadable(reader *self, const kl__frame *frame)
{
    kl_unreadable_list *list = &self->list->unreadable;
    kl__unreadable *made;
    kl_unreadable *added;
    kl_code code =
        kl__unreadable_of_frame(frame, self->options->kind, &made, self->err);

    if (code != KL_OK) {
        return code;
    }
    if (!make_room(&list->items, list->count, &self->unreadable_room,
                   sizeof(*list->items))) {
        kl__free(made);
        return fail_memory(self);
    }
    added = &list->items[list->count++];
    *added = (kl_unreadable){.key = kl__strdup(made->key),
                             .why = kl__strdup(made->why)};
    kl__free(made);
    return added->key != NULL && added->why != NULL ? KL_OK : fail_memory(self);
}

static kl_code add_item(reader *self, const kl__frame *frame)
{
    kl__text_shape shape = {.spaces = frame->spaces, .outline = frame->outline};
    kl_object_list *list = &self->list->objects;
    kl_object *object = NULL;

    if (frame->failure != KL_OK) {
        kl__frame_error(frame, self->err);
    } else {
        object = kl__object_parse_measured(frame->text, frame->length, &shape,
                                           self->options, self->err);
    }
    if (object == NULL) {
        return self->err->code == KL_ENOMEM ? KL_ENOMEM
                                            : add_unreadable(self, frame);
    }
    if (!make_room(&list->items, list->count, &self->object_room,
                   sizeof(*list->items))) {
        kl_object_unref(object);
        return fail_memory(self);
    }
    list->items[list->count++] = object;
    return KL_OK;
}

static const char *string_of(const kl_value *value)
{
    const char *text =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : NULL;

    return text != NULL ? text : "";
}

static kl_code refuse_list(const reader *self, const kl_value *root)
{
    const char *kind = string_of(kl_value_get(root, "kind"));

    return kl_error_set(
        self->err, KL_EPARSE,
        "a list was asked for, and the server answered with %s%.60s",
        kind[0] != '\0' ? "kind " : "other JSON", kind);
}

/* All but the items. */
static kl_code read_rest(reader *self, const kl__frame *frame)
{
    kl_doc *doc = kl_doc_parse(frame->text, frame->length, self->err);
    const kl_value *root, *metadata;
    const char *kind;
    kl_code code = KL_OK;

    if (doc == NULL) {
        return self->err->code;
    }
    root = kl_doc_root(doc);
    kind = string_of(kl_value_get(root, "kind"));
    metadata = kl_value_get(root, "metadata");
    if (frame->name != NULL ? strcmp(kind, "Table") == 0
                            : !kl__is_bare_list(root)) {
        code = refuse_list(self, root);
    } else {
        self->list->continue_token =
            kl__strdup(string_of(kl_value_get(metadata, "continue")));
        code = self->list->continue_token != NULL ? KL_OK : fail_memory(self);
    }
    kl_doc_unref(doc);
    return code;
}

static kl_code read_frames(reader *self)
{
    for (;;) {
        kl__frame frame;
        kl_code code = kl__scan_next(self->scan, &frame, self->err);

        if (code == KL_OK && frame.type == KL__FRAME_ITEM) {
            code = add_item(self, &frame);
        } else if (code == KL_OK && frame.type == KL__FRAME_END) {
            self->has_end = true;
            code = read_rest(self, &frame);
        } else if (code == KL_OK) {
            return self->has_end
                       ? KL_OK
                       : kl_error_set(self->err, KL_EPARSE,
                                      "a list was asked for, and the "
                                      "answer ends before it is complete");
        }
        if (code != KL_OK) {
            return code;
        }
    }
}

/* The text could not be cut into items. If it is JSON, it is no list. */
static kl_code explain_text(const reader *self, const char *json, size_t length)
{
    kl_doc *doc = kl_doc_parse(json, length, NULL);
    kl_code code = KL_EPARSE;

    if (doc != NULL &&
        kl_value_type(kl_value_get(kl_doc_root(doc), "items")) != KL_ARRAY) {
        code = refuse_list(self, kl_doc_root(doc));
    }
    kl_doc_unref(doc);
    return code;
}

kl_code kl_list_parse(const char *json, size_t length,
                      const kl_object_options *options, kl_list_page *list,
                      kl_error *err)
{
    kl_error own;
    reader self = {.scan = kl__scan_new(KL__SCAN_LIST),
                   .options = options,
                   .list = list,
                   .err = err != NULL ? err : &own};
    kl_code code;

    *list = (kl_list_page){0};
    if (self.scan == NULL) {
        return fail_memory(&self);
    }
    code = kl__scan_feed(self.scan, json, length, self.err);
    if (code == KL_OK) {
        code = read_frames(&self);
    }
    if (code == KL_EPARSE && !self.has_end) {
        code = explain_text(&self, json, length);
    }
    kl__scan_free(self.scan);
    if (code != KL_OK) {
        kl_list_clear(list);
    }
    return code;
}
