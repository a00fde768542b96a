/*
 * list_watch_read.c - makes items of the bytes of a transfer: cuts frames as
 * the bytes come, and makes objects, bookmarks, ends of pages and errors of
 * them. A frame that is not understood is an error.
 */
#include "api/list_watch_http.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubelua/value.h"
#include "object/object.h"
#include "object/status.h"

#include <string.h>

enum {
    DRAIN_MS =
        1000, /* wait for the end of the body after a list's last brace */
    EXCERPT = 80,
    /* Bytes of one read; with the NUL of kl__buf 32 KB. glibc looks at all that
     * is free when a block of 64 KB or more is freed, as one is by
     * kl__scan_rest. */
    CHUNK_SIZE = 32 * 1024 - 1
};

/* The arguments of one call of `next`. */
typedef struct reading {
    kl__http_source *self;
    kl__item *item;
    int64_t timeout_ms;
    int64_t deadline_ms; /* of `timeout_ms`; set before the first read: most
                            calls find a whole frame without one */
    kl__cancel *cancel;
} reading;

static kl_code put_version(kl__item *item, const char *version, kl_error *err)
{
    size_t length = strlen(version);

    if (length >= sizeof(item->version)) {
        return kl_error_set(err, KL_EPARSE,
                            "a resourceVersion of %zu bytes, \"%.20s...\"",
                            length, version);
    }
    memcpy(item->version, version, length + 1);
    return KL_OK;
}

/* The text of a member of `metadata`; "": there is none. */
static const char *metadata_text(const kl_value *root, const char *name)
{
    const kl_value *value = kl_value_get(kl_value_get(root, "metadata"), name);
    const char *text =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : NULL;

    return text != NULL ? text : "";
}

/* As kl__object_parse_measured, of the text without what is pruned. The whole
 * text is checked to be JSON first, also where a part of it is removed. */
static kl_object *parse_pruned(kl__http_source *self, const kl__frame *frame,
                               const kl_object_options *options, kl_error *err)
{
    kl_code code;

    if (frame->outline == NULL || !frame->outline->is_sure) {
        kl_doc *doc = kl_doc_parse(frame->text, frame->length, err);

        if (doc == NULL) {
            return NULL;
        }
        kl_doc_unref(doc);
    }
    code =
        kl__prune_text(self->prune, frame->text, frame->length, &self->pruned);
    if (code != KL_OK) {
        kl_error_set(err, code,
                     code == KL_ENOMEM ? "out of memory for an object"
                                       : "expected a JSON object");
        return NULL;
    }
    return kl_object_parse(self->pruned.bytes, self->pruned.length, options,
                           err);
}

/* Makes the object of a frame. KL_EPARSE, KL_ETOO_LARGE: it cannot be read. */
static kl_object *parse_object(kl__http_source *self, const kl__frame *frame,
                               kl_error *err)
{
    kl_object_options options = {.kind = self->resource.kind,
                                 .api_version = self->api_version,
                                 .keep_managed_fields =
                                     self->keeps_managed_fields,
                                 .metadata_only = self->is_metadata_only,
                                 .is_pruned = self->prune != NULL};
    /* `depth` is left out: the scanner has measured it. */
    kl__text_shape shape = {.spaces = frame->spaces, .outline = frame->outline};

    if (frame->failure != KL_OK) {
        kl__frame_error(frame, err);
        return NULL;
    }
    return self->prune != NULL
               ? parse_pruned(self, frame, &options, err)
               : kl__object_parse_measured(frame->text, frame->length, &shape,
                                           &options, err);
}

/* Makes an item of an object that cannot be read, as `err` says. */
static kl_code take_unreadable(const reading *at, const kl__frame *frame,
                               kl__item_type type, kl_error *err)
{
    kl_code code = kl__unreadable_of_frame(frame, at->self->resource.kind,
                                           &at->item->unreadable, err);

    if (code == KL_OK) {
        at->item->type = type;
        code = put_version(at->item, at->item->unreadable->version, err);
    }
    return code;
}

