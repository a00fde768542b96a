/*
 * gzip.c - compressed bodies. The first line: "t" or "z", a pattern of input
 * chunks, a blank, a pattern of sizes for the output. After "t" comes text,
 * which is compressed here, a gzip member for each part between lines of "--";
 * after "z" bytes that claim to be gzip. The text that comes out does not
 * depend on the patterns.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "http/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A few bytes can swell to gigabytes. */
enum { MOST_OUT = 1 << 20, GZIP = 15 + 16 };

typedef struct outcome {
    kl__buf text;
    kl_code code;
    bool is_whole;
    bool is_cut; /* longer than is compared */
} outcome;

static void compress_member(fuzz_text part, kl__buf *out)
{
    z_stream z = {0};
    size_t bound;
    char *room;

    FUZZ_EXPECT(deflateInit2(&z, 6, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) ==
                Z_OK);
    bound = deflateBound(&z, part.length) + 32;
    room = kl__buf_reserve(out, bound);
    z.next_in = (Bytef *)(uintptr_t)part.bytes;
    z.avail_in = (uInt)part.length;
    z.next_out = (Bytef *)room;
    z.avail_out = (uInt)bound;
    FUZZ_EXPECT(deflate(&z, Z_FINISH) == Z_STREAM_END);
    out->length += bound - z.avail_out;
    deflateEnd(&z);
}

/* Decompresses one chunk, in as many steps as the room for output needs. */
static void inflate_chunk(kl__inflate *gzip, fuzz_text in, fuzz_chunks *rooms,
                          outcome *out)
{
    char *block = fuzz_block(in);
    kl__inflate_io io = {.in = block, .in_length = in.length};
    size_t made;

    do {
        size_t size = fuzz_chunk(rooms, 4096);
        char *room = malloc(size);

        io.out = room;
        io.out_length = size;
        out->code = kl__inflate_step(gzip, &io, NULL);
        made = size - io.out_length;
        FUZZ_EXPECT(io.out == room + made);
        kl__buf_append(&out->text, room, made);
        free(room);
        out->is_cut = out->text.length > MOST_OUT;
    } while (out->code == KL_OK && !out->is_cut &&
             (io.in_length > 0 || io.out_length == 0));
    free(block);
}

static outcome inflate_all(fuzz_text in, fuzz_chunks chunks, fuzz_chunks rooms)
{
    outcome out = {.code = KL_OK};
    kl__inflate *gzip = kl__inflate_new();

    while (in.length > 0 && out.code == KL_OK && !out.is_cut) {
        fuzz_text chunk = {in.bytes, fuzz_chunk(&chunks, in.length)};

        inflate_chunk(gzip, chunk, &rooms, &out);
        in.bytes += chunk.length;
        in.length -= chunk.length;
    }
    out.is_whole = kl__inflate_is_whole(gzip);
    kl__inflate_free(gzip);
    return out;
}

/* Compresses the parts of a text; `plain` gets the text that must come out. */
static void compress_parts(fuzz_text text, kl__buf *packed, kl__buf *plain)
{
    do {
        fuzz_text part = fuzz_part(&text, "--");

        compress_member(part, packed);
        kl__buf_append(plain, part.bytes, part.length);
    } while (text.length > 0);
}

static void expect_same(const outcome *a, const outcome *b)
{
    size_t length =
        a->text.length < b->text.length ? a->text.length : b->text.length;

    FUZZ_EXPECT(length == 0 ||
                memcmp(a->text.bytes, b->text.bytes, length) == 0);
    if (a->is_cut || b->is_cut) {
        return;
    }
    FUZZ_EXPECT(a->code == b->code);
    FUZZ_EXPECT(a->is_whole == b->is_whole);
    /* How much zlib decompressed before it found damage depends on the room. */
    FUZZ_EXPECT(a->code != KL_OK || a->text.length == b->text.length);
}

void fuzz_gzip(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text line = fuzz_line(&text);
    const char *blank =
        line.length > 0 ? memchr(line.bytes, ' ', line.length) : NULL;
    size_t first = blank != NULL ? (size_t)(blank - line.bytes) : line.length;
    bool is_text = line.length > 0 && line.bytes[0] == 't';
    fuzz_chunks chunks = {
        .pattern = {line.bytes + 1, first > 0 ? first - 1 : 0}};
    fuzz_chunks rooms = {.pattern = {line.bytes + first, line.length - first}};
    kl__buf packed = {0}, plain = {0};
    outcome whole, cut;

    if (is_text) {
        compress_parts(text, &packed, &plain);
        text = (fuzz_text){packed.bytes, packed.length};
    }
    whole = inflate_all(text, (fuzz_chunks){.at = 0}, (fuzz_chunks){.at = 0});
    cut = inflate_all(text, chunks, rooms);
    expect_same(&whole, &cut);
    FUZZ_EXPECT(whole.code == KL_OK || whole.code == KL_EPARSE);
    if (is_text && !whole.is_cut) {
        FUZZ_EXPECT(whole.code == KL_OK && whole.is_whole);
        FUZZ_EXPECT(whole.text.length == plain.length);
        FUZZ_EXPECT(plain.length == 0 ||
                    memcmp(whole.text.bytes, plain.bytes, plain.length) == 0);
    }
    kl__buf_deinit(&whole.text);
    kl__buf_deinit(&cut.text);
    kl__buf_deinit(&packed);
    kl__buf_deinit(&plain);
}
