/*
 * skip.c - see skip.h. Each byte is looked at once; sixty-four at a time where
 * the machine can, else eight inside of strings, where most bytes are. With an
 * outline, check.c is asked about the same sixty-four.
 */
#include "json/skip.h"

#include "json/block.h"
#include "json/text.h"

#include <string.h>

bool kl__skip_begin(kl__skip *skip, char first)
{
    skip->depth = 0;
    skip->spaces = 0;
    skip->in_string = false;
    skip->is_escaped = false;
    skip->is_scalar = false;
    skip->in_metadata = false;
    skip->outline = NULL;
    if (first == '"' || first == '{' || first == '[') {
        return true;
    }
    skip->is_scalar = true;
    return first != '\0' && strchr("-0123456789tfn", first) != NULL;
}

void kl__skip_outline(kl__skip *skip, kl__outline *outline)
{
    outline->is_sure = false;
    outline->count = 0;
    skip->outline = outline;
    skip->taken = 1; /* the brace, which is taken by itself */
    kl__check_begin(&skip->check);
}

static unsigned char class_of(char byte)
{
    return kl__byte_class[(unsigned char)byte];
}

static bool opens(kl__skip *skip, bool is_brace)
{
    uint64_t bit;
    uint64_t *word;

    if (skip->depth == KL_MAX_DEPTH) {
        return false;
    }
    word = &skip->braces[skip->depth / 64];
    bit = UINT64_C(1) << (skip->depth % 64);
    *word = is_brace ? *word | bit : *word & ~bit;
    skip->depth++;
    return true;
}

/* Whether the innermost bracket is a brace. */
static bool in_brace(const kl__skip *skip)
{
    size_t last = skip->depth - 1;

    return (skip->braces[last / 64] >> (last % 64) & 1) != 0;
}

static bool closes(kl__skip *skip, bool is_brace)
{
    if (is_brace != in_brace(skip)) {
        return false;
    }
    skip->depth--;
    return true;
}

/* True: the string is over. */
static bool run_string(kl__skip *skip, const char **at, const char *end)
{
    const char *byte = *at;

    while (byte < end) {
        if (skip->is_escaped) {
            skip->is_escaped = false;
            byte++;
            continue;
        }
        byte = kl__string_stop(byte, end);
        if (byte == end) {
            break;
        }
        if (*byte++ == '"') {
            skip->in_string = false;
            break;
        }
        skip->is_escaped = true;
    }
    *at = byte;
    return !skip->in_string;
}

static kl__skip_result run_scalar(const char **at, const char *end)
{
    while (*at < end) {
        if (class_of(**at) != KL__BYTE_PLAIN || **at == ',') {
            return KL__SKIP_DONE;
        }
        (*at)++;
    }
    return KL__SKIP_MORE;
}

/* A bracket outside of strings; KL__SKIP_DONE is for it to be taken. */
static kl__skip_result take_bracket(kl__skip *skip, bool is_open, bool is_brace)
{
    if (is_open) {
        return opens(skip, is_brace) ? KL__SKIP_MORE : KL__SKIP_TOO_DEEP;
    }
    if (!closes(skip, is_brace)) {
        return KL__SKIP_MISMATCH;
    }
    return skip->depth == 0 ? KL__SKIP_DONE : KL__SKIP_MORE;
}

/* How many bits are set: mostly none, and counting them is a call on a machine
 * that may lack the instruction. */
static size_t count(uint64_t bits)
{
    return bits != 0 ? (size_t)__builtin_popcountll(bits) : 0;
}

/* What a walk over the brackets of a block finds. */
typedef struct walk {
    kl__skip_result result;
    int end;          /* behind the value's last byte, or at what is wrong */
    uint64_t objects; /* where the innermost bracket is a brace */
    uint64_t outer;   /* where that is the value's own brace */
    uint64_t inner;   /* where it is the one of its metadata */
} walk;

static uint64_t from_bit(int bit)
{
    return ~UINT64_C(0) << bit;
}

