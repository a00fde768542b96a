/*
 * fuzz.c - see fuzz.h. It allocates from the C library directly, so that its
 * memory does not count as the library's.
 */
#include "fuzz.h"

#include "kubelua/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fuzz_broken(const char *file, int line, const char *claim)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, claim);
    abort();
}

void fuzz_run(void (*target)(const char *bytes, size_t length),
              const char *bytes, size_t length)
{
    target(bytes, length);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        FUZZ_EXPECT(kl_live_count((kl_live_kind)kind) == 0);
    }
}

fuzz_text fuzz_line(fuzz_text *rest)
{
    const char *end =
        rest->length > 0 ? memchr(rest->bytes, '\n', rest->length) : NULL;
    size_t length = end != NULL ? (size_t)(end - rest->bytes) : rest->length;
    fuzz_text line = {rest->bytes, length};

    length += end != NULL;
    rest->bytes += length;
    rest->length -= length;
    return line;
}

fuzz_text fuzz_part(fuzz_text *rest, const char *separator)
{
    fuzz_text part = {rest->bytes, 0};

    while (rest->length > 0) {
        const char *begin = rest->bytes;

        if (fuzz_is(fuzz_line(rest), separator)) {
            break;
        }
        part.length += (size_t)(rest->bytes - begin);
    }
    return part;
}

char *fuzz_block(fuzz_text text)
{
    char *block = malloc(text.length > 0 ? text.length : 1);

    if (block == NULL) {
        abort();
    }
    if (text.length > 0) {
        memcpy(block, text.bytes, text.length);
    }
    return block;
}

char *fuzz_string(fuzz_text text)
{
    char *copy = malloc(text.length + 1);

    if (copy == NULL) {
        abort();
    }
    if (text.length > 0) {
        memcpy(copy, text.bytes, text.length);
    }
    copy[text.length] = '\0';
    return copy;
}

bool fuzz_is(fuzz_text text, const char *word)
{
    return text.length == strlen(word) &&
           memcmp(text.bytes, word, text.length) == 0;
}

size_t fuzz_chunk(fuzz_chunks *chunks, size_t left)
{
    size_t size = left;

    if (chunks->pattern.length > 0) {
        unsigned char byte =
            (unsigned char)
                chunks->pattern.bytes[chunks->at % chunks->pattern.length];

        size = byte > ' ' ? (size_t)(byte - ' ') + 1 : 1;
        chunks->at++;
    }
    return size < left ? size : left;
}

static bool same_text(const kl_value *a, const kl_value *b)
{
    size_t a_length, b_length;
    const char *a_text = kl_value_string(a, &a_length);
    const char *b_text = kl_value_string(b, &b_length);

    return a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

static bool same_members(const kl_value *a, const kl_value *b)
{
    kl_value_iter at_a = {0}, at_b = {0};
    const kl_value *a_key, *b_key, *value;

    if (kl_value_size(a) != kl_value_size(b)) {
        return false;
    }
    while ((value = kl_value_next(a, &at_a, &a_key)) != NULL) {
        if (!fuzz_same(value, kl_value_next(b, &at_b, &b_key)) ||
            (a_key != NULL && !same_text(a_key, b_key))) {
            return false;
        }
    }
    return true;
}

bool fuzz_same(const kl_value *a, const kl_value *b)
{
    double a_real = kl_value_real(a), b_real = kl_value_real(b);

    if (kl_value_type(a) != kl_value_type(b)) {
        return false;
    }
    switch (kl_value_type(a)) {
    case KL_NULL:
        return true;
    case KL_BOOL:
        return kl_value_bool(a) == kl_value_bool(b);
    case KL_INTEGER:
        return kl_value_integer(a) == kl_value_integer(b);
    case KL_UNSIGNED:
        return kl_value_unsigned(a) == kl_value_unsigned(b);
    case KL_REAL: /* -0.0 is not 0.0 */
        return memcmp(&a_real, &b_real, sizeof(a_real)) == 0;
    case KL_NUMBER:
    case KL_STRING:
        return same_text(a, b);
    default:
        return same_members(a, b);
    }
}

bool fuzz_is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((text[i] < ' ' || text[i] > '~') &&
            (text[i] == '\0' || strchr("\t\r\n", text[i]) == NULL)) {
            return false;
        }
    }
    return true;
}
