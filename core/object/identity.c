/*
 * identity.c - see identity.h. Parts of the text are copied as byte ranges and
 * never written anew, so every number and string stays as the server wrote it.
 */
#include "object/identity.h"

#include "json/doc.h"
#include "json/quote.h"
#include "json/text.h"

#include <stdio.h>
#include <string.h>

/* A member to find in an object; one pass finds all of them. */
typedef struct member {
    const char *name;
    const kl_value *key;
    const kl_value *value;
    const kl_value *follower; /* the next member's name, or NULL */
} member;

enum { KIND, API_VERSION, METADATA, TOP_MEMBERS };
enum { NAME, NAMESPACE, UID, VERSION, MANAGED_FIELDS, METADATA_MEMBERS };

typedef struct reader {
    const kl_value *root;
    const kl__object_source *source;
    const kl_doc *doc;
    member top[TOP_MEMBERS];
    member metadata[METADATA_MEMBERS];
    kl_error *err;
} reader;

static void find_members(const kl_value *object, member *members, size_t count)
{
    kl_value_iter iter = {0};
    const kl_value *key, *value;
    member *last = NULL;

    while ((value = kl_value_next(object, &iter, &key)) != NULL) {
        size_t length;
        const char *name = kl_value_string(key, &length);

        if (last != NULL) {
            last->follower = key;
            last = NULL;
        }
        for (size_t i = 0; i < count; i++) {
            if (strlen(members[i].name) == length &&
                memcmp(members[i].name, name, length) == 0) {
                members[i].key = key;
                members[i].value = value;
                last = &members[i];
                break;
            }
        }
    }
}

/* Writes "Pod web/shop-1", as far as it is known, for an error message. */
static void describe_object(const reader *self, char *text, size_t size)
{
    const char *kind = kl_value_string(self->top[KIND].value, NULL);
    const char *space = kl_value_string(self->metadata[NAMESPACE].value, NULL);
    const char *name = kl_value_string(self->metadata[NAME].value, NULL);

    kind = kind != NULL ? kind : self->source->options->kind;
    snprintf(text, size, "%s %s%s%s", kind != NULL ? kind : "object",
             space != NULL ? space : "", space != NULL ? "/" : "",
             name != NULL ? name : "(unnamed)");
    kl__text_excerpt(text, size, text, strlen(text));
}

static kl_code fail_member(const reader *self, const char *member_name,
                           const char *what)
{
    char who[160];

    describe_object(self, who, sizeof(who));
    return kl_error_set(self->err, KL_EPARSE, "%s: %s %s", who, member_name,
                        what);
}

/* Reads a string without NUL bytes; an absent or null member gives an empty
 * slice. */
static kl_code take_string(const reader *self, const member *from,
                           kl__slice *to)
{
    *to = (kl__slice){NULL, 0};
    switch (kl_value_type(from->value)) {
    case KL_NULL:
        return KL_OK;
    case KL_STRING:
        to->bytes = kl_value_string(from->value, &to->length);
        break;
    default:
        return fail_member(self, from->name, "is not a string");
    }
    if (to->length > 0 && memchr(to->bytes, '\0', to->length) != NULL) {
        return fail_member(self, from->name, "holds a NUL byte");
    }
    return KL_OK;
}

/* Reads a part of the key "namespace/name". A slash in it would make the key
 * ambiguous. */
static kl_code take_key_part(const reader *self, const member *from,
                             kl__slice *to)
{
    kl_code code = take_string(self, from, to);

    if (code == KL_OK && to->length > 0 &&
        memchr(to->bytes, '/', to->length) != NULL) {
        return fail_member(self, from->name, "holds a slash");
    }
    return code;
}

/* Reads kind or apiVersion, from the text or else from the options. */
static kl_code take_type(const reader *self, const member *from,
                         const char *otherwise, kl__slice *to, bool *adds)
{
    *adds = from->key == NULL && otherwise != NULL && otherwise[0] != '\0';
    if (*adds) {
        *to = (kl__slice){otherwise, strlen(otherwise)};
        return KL_OK;
    }
    return take_string(self, from, to);
}