static kl_code take_object(const reading *at, const kl__frame *frame,
                           kl__item_type type, kl_error *err)
{
    kl__http_source *self = at->self;
    kl_object *object = parse_object(self, frame, err);
    kl_code code;

    if (object == NULL) {
        return err->code == KL_EPARSE || err->code == KL_ETOO_LARGE
                   ? take_unreadable(at, frame, type, err)
                   : err->code;
    }
    if (strcmp(kl_object_kind(object), self->resource.kind) != 0) {
        code = kl_error_set(err, KL_EPARSE,
                            "the server sent a %.60s (%.60s) where a %.60s "
                            "was asked for",
                            kl_object_kind(object), kl_object_key(object),
                            self->resource.kind);
        kl_object_unref(object);
        return code;
    }
    code = put_version(at->item, kl_object_resource_version(object), err);
    if (code != KL_OK) {
        kl_object_unref(object);
        return take_unreadable(at, frame, type, err);
    }
    at->item->type = type;
    at->item->object = object;
    return KL_OK;
}

/* Parses a small document: a bookmark, a Status, the head of a page. The caller
 * drops `doc`. */
static kl_code parse_frame(const kl__frame *frame, kl_doc **doc, kl_error *err)
{
    if (frame->failure != KL_OK) {
        *doc = NULL;
        return kl__frame_error(frame, err);
    }
    *doc = kl_doc_parse(frame->text, frame->length, err);
    return *doc != NULL ? KL_OK : err->code;
}

static kl_code take_bookmark(const reading *at, const kl__frame *frame,
                             kl_error *err)
{
    const kl_value *root, *end;
    const char *text;
    kl_doc *doc;
    kl_code code = parse_frame(frame, &doc, err);

    if (code != KL_OK) {
        return code;
    }
    root = kl_doc_root(doc);
    end = kl_value_get(
        kl_value_get(kl_value_get(root, "metadata"), "annotations"),
        "k8s.io/initial-events-end");
    text = kl_value_type(end) == KL_STRING ? kl_value_string(end, NULL) : NULL;
    at->item->type = KL__ITEM_BOOKMARK;
    at->item->initial_events_end = text != NULL && strcmp(text, "true") == 0;
    code = put_version(at->item, metadata_text(root, "resourceVersion"), err);
    kl_doc_unref(doc);
    return code;
}

static kl_code take_error(const kl__frame *frame, kl_error *err)
{
    kl_doc *doc;
    kl_code code = parse_frame(frame, &doc, err);

    if (code == KL_OK) {
        code = kl__status_event_error(kl_doc_root(doc), err);
        kl_doc_unref(doc);
    }
    return code;
}

static kl_code take_event(const reading *at, const kl__frame *frame,
                          kl_error *err)
{
    static const struct {
        const char *name;
        kl__item_type type;
    } changes[] = {{"ADDED", KL__ITEM_ADDED},
                   {"MODIFIED", KL__ITEM_MODIFIED},
                   {"DELETED", KL__ITEM_DELETED}};
    size_t length = frame->name_length;

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (length == strlen(changes[i].name) &&
            memcmp(frame->name, changes[i].name, length) == 0) {
            return take_object(at, frame, changes[i].type, err);
        }
    }
    if (length == 8 && memcmp(frame->name, "BOOKMARK", 8) == 0) {
        return take_bookmark(at, frame, err);
    }
    if (length == 5 && memcmp(frame->name, "ERROR", 5) == 0) {
        return take_error(frame, err);
    }
    return kl_error_set(err, KL_EPARSE,
                        "the server sent a watch event of unknown type "
                        "\"%.*s\"",
                        (int)(length < 40 ? length : 40), frame->name);
}

/* Refuses an answer that is not a list. If it were read as an empty list, it
 * would delete the whole cache. A list may have any other kind (listKind of a
 * CRD). */
static kl_code check_list(const kl__http_source *self, const kl__frame *frame,
                          const kl_value *root, kl_error *err)
{
    static const char *const others[] = {"Table", "Status", ""};
    const kl_value *value = kl_value_get(root, "kind");
    const char *kind =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : "";
    bool is_other = frame->name == NULL && !kl__is_bare_list(root);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        is_other = is_other || strcmp(kind, others[i]) == 0;
    }
    if (!is_other) {
        return KL_OK;
    }
    return kl_error_set(err, KL_EPARSE,
                        "the server sent %s%.60s where a list of %.60s was "
                        "asked for",
                        kind[0] != '\0' ? "a " : "something of no kind", kind,
                        self->resource.plural);
}

