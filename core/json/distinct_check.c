/*
 * distinct_check.c - tells fast that no object of a text has a name twice,
 * which is so of nearly all texts: then distinct.c need not look at it. It
 * computes a number from each name and the number of its object, and keeps
 * these in a table of a fixed size: two equal ones may be one name twice.
 */
#include "json/distinct.h"

#include "json/text.h"

#include <stdint.h>
#include <string.h>

/* With more names or levels, distinct.c looks. */
enum { SLOTS = 1024, MOST = SLOTS / 2, LEVELS = 64 };

typedef struct checker {
    const char *at;
    const char *end;
    size_t depth;
    size_t objects; /* so far: the number of an object makes its names differ
                       from those of other objects */
    size_t names;
    size_t numbers[LEVELS]; /* of the open objects; 0: an array */
    uint64_t slots[SLOTS];  /* 0: free */
} checker;

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 32;
}

/* Up to eight bytes of a name, of which `length` are left. */
static uint64_t read_word(const char *name, size_t length, const char *end)
{
    uint64_t word = 0;

    if (length < sizeof(word) && (size_t)(end - name) < sizeof(word)) {
        memcpy(&word, name, length);
        return word;
    }
    memcpy(&word, name, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return length < sizeof(word) ? word & ~(UINT64_MAX << 8 * length) : word;
#else
    return length < sizeof(word) ? word & ~(UINT64_MAX >> 8 * length) : word;
#endif
}

static uint64_t fingerprint(const char *name, const char *stop, const char *end,
                            uint64_t sum)
{
    sum = mix(sum, (uint64_t)(stop - name));
    for (; name < stop; name += sizeof(sum)) {
        sum = mix(sum, read_word(name, (size_t)(stop - name), end));
    }
    return sum | 1;
}

/* At the name of a member. False: it may be there twice, or has escapes. */
static bool take_name(checker *self)
{
    const char *name = self->at + 1;
    const char *stop = kl__string_stop(name, self->end);
    uint64_t print =
        fingerprint(name, stop, self->end, self->numbers[self->depth - 1]);
    size_t at = print >> 32;

    if (*stop != '"' || self->names++ == MOST) {
        return false;
    }
    for (at %= SLOTS; self->slots[at] != 0; at = (at + 1) % SLOTS) {
        if (self->slots[at] == print) {
            return false;
        }
    }
    self->slots[at] = print;
    self->at = stop + 1;
    return true;
}

static bool open_level(checker *self)
{
    bool is_object = *self->at++ == '{';

    if (self->depth == LEVELS) {
        return false;
    }
    self->numbers[self->depth++] = is_object ? ++self->objects : 0;
    return !is_object || *self->at != '"' || take_name(self);
}

static void skip_string(checker *self)
{
    const char *at = kl__string_stop(self->at + 1, self->end);

    while (*at == '\\') {
        at = kl__string_stop(at + 2, self->end);
    }
    self->at = at + 1;
}

bool kl__is_distinct(const char *text, const char *end)
{
    checker self;

    self.at = text;
    self.end = end;
    self.depth = self.objects = self.names = 0;
    memset(self.slots, 0, sizeof(self.slots));
    while (self.at < end) {
        switch (*self.at) {
        case '{':
        case '[':
            if (!open_level(&self)) {
                return false;
            }
            break;
        case '}':
        case ']':
            self.depth--;
            self.at++;
            break;
        case ',':
            self.at++;
            if (self.numbers[self.depth - 1] != 0 && !take_name(&self)) {
                return false;
            }
            break;
        case '"':
            skip_string(&self);
            break;
        default:
            self.at++;
            break;
        }
    }
    return true;
}