static kl_code read_members(reader *self)
{
    const kl_value *metadata;

    if (kl_value_type(self->root) != KL_OBJECT) {
        return kl_error_set(self->err, KL_EPARSE,
                            "a Kubernetes object is a JSON object");
    }
    find_members(self->root, self->top, TOP_MEMBERS);
    metadata = self->top[METADATA].value;
    if (kl_value_type(metadata) != KL_OBJECT) {
        return fail_member(self, "metadata",
                           metadata != NULL ? "is not an object"
                                            : "is missing");
    }
    find_members(metadata, self->metadata, METADATA_MEMBERS);
    return KL_OK;
}

/* Moves `end` back over whitespace. */
static size_t trim_space(const char *json, size_t end)
{
    while (kl__byte_class[(unsigned char)json[end - 1]] == KL__BYTE_SPACE) {
        end--;
    }
    return end;
}

/* The end of the metadata's value. Goes back from the next member's name, or
 * from the end of the text, over whitespace and one comma or brace. */
static size_t metadata_end(const reader *self)
{
    const kl_value *follower = self->top[METADATA].follower;
    const char *json = self->source->json;
    size_t end = follower != NULL ? kl__doc_offset(self->doc, follower) - 1
                                  : self->source->length;

    return trim_space(json, trim_space(json, end) - 1);
}

/* The end of the last value in the metadata, before the closing brace. */
static size_t last_value_end(const reader *self)
{
    return trim_space(self->source->json, metadata_end(self) - 1);
}

/* Finds the bytes of managedFields, with one comma: the one behind them, or,
 * for the last member, the one before them. managedFields are long
 * (docs/KUBERNETES.md#managed-fields), so they are not read again: their end is
 * found from what follows. An API server writes them last in the metadata. */
static void cut_managed_fields(kl__identity *identity, const reader *self)
{
    const member *fields = &self->metadata[MANAGED_FIELDS];
    const char *json = self->source->json;
    size_t from;

    if (fields->key == NULL) {
        return;
    }
    from = kl__doc_offset(self->doc, fields->key) - 1;
    if (fields->follower != NULL) {
        identity->cut_to = kl__doc_offset(self->doc, fields->follower) - 1;
    } else {
        identity->cut_to = last_value_end(self);
        from = trim_space(json, from);
        from -= json[from - 1] == ',' ? 1 : 0;
    }
    identity->cut_from = from;
}

kl_code kl__identity_read(kl__identity *identity,
                          const kl__object_source *source, const kl_doc *doc,
                          kl_error *err)
{
    const kl_object_options *options = source->options;
    reader self = {
        .root = kl_doc_root(doc),
        .source = source,
        .doc = doc,
        .top = {{.name = "kind"}, {.name = "apiVersion"}, {.name = "metadata"}},
        .metadata = {{.name = "name"},
                     {.name = "namespace"},
                     {.name = "uid"},
                     {.name = "resourceVersion"},
                     {.name = "managedFields"}},
        .err = err};
    const member *metadata = self.metadata;
    kl_code code;

    *identity = (kl__identity){0};
    if ((code = read_members(&self)) != KL_OK ||
        (code = take_type(&self, &self.top[KIND], options->kind,
                          &identity->kind, &identity->adds_kind)) != KL_OK ||
        (code = take_type(&self, &self.top[API_VERSION], options->api_version,
                          &identity->api_version,
                          &identity->adds_api_version)) != KL_OK ||
        (code = take_key_part(&self, &metadata[NAME], &identity->name)) !=
            KL_OK ||
        (code = take_key_part(&self, &metadata[NAMESPACE],
                              &identity->name_space)) != KL_OK ||
        (code = take_string(&self, &metadata[UID], &identity->uid)) != KL_OK ||
        (code = take_string(&self, &metadata[VERSION], &identity->version)) !=
            KL_OK) {
        return code;
    }
    if (identity->name.length == 0) {
        return fail_member(&self, "metadata.name", "is missing");
    }
    if (!options->keep_managed_fields) {
        cut_managed_fields(identity, &self);
    }
    if (options->metadata_only) {
        kl__identity_keep_metadata(
            identity, options, kl__doc_offset(doc, self.top[METADATA].key) - 1,
            metadata_end(&self));
    }
    return KL_OK;
}

