/*
 * identity_scan.c - finds the identity with an outline, without parsing the
 * text: the outline was made, and the JSON checked, while the frame was cut
 * from the stream. For a text that is not written as API servers write it, the
 * caller falls back to identity.c, which also makes the error messages.
 */
#include "object/identity.h"

#include "json/text.h"

#include <string.h>

enum { KIND, API_VERSION, METADATA, TOP_MEMBERS };
enum { NAME, NAMESPACE, UID, VERSION, MANAGED_FIELDS, METADATA_MEMBERS };

static const kl__slice top_names[TOP_MEMBERS] = {
    [KIND] = {"kind", 4},
    [API_VERSION] = {"apiVersion", 10},
    [METADATA] = {"metadata", 8},
};
static const kl__slice metadata_names[METADATA_MEMBERS] = {
    [NAME] = {"name", 4},
    [NAMESPACE] = {"namespace", 9},
    [UID] = {"uid", 3},
    [VERSION] = {"resourceVersion", 15},
    [MANAGED_FIELDS] = {"managedFields", 13},
};

/* A member that was found. `key` is its index in the outline, from 1. */
typedef struct member {
    size_t key;
    const char *value; /* NULL: not found */
} member;

typedef struct scan {
    const kl__object_source *source;
    const kl__outline *outline;
    member top[TOP_MEMBERS];
    member metadata[METADATA_MEMBERS];
    bool in_metadata; /* the current inner object is the metadata */
} scan;

static bool is_name(const kl__slice *a, const kl__slice *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Reads the string at the opening quote. False: it contains an escape. */
static bool take_string(const scan *self, const char *quote, kl__slice *to)
{
    const char *end = self->source->json + self->source->length;
    const char *stop = kl__string_stop(quote + 1, end);

    *to = (kl__slice){quote + 1, (size_t)(stop - quote - 1)};
    return *stop == '"';
}

/* The names of one object so far. */
typedef struct known {
    uint64_t bits; /* of the lengths and ends of the names */
    size_t count;
    kl__slice names[KL__OUTLINE_KEYS];
} known;

/* Adds a name. False: it is there already. The bits spare most comparisons. */
static bool add_name(known *names, const kl__slice *name)
{
    const unsigned char *bytes = (const unsigned char *)name->bytes;
    size_t length = name->length;
    /* The byte behind an empty name is its quote. */
    size_t sum = bytes[0] * 5u + bytes[length / 2] * 11u + length * 3;
    uint64_t bit = UINT64_C(1) << sum % 64;

    if ((names->bits & bit) != 0) {
        for (size_t i = 0; i < names->count; i++) {
            if (is_name(&names->names[i], name)) {
                return false;
            }
        }
    }
    names->bits |= bit;
    names->names[names->count++] = *name;
    return true;
}

/* Stores a member if it is one of `names`. */
static void note_member(member *members, const kl__slice *names, size_t count,
                        const kl__slice *name, size_t key)
{
    for (size_t i = 0; i < count; i++) {
        if (is_name(name, &names[i])) {
            members[i] = (member){key, name->bytes + name->length + 2};
            return;
        }
    }
}

/* False: a name has escapes, or is there twice, or there is no metadata. */
static bool find_members(scan *self)
{
    const kl__outline *outline = self->outline;
    known top, metadata;

    top.bits = top.count = metadata.bits = metadata.count = 0;
    for (size_t i = 0; i < outline->count; i++) {
        const char *quote = self->source->json + outline->keys[i].at;
        kl__slice name;

        if (!take_string(self, quote, &name)) {
            return false;
        }
        if (!outline->keys[i].is_in) {
            self->in_metadata = is_name(&name, &top_names[METADATA]);
            note_member(self->top, top_names, TOP_MEMBERS, &name, i + 1);
            if (!add_name(&top, &name)) {
                return false;
            }
        } else if (self->in_metadata) {
            note_member(self->metadata, metadata_names, METADATA_MEMBERS, &name,
                        i + 1);
            if (!add_name(&metadata, &name)) {
                return false;
            }
        }
    }
    return self->top[METADATA].value != NULL &&
           *self->top[METADATA].value == '{';
}

/* Reads a string; an absent or null member gives an empty slice. */
static bool take_text(const scan *self, const member *from, kl__slice *to)
{
    *to = (kl__slice){NULL, 0};
    if (from->value == NULL || *from->value == 'n') {
        return true;
    }
    return *from->value == '"' && take_string(self, from->value, to);
}

static bool take_key_part(const scan *self, const member *from, kl__slice *to)
{
    return take_text(self, from, to) &&
           (to->length == 0 || memchr(to->bytes, '/', to->length) == NULL);
}

static bool take_type(const scan *self, const member *from,
                      const char *otherwise, kl__slice *to, bool *adds)
{
    *adds = from->value == NULL && otherwise != NULL && otherwise[0] != '\0';
    if (*adds) {
        *to = (kl__slice){otherwise, strlen(otherwise)};
        return true;
    }
    return take_text(self, from, to);
}

/* Finds the bytes of managedFields, with the comma behind them, or, for the
 * last member, the comma before them. */
static void cut_managed_fields(kl__identity *identity, const scan *self)
{
    const kl__outline *outline = self->outline;
    size_t next = self->metadata[MANAGED_FIELDS].key;
    size_t from;

    if (next == 0) {
        return;
    }
    from = outline->keys[next - 1].at;
    if (next == outline->count) {
        identity->cut_to = self->source->length - strlen("}}");
    } else if (outline->keys[next].is_in) {
        identity->cut_from = from;
        identity->cut_to = outline->keys[next].at;
        return;
    } else {
        identity->cut_to = outline->keys[next].at - strlen("},");
    }
    identity->cut_from = from - (self->source->json[from - 1] == ',' ? 1 : 0);
}

/* The end of the metadata: before the comma of the next member, or before the
 * last brace. */
static size_t metadata_end(const scan *self)
{
    const kl__outline *outline = self->outline;

    for (size_t i = self->top[METADATA].key; i < outline->count; i++) {
        if (!outline->keys[i].is_in) {
            return outline->keys[i].at - strlen(",");
        }
    }
    return self->source->length - strlen("}");
}

bool kl__identity_scan(kl__identity *identity, const kl__object_source *source,
                       const kl__outline *outline)
{
    const kl_object_options *options = source->options;
    scan self = {.source = source, .outline = outline};

    *identity = (kl__identity){0};
    if (!find_members(&self) ||
        !take_type(&self, &self.top[KIND], options->kind, &identity->kind,
                   &identity->adds_kind) ||
        !take_type(&self, &self.top[API_VERSION], options->api_version,
                   &identity->api_version, &identity->adds_api_version) ||
        !take_key_part(&self, &self.metadata[NAME], &identity->name) ||
        !take_key_part(&self, &self.metadata[NAMESPACE],
                       &identity->name_space) ||
        !take_text(&self, &self.metadata[UID], &identity->uid) ||
        !take_text(&self, &self.metadata[VERSION], &identity->version) ||
        identity->name.length == 0) {
        return false;
    }
    if (!options->keep_managed_fields) {
        cut_managed_fields(identity, &self);
    }
    if (options->metadata_only) {
        kl__identity_keep_metadata(identity, options,
                                   outline->keys[self.top[METADATA].key - 1].at,
                                   metadata_end(&self));
    }
    return true;
}
