/*
 * remains.c - see remains.h. Reads byte by byte and checks nothing: only
 * strings and brackets count. If a member is there twice, the last one counts.
 */
#include "json/remains.h"

#include "json/text.h"

#include <string.h>

enum { OBJECT = 1, METADATA = 2 }; /* depths at which members count */

static void copy_string(const kl__remains *self, char *to)
{
    memcpy(to, self->string, self->length + 1);
}

/* Stores the string that has ended, if it is the value of a member that is
 * looked for. */
static void store_value(kl__remains *self)
{
    const struct {
        size_t depth;
        const char *member;
        char *to;
    } wanted[] = {{OBJECT, "kind", self->kind},
                  {OBJECT, "apiVersion", self->api_version},
                  {METADATA, "name", self->name},
                  {METADATA, "namespace", self->name_space},
                  {METADATA, "uid", self->uid},
                  {METADATA, "resourceVersion", self->version}};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (self->depth == wanted[i].depth &&
            (self->depth == OBJECT || self->in_metadata) &&
            strcmp(self->member, wanted[i].member) == 0) {
            copy_string(self, wanted[i].to);
        }
    }
}

static void end_string(kl__remains *self)
{
    self->in_string = false;
    self->length = self->is_plain ? self->length : 0;
    self->string[self->length] = '\0';
    if (self->is_value && self->depth <= METADATA) {
        store_value(self);
    }
}

static void take_string_byte(kl__remains *self, char byte)
{
    if (self->is_escaped) {
        self->is_escaped = false;
    } else if (byte == '\\') {
        self->is_escaped = true;
        self->is_plain = false;
    } else if (byte == '"') {
        end_string(self);
    } else if (byte < ' ' || byte > '~' ||
               self->length + 1 == KL__REMAINS_TEXT) {
        self->is_plain = false; /* a char above ASCII may be below 0 */
    } else {
        self->string[self->length++] = byte;
    }
}

static void take_bracket(kl__remains *self, char byte)
{
    bool is_open = byte == '{' || byte == '[';

    if (is_open && self->depth == OBJECT) {
        self->in_metadata = byte == '{' && self->is_value &&
                            strcmp(self->member, "metadata") == 0;
    }
    if (is_open) {
        self->depth++;
    } else if (self->depth > 0) {
        self->depth--;
    }
    self->is_value = false;
}

void kl__remains_feed(kl__remains *self, const char *bytes, size_t length)
{
    const char *end = bytes + length;

    for (const char *at = bytes; at < end; at++) {
        if (self->in_string && !self->is_escaped &&
            (!self->is_plain || self->depth > METADATA)) {
            at = kl__string_stop(at, end); /* no string that counts */
            if (at == end) {
                return;
            }
        }
        if (self->in_string) {
            take_string_byte(self, *at);
            continue;
        }
        switch (*at) {
        case '"':
            self->in_string = true;
            self->is_plain = true;
            self->length = 0;
            break;
        case ':':
            self->is_value = true;
            copy_string(self, self->member);
            break;
        case ',':
            self->is_value = false;
            break;
        case '{':
        case '[':
        case '}':
        case ']':
            take_bracket(self, *at);
            break;
        default:
            break;
        }
    }
}

bool kl__remains_has_key(const kl__remains *self)
{
    return self->name[0] != '\0' && strchr(self->name, '/') == NULL &&
           strchr(self->name_space, '/') == NULL;
}