static bool is_text(const kl__slice *slice, const char *text)
{
    return slice->length == strlen(text) &&
           memcmp(slice->bytes, text, slice->length) == 0;
}

/* True if the object is a PartialObjectMetadata: what an API server sends if
 * only the metadata is requested (docs/KUBERNETES.md#metadata-only). */
static bool is_partial(const kl__identity *identity)
{
    return is_text(&identity->kind, "PartialObjectMetadata") &&
           (is_text(&identity->api_version, "meta.k8s.io/v1") ||
            is_text(&identity->api_version, "meta.k8s.io/v1beta1"));
}

static kl__slice slice_of(const char *text)
{
    return (kl__slice){text, text != NULL ? strlen(text) : 0};
}

void kl__identity_keep_metadata(kl__identity *identity,
                                const kl_object_options *options, size_t from,
                                size_t to)
{
    if (is_partial(identity)) {
        identity->kind = slice_of(options->kind);
        identity->api_version = slice_of(options->api_version);
    }
    /* kind and apiVersion of the text are cut off, so they are added again. */
    identity->adds_kind = identity->kind.length > 0;
    identity->adds_api_version = identity->api_version.length > 0;
    identity->metadata_from = from;
    identity->metadata_to = to;
}

static void add_member(kl__buf *out, const char *name, const kl__slice *value)
{
    kl__quote(out, name, strlen(name));
    kl__buf_putc(out, ':');
    kl__quote(out, value->bytes, value->length);
    kl__buf_putc(out, ',');
}

static size_t spaces_in(const kl__slice *part)
{
    return part->length > 0 ? kl__text_measure(part->bytes, part->length).spaces
                            : 0;
}

bool kl__object_text_init(kl__object_text *text, const kl__identity *identity,
                          const char *json, size_t length)
{
    const char *brace = memchr(json, '{', length);

    text->is_closed = identity->metadata_to != 0;
    if (text->is_closed) {
        brace = json + identity->metadata_from - 1;
        length = identity->metadata_to;
    }
    if (identity->adds_api_version) {
        add_member(&text->added, "apiVersion", &identity->api_version);
    }
    if (identity->adds_kind) {
        add_member(&text->added, "kind", &identity->kind);
    }
    if (text->added.failed) {
        return false;
    }
    text->before.bytes = brace + 1;
    text->before.length = length - (size_t)(text->before.bytes - json);
    if (identity->cut_to != 0) {
        text->before.length =
            identity->cut_from - (size_t)(text->before.bytes - json);
        text->after =
            (kl__slice){json + identity->cut_to, length - identity->cut_to};
    }
    text->length = 1 + text->added.length + text->before.length +
                   text->after.length + (text->is_closed ? 1 : 0);
    if (!text->is_compact) {
        text->length -= spaces_in(&text->before) + spaces_in(&text->after);
    }
    return true;
}

void kl__object_text_deinit(kl__object_text *text)
{
    kl__buf_deinit(&text->added);
}

static char *write_part(const kl__object_text *text, const kl__slice *part,
                        char *out)
{
    if (part->length == 0) {
        return out;
    }
    if (!text->is_compact) {
        return out + kl__text_compact(out, part->bytes, part->length);
    }
    memcpy(out, part->bytes, part->length);
    return out + part->length;
}

void kl__object_text_write(const kl__object_text *text, char *out)
{
    *out++ = '{';
    if (text->added.length > 0) {
        memcpy(out, text->added.bytes, text->added.length);
        out += text->added.length;
    }
    out = write_part(text, &text->before, out);
    out = write_part(text, &text->after, out);
    if (text->is_closed) {
        *out = '}';
    }
}
