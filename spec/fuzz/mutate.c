/*
 * mutate.c - see mutate.h. A span is a JSON value, a quoted text, a word or a
 * line. Spans are doubled, dropped, swapped, copied over one another, put into
 * brackets, and repeated.
 */
#include "mutate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    size_t at;
    size_t length;
} span;

typedef struct text {
    char *bytes;
    size_t length;
    size_t capacity;
    uint64_t state; /* of the random numbers */
} text;

static size_t choose(text *self, size_t count)
{
    self->state = self->state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(self->state >> 33) % count;
}

static size_t string_end(const text *self, size_t at)
{
    char quote = self->bytes[at++];

    while (at < self->length && self->bytes[at] != quote) {
        at += self->bytes[at] == '\\' ? 2 : 1;
    }
    return at < self->length ? at + 1 : self->length;
}

static size_t bracket_end(const text *self, size_t at)
{
    size_t depth = 0;

    while (at < self->length) {
        char byte = self->bytes[at];

        if (byte == '"') {
            at = string_end(self, at);
            continue;
        }
        at++;
        if (byte == '{' || byte == '[') {
            depth++;
        } else if ((byte == '}' || byte == ']') && --depth == 0) {
            break;
        }
    }
    return at;
}

/* The end of the word at a place; separators end a word. */
static size_t word_end(const text *self, size_t at)
{
    static const char separators[] = " \t\r\n,:{}[]\"'=&?/()";
    size_t end = at + 1;

    while (end < self->length &&
           memchr(separators, self->bytes[end], sizeof(separators)) == NULL) {
        end++;
    }
    return end;
}

static span line_at(const text *self, size_t at)
{
    size_t begin = at, end = at;

    while (begin > 0 && self->bytes[begin - 1] != '\n') {
        begin--;
    }
    while (end < self->length && self->bytes[end] != '\n') {
        end++;
    }
    end += end < self->length;
    return (span){begin, end - begin};
}

/* Picks a line, or a span that begins at a value near some place. */
static span pick(text *self)
{
    size_t at = choose(self, self->length);
    size_t end;

    if (choose(self, 4) == 0) {
        return line_at(self, at);
    }
    for (int tries = 0; tries < 40 && at + 1 < self->length &&
                        strchr(" \t\n,:}])", self->bytes[at]) != NULL;
         tries++) {
        at++;
    }
    switch (self->bytes[at]) {
    case '"':
    case '\'':
        end = string_end(self, at);
        break;
    case '{':
    case '[':
        end = bracket_end(self, at);
        break;
    default:
        end = word_end(self, at);
        break;
    }
    return (span){at, end - at};
}

/* Replaces a span by some bytes; does nothing if they do not fit. */
static void replace(text *self, span old, const char *bytes, size_t length)
{
    size_t tail = old.at + old.length;

    if (self->length - old.length + length > self->capacity) {
        return;
    }
    memmove(self->bytes + old.at + length, self->bytes + tail,
            self->length - tail);
    memcpy(self->bytes + old.at, bytes, length);
    self->length = self->length - old.length + length;
}

/* A copy of a span's bytes, in a block of twice their size and two bytes
 * more. */
static char *copy_of(const text *self, span from)
{
    char *copy = malloc(2 * from.length + 2);

    if (copy == NULL) {
        abort();
    }
    memcpy(copy, self->bytes + from.at, from.length);
    return copy;
}

static void wrap(text *self, span what)
{
    static const char *const brackets[] = {"[]", "{}", "\"\"", "()", "[]"};
    const char *pair = brackets[choose(self, 5)];
    char *copy = copy_of(self, what);

    memmove(copy + 1, copy, what.length);
    copy[0] = pair[0];
    copy[what.length + 1] = pair[1];
    replace(self, what, copy, what.length + 2);
    free(copy);
}

/* Repeats a span after itself, perhaps with a comma between. */
static void repeat(text *self, span what)
{
    char *copy = copy_of(self, what);
    size_t comma = choose(self, 2);

    if (comma == 1) {
        memmove(copy + 1, copy, what.length);
        copy[0] = ',';
    }
    replace(self, (span){what.at + what.length, 0}, copy, what.length + comma);
    free(copy);
}

static void swap(text *self, span a, span b)
{
    char *first, *second;

    if (a.at > b.at) {
        span other = a;

        a = b;
        b = other;
    }
    if (a.at + a.length > b.at) {
        return; /* the spans overlap */
    }
    first = copy_of(self, a);
    second = copy_of(self, b);
    replace(self, b, first, a.length);
    replace(self, a, second, b.length);
    free(first);
    free(second);
}

static void put_other(text *self, span where, span what)
{
    char *copy = copy_of(self, what);

    replace(self, where, copy, what.length);
    free(copy);
}

size_t fuzz_mutate(char *bytes, size_t length, size_t capacity, unsigned seed)
{
    text self = {bytes, length, capacity, seed};
    size_t changes = 1 + choose(&self, 3);

    for (; changes > 0 && self.length > 0; changes--) {
        span what = pick(&self), other = pick(&self);

        switch (choose(&self, 6)) {
        case 0:
            replace(&self, what, "", 0);
            break;
        case 1:
            wrap(&self, what);
            break;
        case 2:
            swap(&self, what, other);
            break;
        case 3:
            put_other(&self, what, other);
            break;
        default:
            repeat(&self, what);
            break;
        }
    }
    return self.length;
}