static kl_code take_page(const reading *at, const kl__frame *frame,
                         kl_error *err)
{
    const kl_value *root;
    kl_doc *doc;
    kl_code code = parse_frame(frame, &doc, err);

    if (code != KL_OK) {
        return code;
    }
    root = kl_doc_root(doc);
    code = check_list(at->self, frame, root, err);
    if (code == KL_OK) {
        code =
            put_version(at->item, metadata_text(root, "resourceVersion"), err);
    }
    if (code == KL_OK) {
        at->item->type = KL__ITEM_PAGE;
        at->item->continue_token = kl__strdup(metadata_text(root, "continue"));
        if (at->item->continue_token == NULL) {
            code = kl_error_set(err, KL_ENOMEM, "out of memory for a page");
        }
    }
    kl_doc_unref(doc);
    return code;
}

/* Reads some bytes into the scanner; `is_over`: the body has ended. */
static kl_code read_bytes(const reading *at, bool *is_over, kl_error *err)
{
    kl__http_source *self = at->self;
    char *room = kl__scan_room(self->scan, CHUNK_SIZE, err);
    size_t length;
    kl_code code;

    *is_over = false;
    if (room == NULL) {
        return err->code;
    }
    code = kl__stream_read(self->stream, room, CHUNK_SIZE, &length,
                           at->deadline_ms, at->cancel, err);
    *is_over = code == KL_OK && length == 0;
    if (code != KL_OK) {
        kl__scan_rest(self->scan); /* a watch that has nothing to read */
    } else {
        kl__scan_fed(self->scan, length);
        atomic_fetch_add_explicit(&self->base.bytes, length,
                                  memory_order_relaxed);
    }
    return code;
}

/*
 * After the last brace of a list only white space may follow. Reads to the end
 * of the body, so that the connection can be used again; if the end does not
 * come, the list is complete anyway.
 */
static kl_code drain_body(const reading *at, kl_error *err)
{
    reading rest = *at;
    bool is_over = false;
    kl_error ignored;

    rest.deadline_ms = kl__clock_now(kl__clock_real()) + DRAIN_MS;
    while (!is_over && read_bytes(&rest, &is_over, &ignored) == KL_OK) {
        kl__frame frame;
        kl_code code = kl__scan_next(at->self->scan, &frame, err);

        if (code != KL_OK) {
            return code;
        }
    }
    return KL_OK;
}

/* Makes an item of a frame. */
static kl_code take_frame(const reading *at, const kl__frame *frame,
                          kl_error *err)
{
    kl_code code;

    switch (frame->type) {
    case KL__FRAME_ITEM:
        return take_object(at, frame, KL__ITEM_OBJECT, err);
    case KL__FRAME_EVENT:
        return take_event(at, frame, err);
    default:
        code = take_page(at, frame, err);
        if (code == KL_OK) {
            code = drain_body(at, err);
        }
        return code;
    }
}

/* The body is over, and no frame is left. */
static kl_code take_end(const reading *at, kl_error *err)
{
    const kl__http_source *self = at->self;

    if (self->is_watch && kl__scan_at_boundary(self->scan)) {
        at->item->type = KL__ITEM_END;
        return KL_OK;
    }
    return kl_error_set(err, KL_EUNAVAILABLE, "the answer broke off inside %s",
                        self->is_watch ? "an event" : "a list");
}

/* Puts the first bytes of an answer that is not JSON into the message. */
static void explain_rubbish(const kl__http_source *self, kl_error *err)
{
    char excerpt[EXCERPT];

    kl__scan_excerpt(self->scan, excerpt, sizeof(excerpt));
    if (excerpt[0] != '{' && excerpt[0] != '\0') {
        kl_error_set(err, KL_EPARSE,
                     "the server did not answer with JSON but with \"%s\": is "
                     "there a proxy or login page in between?",
                     excerpt);
    }
}

/* 0: do not wait; a deadline of now would cost a wait in the kernel. */
static int64_t deadline_of(int64_t timeout_ms)
{
    return timeout_ms > 0 ? kl__clock_after(kl__clock_real(), timeout_ms)
                          : timeout_ms;
}

/* True for an object of another shard. A server that does not know the
 * parameter shardSelector (before Kubernetes 1.36) sends all. */
static bool is_foreign(const kl__http_source *self, const kl__item *item)
{
    return item->object != NULL && !kl__shard_has(&self->shards, item->object);
}

/* An object that came is of another shard. True: it is of interest all the
 * same: its former state may have been of this shard. */
