/*
 * fuzz.h - shared by all fuzz targets: claims about what was read, inputs that
 * are cut into parts, and the comparison of documents.
 */
#ifndef KL_FUZZ_FUZZ_H
#define KL_FUZZ_FUZZ_H

#include "kubelua/value.h"
#include "targets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Asserts a property that every input must have. A broken one is printed, and
 * the process aborts: libFuzzer keeps the input. */
#define FUZZ_EXPECT(claim) \
    ((claim) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #claim))

_Noreturn void fuzz_broken(const char *file, int line, const char *claim);

/* Runs one input, and asserts that no object of the library is left
 * afterwards. */
void fuzz_run(void (*target)(const char *bytes, size_t length),
              const char *bytes, size_t length);

/* Some bytes; borrowed. */
typedef struct fuzz_text {
    const char *bytes;
    size_t length;
} fuzz_text;

/* Takes the first line off `rest`, without its newline; the whole text if it
 * has no newline. */
fuzz_text fuzz_line(fuzz_text *rest);

/* Takes the text before the next line that equals `separator`, and drops that
 * line. */
fuzz_text fuzz_part(fuzz_text *rest, const char *separator);

/* Copies the bytes into a block of exactly their size, so that a sanitizer
 * finds a read beyond them; fuzz_string copies up to a NUL. The caller frees
 * both. */
char *fuzz_block(fuzz_text text);
char *fuzz_string(fuzz_text text);

bool fuzz_is(fuzz_text text, const char *word);

/* A pattern of chunk sizes, from a line of text that is used again and again:
 * each byte gives a size, its distance from a blank plus one. Without a
 * pattern, each chunk is a whole text. */
typedef struct fuzz_chunks {
    fuzz_text pattern;
    size_t at;
} fuzz_chunks;

/* The next chunk's size, 1 to `left`; `left` is not 0. */
size_t fuzz_chunk(fuzz_chunks *chunks, size_t left);

/* True if two values are the same, with the order and repetition of members
 * and the types of numbers. */
bool fuzz_same(const kl_value *a, const kl_value *b);

/* True if the text has only printable ASCII, tabs and line ends. */
bool fuzz_is_plain(const char *text, size_t length);

#endif
