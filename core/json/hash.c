/*
 * hash.c - a hash of a JSON value that does not depend on how the text is
 * written: the value is written as canonical text (members sorted by name, one
 * form for each number), and the text goes through SHA-256.
 */
#include "kubelua/value.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "kubelua/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct member {
    const char *name;
    size_t length;
    size_t position;
    const kl_value *value;
} member;

/* Order by name; members of the same name keep their order. */
static int compare_members(const void *left, const void *right)
{
    const member *a = left, *b = right;
    int order =
        memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);

    if (order == 0 && a->length != b->length) {
        order = a->length < b->length ? -1 : 1;
    }
    return order != 0 ? order : a->position < b->position ? -1 : 1;
}

static bool is_same_name(const member *a, const member *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* An array or object that is being written: `members` is NULL for an array. */
typedef struct level {
    const kl_value *value;
    kl_value_iter iter;
    member *members; /* sorted; owned */
    size_t count;
    size_t next;
} level;

/* The open levels, the innermost last. On the heap: a value may be nested
 * KL_MAX_DEPTH deep. */
typedef struct canonical {
    kl_writer *writer;
    level *levels;
    size_t depth;
    size_t capacity;
} canonical;

/* Writes a whole number as an integer if it fits 64 bits: LuaJIT has only
 * doubles, so 2^60 from LuaJIT is a real and must hash as the integer does. */
static void write_real(kl_writer *writer, double number)
{
    char digits[24];

    if (floor(number) != number || number < -0x1p63 || number >= 0x1p64) {
        kl_writer_real(writer, number);
    } else if (number < 0x1p63) {
        kl_writer_integer(writer, (int64_t)number);
    } else {
        snprintf(digits, sizeof(digits), "%" PRIu64, (uint64_t)number);
        kl_writer_raw(writer, digits, strlen(digits));
    }
}

/* The members of an object, sorted. NULL: out of memory. */
static member *sort_members(const kl_value *value, size_t count)
{
    member *members = kl__calloc(count + 1, sizeof(*members));
    kl_value_iter iter = {0};
    const kl_value *name;

    for (size_t i = 0; i < count && members != NULL; i++) {
        members[i].value = kl_value_next(value, &iter, &name);
        members[i].name = kl_value_string(name, &members[i].length);
        members[i].position = i;
    }
    if (members != NULL) {
        qsort(members, count, sizeof(*members), compare_members);
    }
    return members;
}

/* False: out of memory. */
static bool begin_level(canonical *self, const kl_value *value)
{
    level *added;

    if (self->depth == self->capacity) {
        size_t capacity = self->capacity * 2 + 16;
        level *levels = kl__realloc(self->levels, capacity * sizeof(*levels));

        if (levels == NULL) {
            return false;
        }
        self->levels = levels;
        self->capacity = capacity;
    }
    added = &self->levels[self->depth];
    *added = (level){.value = value, .count = kl_value_size(value)};
    if (kl_value_type(value) == KL_ARRAY) {
        kl_writer_begin_array(self->writer);
    } else {
        added->members = sort_members(value, added->count);
        if (added->members == NULL) {
            return false;
        }
        kl_writer_begin_object(self->writer);
    }
    self->depth++;
    return true;
}

static void end_level(canonical *self)
{
    level *ended = &self->levels[--self->depth];

    if (ended->members == NULL) {
        kl_writer_end_array(self->writer);
    } else {
        kl_writer_end_object(self->writer);
    }
    kl__free(ended->members);
}

/* The next value of a level, whose name is written already; NULL: there is
 * none. If a name occurs twice, the last member counts. */
static const kl_value *next_value(canonical *self)
{
    level *now = &self->levels[self->depth - 1];
    const member *at;

    if (now->members == NULL) {
        return kl_value_next(now->value, &now->iter, NULL);
    }
    while (
        now->next + 1 < now->count &&
        is_same_name(&now->members[now->next], &now->members[now->next + 1])) {
        now->next++;
    }
    if (now->next >= now->count) {
        return NULL;
    }
    at = &now->members[now->next++];
    kl_writer_name(self->writer, at->name, at->length);
    return at->value;
}

/* False: out of memory. */
static bool write_one(canonical *self, const kl_value *value)
{
    switch (kl_value_type(value)) {
    case KL_REAL:
        write_real(self->writer, kl_value_real(value));
        return true;
    case KL_OBJECT:
    case KL_ARRAY:
        return begin_level(self, value);
    default:
        kl_writer_value(self->writer, value);
        return true;
    }
}

/* False: out of memory. */
static bool write_canonical(kl_writer *writer, const kl_value *value)
{
    canonical self = {.writer = writer};
    bool written = write_one(&self, value);

    while (written && self.depth > 0) {
        const kl_value *next = next_value(&self);

        if (next != NULL) {
            written = write_one(&self, next);
        } else {
            end_level(&self);
        }
    }
    while (self.depth > 0) {
        kl__free(self.levels[--self.depth].members);
    }
    kl__free(self.levels);
    return written;
}

/* Writes 64 bits of the digest as 14 digits of base 27, the highest first. The
 * highest digit is 0 to 4, which is a letter, so the result can start the name
 * of an object. The alphabet has no vowels, so no words appear. */
static void write_safe(char out[KL_HASH_SIZE], const unsigned char *digest)
{
    static const char safe[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t bits = 0;

    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | digest[i];
    }
    for (int i = KL_HASH_SIZE - 2; i >= 0; i--, bits /= sizeof(safe) - 1) {
        out[i] = safe[bits % (sizeof(safe) - 1)];
    }
    out[KL_HASH_SIZE - 1] = '\0';
}

kl_code kl_value_hash(const kl_value *value, char out[KL_HASH_SIZE],
                      kl_error *err)
{
    unsigned char digest[KL__SHA256_SIZE];
    kl_writer *writer = kl_writer_new();
    const char *text = NULL;
    size_t length;

    if (writer != NULL && write_canonical(writer, value)) {
        text = kl_writer_finish(writer, &length, NULL);
    }
    if (text != NULL) {
        kl__sha256(text, length, digest);
        write_safe(out, digest);
    }
    kl_writer_free(writer);
    return text != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a hash");
}