static bool may_have_left(const kl__http_source *self, kl__item *item)
{
    bool may =
        item->type == KL__ITEM_MODIFIED && kl__shard_may_change(&self->shards);

    item->type = may ? KL__ITEM_LEFT : item->type;
    return may;
}

/* Reads and cuts frames until there is an item. */
static kl_code cut_frame(reading *at, kl_error *err)
{
    kl__http_source *self = at->self;
    bool is_over = false, has_deadline = false;

    for (;;) {
        kl__frame frame;
        kl_code code = kl__scan_next(self->scan, &frame, err);

        if (code == KL_EPARSE) {
            explain_rubbish(self, err);
        }
        if (code == KL_OK && frame.type != KL__FRAME_MORE) {
            code = take_frame(at, &frame, err);
            if (code != KL_OK || !is_foreign(self, at->item) ||
                may_have_left(self, at->item)) {
                return code;
            }
            kl__item_clear(at->item);
            continue;
        }
        if (code == KL_OK && is_over) {
            return take_end(at, err);
        }
        if (code != KL_OK) {
            return code;
        }
        if (!has_deadline) {
            at->deadline_ms = deadline_of(at->timeout_ms);
            has_deadline = true;
        }
        code = read_bytes(at, &is_over, err);
        if (code != KL_OK) {
            return code;
        }
    }
}

/* Ends the transfer; during a turn, kl__http_source_retract ends it afterwards.
 */
static void end_transfer(kl__http_source *self)
{
    if (self->is_lent) {
        self->is_over = true;
    } else {
        kl__http_source_end(&self->base);
    }
}

kl_code kl__http_source_next(kl__list_watch *source, kl__item *item,
                             int64_t timeout_ms, kl__cancel *cancel,
                             kl_error *err)
{
    reading at = {.self = kl__http_source_of(source),
                  .item = item,
                  .timeout_ms = timeout_ms,
                  .cancel = cancel};
    kl_error local;
    kl_code code;

    *item = (kl__item){0};
    err = err != NULL ? err : &local;
    if (at.self->stream == NULL || (at.self->is_lent && at.self->is_over)) {
        return kl_error_set(err, KL_EINVAL, "there is no transfer to read");
    }
    if (kl__cancel_fired(cancel)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    code = cut_frame(&at, err);
    if (code == KL_OK) {
        if (item->initial_events_end) {
            at.self->counts_items = true;
            kl__stream_stop_gathering(at.self->stream);
        }
        kl__http_source_note_item(at.self);
    } else {
        kl__item_clear(item);
    }
    if ((code != KL_OK && code != KL_ETIMEOUT) || item->type == KL__ITEM_PAGE ||
        item->type == KL__ITEM_END) {
        end_transfer(at.self);
    }
    return code;
}

/* What the caller waits for: the head of an answer, or bytes. */
static kl__stream *awaited_stream(const kl__http_source *self)
{
    return self->sent.stream != NULL ? self->sent.stream : self->stream;
}

bool kl__http_source_lends(kl__list_watch *source)
{
    const kl__http_source *self = kl__http_source_of(source);
    const kl__stream *stream = awaited_stream(self);

    return self->is_searching || (stream != NULL && kl__stream_lends(stream));
}

bool kl__http_source_lend(kl__list_watch *source, const kl__stream_turn *turn)
{
    kl__http_source *self = kl__http_source_of(source);

    if (self->is_searching) {
        return kl__search_lend(&self->search, turn);
    }
    self->is_over = false;
    self->is_lent = true;
    if (!kl__stream_lend(awaited_stream(self), turn)) {
        self->is_lent = false;
    }
    return self->is_lent;
}

void kl__http_source_retract(kl__list_watch *source)
{
    kl__http_source *self = kl__http_source_of(source);

    if (self->is_searching) {
        kl__search_retract(&self->search);
        return;
    }
    kl__stream_retract(awaited_stream(self));
    self->is_lent = false;
    if (self->is_over) {
        self->is_over = false;
        kl__http_source_end(source);
    }
}

int64_t kl__http_source_look_again_ms(kl__list_watch *source)
{
    const kl__http_source *self = kl__http_source_of(source);

    if (self->is_searching) {
        return kl__search_look_again_ms(&self->search);
    }
    return self->sent.stream != NULL ? self->answer_by_ms
                                     : kl__stream_look_again_ms(self->stream);
}