/* The bits before that one; 64: all. */
static uint64_t up_to(int bit)
{
    return bit < KL__BLOCK_SIZE ? ~from_bit(bit) : ~UINT64_C(0);
}

/* Whether the bracket at `at` is the value of a member with that name; or of
 * one whose name ends so: who reads the outline sees the name itself. */
static bool is_metadata(const kl__skip *skip, const char *at, int bit)
{
    static const char before[] = "\"metadata\":";
    size_t length = sizeof(before) - 1;

    return skip->taken + (size_t)bit >= length &&
           memcmp(at - length, before, length) == 0;
}

static uint64_t set_behind(uint64_t bits, uint64_t behind, bool to)
{
    return (bits & ~behind) | (to ? behind : 0);
}

/* What lies behind bracket `bit` is in another array or object than what lies
 * before it. */
static void note_context(const kl__skip *skip, walk *found, int bit)
{
    uint64_t behind = from_bit(bit);

    found->objects = set_behind(found->objects, behind, in_brace(skip));
    if (skip->depth <= 3) { /* a deeper one lies between brackets of these */
        found->outer = set_behind(found->outer, behind, skip->depth == 1);
        found->inner = set_behind(found->inner, behind,
                                  skip->depth == 2 && skip->in_metadata);
    }
}

/* Empty ones, as in managedFields, need no walk, as long as there is room for
 * them. */
static uint64_t brackets_of(const kl__skip *skip, const kl__block *block)
{
    uint64_t both = block->opens | block->closes;
    uint64_t empty = block->opens & block->closes >> 1 &
                     ~(block->braces ^ block->braces >> 1);

    if (skip->depth + KL__BLOCK_SIZE > KL_MAX_DEPTH) {
        return both;
    }
    return both & ~(empty | empty << 1);
}

/* Takes the brackets of a block up to the last one that belongs to the value.
 */
static void walk_brackets(kl__skip *skip, const kl__block *block,
                          const char *bytes, walk *found)
{
    *found = (walk){.result = KL__SKIP_MORE, .end = KL__BLOCK_SIZE};
    note_context(skip, found, 0);
    for (uint64_t left = brackets_of(skip, block); left != 0;
         left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (skip->depth == 1 && skip->outline != NULL) {
            skip->in_metadata = is_metadata(skip, bytes + i, i);
        }
        found->result = take_bracket(skip, (block->opens >> i & 1) != 0,
                                     (block->braces >> i & 1) != 0);
        if (found->result != KL__SKIP_MORE) {
            found->end = found->result == KL__SKIP_DONE ? i + 1 : i;
            return;
        }
        note_context(skip, found, i);
    }
}

/* Notes the names of members whose places are asked for. */
static bool note_keys(kl__skip *skip, const walk *found, uint64_t keys)
{
    kl__outline *outline = skip->outline;

    for (uint64_t left = keys & (found->outer | found->inner); left != 0;
         left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (outline->count == KL__OUTLINE_KEYS) {
            return false;
        }
        outline->keys[outline->count].at = skip->taken + (size_t)i;
        outline->keys[outline->count].is_in = (found->inner >> i & 1) != 0;
        outline->count++;
    }
    return true;
}

/* The outline follows; it is over at the first doubt, and with the value. */
static void outline_block(kl__skip *skip, const kl__block *block,
                          const char *bytes, const walk *found)
{
    uint64_t live = up_to(found->end);
    kl__check_block checked = {block, bytes, found->objects, live};
    uint64_t keys;

    if (!kl__check_run(&skip->check, &checked, &keys) ||
        !note_keys(skip, found, keys & live)) {
        skip->outline = NULL;
    } else if (found->result == KL__SKIP_DONE) {
        skip->outline->is_sure = true;
        skip->outline = NULL;
    }
}

/* Takes what was walked over; returns how many bytes that is. */
static int take_block(kl__skip *skip, const kl__block *block, const char *bytes,
                      const walk *found)
{
    if (skip->outline != NULL) {
        outline_block(skip, block, bytes, found);
    }
    skip->spaces += count(block->spaces & up_to(found->end));
    skip->in_string = block->ends_in_string;
    skip->is_escaped = block->ends_escaped;
    skip->taken += (size_t)found->end;
    return found->end;
}

/* Whole blocks, as long as they hold nothing out of the ordinary. */
static kl__skip_result run_blocks(kl__skip *skip, const char **at,
                                  const char *end)
{
    kl__block block;
    walk found = {.result = KL__SKIP_MORE};

    while (found.result == KL__SKIP_MORE && end - *at >= KL__BLOCK_SIZE) {
        if (!kl__block_read(&block, *at, skip->in_string, skip->is_escaped)) {
            skip->outline = NULL;
            break;
        }
        walk_brackets(skip, &block, *at, &found);
        *at += take_block(skip, &block, *at, &found);
    }
    return found.result;
}

/* Less than a block: it is taken if the value ends in it, and else left as if
 * nobody had looked. */
static kl__skip_result run_tail(kl__skip *skip, const char **at,
                                const char *end)
{
    const kl__skip before = *skip;
    char padded[KL__BLOCK_SIZE];
    kl__block block;
    walk found;

    memset(padded, ' ', sizeof(padded));
    memcpy(padded, *at, (size_t)(end - *at));
    if (!kl__block_read(&block, padded, skip->in_string, skip->is_escaped)) {
        skip->outline = NULL;
        return KL__SKIP_MORE;
    }
    walk_brackets(skip, &block, *at, &found);
    if (found.result == KL__SKIP_MORE) {
        *skip = before;
    } else {
        *at += take_block(skip, &block, *at, &found);
    }
    return found.result;
}

/* Byte by byte, strings by words. */
static kl__skip_result run_bytes(kl__skip *skip, const char **at,
                                 const char *end)
{
    kl__skip_result result = KL__SKIP_MORE;

    while (*at < end && result == KL__SKIP_MORE) {
        if (skip->in_string) {
            if (run_string(skip, at, end) && skip->depth == 0) {
                return KL__SKIP_DONE;
            }
            continue;
        }
        switch (class_of(**at)) {
        case KL__BYTE_QUOTE:
            skip->in_string = true;
            break;
        case KL__BYTE_SPACE:
            skip->spaces++;
            break;
        case KL__BYTE_OPEN:
        case KL__BYTE_CLOSE:
            result = take_bracket(skip, class_of(**at) == KL__BYTE_OPEN,
                                  **at == '{' || **at == '}');
            break;
        default:
            break;
        }
        *at += result == KL__SKIP_MORE || result == KL__SKIP_DONE ? 1 : 0;
    }
    return result;
}

/* How far to go byte by byte: until blocks may be worth a try again. They are
 * for what is inside of brackets; a string by itself has none. */
static const char *stop_of(const kl__skip *skip, const char *at,
                           const char *end)
{
    int bytes = skip->depth > 0 ? KL__BLOCK_SIZE : 1;

    return (skip->depth == 0 && skip->in_string) || end - at <= bytes
               ? end
               : at + bytes;
}

kl__skip_result kl__skip_run(kl__skip *skip, const char **at, const char *end)
{
    kl__skip_result result = KL__SKIP_MORE;

    if (skip->is_scalar) {
        return run_scalar(at, end);
    }
    while (*at < end && result == KL__SKIP_MORE) {
        if (skip->depth > 0) {
            result = run_blocks(skip, at, end);
        }
        if (result == KL__SKIP_MORE && *at < end && skip->depth > 0 &&
            skip->outline != NULL) {
            result = run_tail(skip, at, end);
            if (skip->outline != NULL) {
                return result; /* the rest must come with more behind it */
            }
        }
        if (result == KL__SKIP_MORE) {
            result = run_bytes(skip, at, stop_of(skip, *at, end));
        }
    }
    return result;
}
