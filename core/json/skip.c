/*
 * skip.c - see skip.h. Reads 64 bytes at a time where marks.h can find their
 * marks, else eight at a time in strings, where most bytes are, and one by one
 * outside of them. For each block: (1) block.h finds strings and brackets; (2)
 * a walk over the brackets finds the end of the value, and which bytes are in
 * an object; (3) with an outline, check_rules.h checks that the block is JSON.
 */
#include "json/skip.h"

#include "json/block.h"
#include "json/check_rules.h"
#include "json/text.h"

#include <string.h>

/* Moves the outermost bracket of skip->top to skip->below, before another one
 * is opened. */
static inline void bury_bracket(kl__skip *skip)
{
    uint64_t *word = &skip->below->words[skip->depth / 64 - 1];
    uint64_t bit = UINT64_C(1) << (skip->depth % 64);

    *word = (skip->top >> 63) != 0 ? *word | bit : *word & ~bit;
}

static inline void open_bracket(kl__skip *skip, bool is_brace)
{
    if (skip->depth >= 64) {
        if (skip->depth >= KL_MAX_DEPTH) {
            skip->is_too_deep = true;
            skip->depth++;
            return;
        }
        bury_bracket(skip);
    }
    skip->top = skip->top * 2 + (is_brace ? 1 : 0);
    skip->depth++;
}

/* True if the innermost open bracket is a brace. */
static inline bool is_in_brace(const kl__skip *skip)
{
    return (skip->top & 1) != 0;
}

static inline bool close_bracket(kl__skip *skip, bool is_brace)
{
    if (skip->depth > KL_MAX_DEPTH) {
        skip->depth--;
        return true;
    }
    if (is_brace != is_in_brace(skip)) {
        return false;
    }
    skip->depth--;
    skip->top >>= 1;
    if (skip->depth >= 64) {
        uint64_t word = skip->below->words[skip->depth / 64 - 1];

        skip->top |= (word >> (skip->depth % 64) & 1) << 63;
    }
    return true;
}

/* Handles a bracket outside of strings. KL__SKIP_DONE: it ends the value; the
 * caller consumes it. */
static inline kl__skip_result take_bracket(kl__skip *skip, bool is_open,
                                           bool is_brace)
{
    if (is_open) {
        open_bracket(skip, is_brace);
        return KL__SKIP_MORE;
    }
    if (!close_bracket(skip, is_brace)) {
        return KL__SKIP_MISMATCH;
    }
    return skip->depth == 0 ? KL__SKIP_DONE : KL__SKIP_MORE;
}

#ifdef KL__HAS_16

/* The number of set bits. Mostly 0, which is tested first: where the compiler
 * may not use the popcnt instruction, counting is a function call. */
static size_t count_bits(uint64_t bits)
{
    return bits != 0 ? (size_t)__builtin_popcountll(bits) : 0;
}

/* What the walk over the brackets of a block finds. */
typedef struct walk {
    kl__skip_result result;
    int end;          /* behind the value, or at the wrong bracket */
    uint64_t objects; /* bytes whose innermost bracket is a brace */
    uint64_t outer;   /* bytes directly in the value's outermost object */
    uint64_t inner;   /* bytes directly in the object "metadata" */
} walk;

static uint64_t from_bit(int bit)
{
    return ~UINT64_C(0) << bit;
}

/* True if the bracket at `at` is the value of the member "metadata", or of a
 * member whose name ends in \"metadata. That is enough: the reader of the
 * outline compares the whole name. */
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

/* After a bracket at `bit`: sets the masks of `found` for the bytes behind it,
 * which are in another array or object than the bytes before it. */
static void note_context(const kl__skip *skip, walk *found, int bit)
{
    uint64_t behind = from_bit(bit);

    found->objects = set_behind(found->objects, behind, is_in_brace(skip));
    if (skip->depth <= 3) { /* deeper brackets do not change outer and inner */
        found->outer = set_behind(found->outer, behind, skip->depth == 1);
        found->inner = set_behind(found->inner, behind,
                                  skip->depth == 2 && skip->in_metadata);
    }
}

/* The brackets to walk over. An empty pair, {} or [], needs no walk
 * (managedFields has many), unless the depth is near its limit. */
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

/* Handles the brackets of a block, up to the one that ends the value. */
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

/* Counts the brackets of a block with braces only, in objects only, instead of
 * walking over them: most of managedFields is such. False, with `skip`
 * unchanged: this is no such block; or the value may end in it; or it may have
 * names for the outline. */
static bool count_braces(kl__skip *skip, const kl__block *block, walk *found)
{
    const uint64_t all = ~UINT64_C(0);
    unsigned opens = (unsigned)__builtin_popcountll(block->opens);
    unsigned closes = (unsigned)__builtin_popcountll(block->closes);
    /* How many of the innermost open brackets are braces: 63 at most. */
    unsigned braces = (unsigned)__builtin_ctzll(~(skip->top & all >> 1));

    if (closes >= braces ||
        ((block->opens | block->closes) & ~block->braces) != 0 ||
        skip->depth < 2 + (size_t)skip->in_metadata + closes ||
        skip->depth + opens >= KL__BLOCK_SIZE) {
        return false;
    }
    *found =
        (walk){.result = KL__SKIP_MORE, .end = KL__BLOCK_SIZE, .objects = all};
    skip->top = ~(~(skip->top >> closes) << opens);
    skip->depth += opens;
    skip->depth -= closes;
    return true;
}

/* Adds the names of the outermost members, and of the members of metadata, to
 * the outline. False: too many. */
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

/* Checks a block and fills the outline from it. Gives up (outline NULL) if the
 * check cannot decide; ends with the value. */
static void outline_block(kl__skip *skip, const kl__block *block,
                          const char *bytes, const walk *found)
{
    kl__check_block checked = {block, bytes, found->objects, found->end};
    uint64_t keys;

    if (!kl__check_run(&skip->check, &checked, &keys) ||
        !note_keys(skip, found, keys)) {
        skip->outline = NULL;
    } else if (found->result == KL__SKIP_DONE) {
        skip->outline->is_sure = true;
        skip->outline = NULL;
    }
}

/* Consumes the bytes that were walked over; returns their number. */
static int take_block(kl__skip *skip, kl__block *block, const char *bytes,
                      const walk *found)
{
    if (found->result != KL__SKIP_MORE) {
        kl__block_cut(block, found->end);
    }
    if (skip->outline != NULL) {
        outline_block(skip, block, bytes, found);
    }
    if (block->rare != 0) {
        skip->spaces += count_bits(block->spaces);
    }
    skip->taken += (size_t)found->end;
    return found->end;
}

static kl__border border_of(const kl__skip *skip)
{
    return (kl__border){.string = skip->in_string ? ~UINT64_C(0) : 0,
                        .escape = skip->is_escaped ? 1 : 0};
}

static void store_border(kl__skip *skip, const kl__border *border)
{
    skip->in_string = border->string != 0;
    skip->is_escaped = border->escape != 0;
}

/* How many blocks are read before the first is walked over. */
enum { AHEAD = 4 };

/* The functions of one set of instructions. */
typedef struct instructions {
    void (*look)(kl__marks *all, const char *bytes);
    kl__between_fn between;
} instructions;

/* Reads up to `most` blocks, and moves `border` behind the last; returns their
 * number. It stops before a block with a backslash outside of strings. */
static inline int read_ahead(const instructions *by, kl__block *blocks,
                             int most, const char *bytes, kl__border *border)
{
    bool is_plain = true;
    int count = 0;

    while (count < most && is_plain) {
        const char *from = bytes + count * KL__BLOCK_SIZE;
        kl__border behind = *border;
        kl__marks all;

        by->look(&all, from);
        is_plain =
            kl__block_read(&blocks[count], &all, from, &behind, by->between);
        if (is_plain) {
            *border = behind;
            count++;
        }
    }
    return count;
}

/* Consumes whole blocks; stops at a backslash outside of strings. Works on a
 * copy of the state, which the compiler keeps in registers where it can. Reads
 * some blocks before it walks over the first: when the processor has guessed a
 * branch of the walk wrong, it has the marks of the next block already. */
static inline kl__skip_result run_with(const instructions *by, kl__skip *skip,
                                       const char **at, const char *end)
{
    walk found = {.result = KL__SKIP_MORE};
    kl__skip now = *skip;
    kl__border border = border_of(skip);
    const char *bytes = *at;
    bool is_plain = true;

    while (found.result == KL__SKIP_MORE && is_plain &&
           end - bytes >= KL__BLOCK_SIZE) {
        ptrdiff_t whole = (end - bytes) / KL__BLOCK_SIZE;
        int most = whole < AHEAD ? (int)whole : AHEAD;
        kl__block blocks[AHEAD];
        int count = read_ahead(by, blocks, most, bytes, &border);

        is_plain = count == most;
        for (int i = 0; i < count && found.result == KL__SKIP_MORE; i++) {
            if (!count_braces(&now, &blocks[i], &found)) {
                walk_brackets(&now, &blocks[i], bytes, &found);
            }
            bytes += take_block(&now, &blocks[i], bytes, &found);
        }
    }
    if (!is_plain) {
        now.outline = NULL;
    }
    *at = bytes;
    *skip = now;
    store_border(skip, &border);
    return found.result;
}

/* `flatten` inlines everything above into one loop without calls; what is
 * `cold` stays a call, so that the library is small. On amd64 run_16 is not
 * flattened, also for size: only machines from before 2013 run it. */
#ifdef KL__HAS_WIDE
#define KL__FLATTEN_16
#else
#define KL__FLATTEN_16 __attribute__((flatten))
#endif
static KL__FLATTEN_16 kl__skip_result run_16(kl__skip *skip, const char **at,
                                             const char *end)
{
    return run_with(&(instructions){kl__look_16, kl__between}, skip, at, end);
}

#ifdef KL__HAS_WIDE
static __attribute__((flatten)) KL__AVX2 kl__skip_result run_32(kl__skip *skip,
                                                                const char **at,
                                                                const char *end)
{
    return run_with(&(instructions){kl__look_32, kl__between_clmul}, skip, at,
                    end);
}

static __attribute__((flatten)) KL__AVX512 kl__skip_result
run_64(kl__skip *skip, const char **at, const char *end)
{
    return run_with(&(instructions){kl__look_64, kl__between_clmul}, skip, at,
                    end);
}
#endif

/* Reads an incomplete block, padded with blanks. Consumes it if the value ends
 * in it; else restores the state and leaves it. */
static __attribute__((cold)) kl__skip_result
run_tail(kl__skip *skip, const char **at, const char *end)
{
    const kl__skip before = *skip;
    kl__border border = border_of(skip);
    char padded[KL__BLOCK_SIZE];
    kl__block block;
    kl__marks all;
    walk found;

    memset(padded, ' ', sizeof(padded));
    memcpy(padded, *at, (size_t)(end - *at));
    kl__look_16(&all, padded);
    if (!kl__block_read(&block, &all, padded, &border, kl__between)) {
        skip->outline = NULL;
        return KL__SKIP_MORE;
    }
    walk_brackets(skip, &block, *at, &found);
    if (found.result == KL__SKIP_MORE) {
        *skip = before;
    } else {
        *at += take_block(skip, &block, *at, &found);
        store_border(skip, &border);
    }
    return found.result;
}

#ifdef KL__HAS_WIDE
/* 64 bytes at once from Ice Lake and Zen 4 on, which have VBMI2: machines
 * before them lower their clock when they use AVX-512. */
bool kl__skip_has(kl__skip_way way)
{
    bool has_32 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
        __builtin_cpu_supports("pclmul");

    if (way == KL__SKIP_64) {
        return has_32 && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vbmi2");
    }
    return way == KL__SKIP_32 ? has_32 : way == KL__SKIP_16;
}

kl__skip_way kl__skip_best(void)
{
    if (kl__skip_has(KL__SKIP_64)) {
        return KL__SKIP_64;
    }
    return kl__skip_has(KL__SKIP_32) ? KL__SKIP_32 : KL__SKIP_16;
}

static kl__skip_result run_by(kl__skip_way way, kl__skip *skip, const char **at,
                              const char *end)
{
    return way == KL__SKIP_64   ? run_64(skip, at, end)
           : way == KL__SKIP_32 ? run_32(skip, at, end)
                                : run_16(skip, at, end);
}
#else
bool kl__skip_has(kl__skip_way way)
{
    return way == KL__SKIP_16;
}

kl__skip_way kl__skip_best(void)
{
    return KL__SKIP_16;
}

static kl__skip_result run_by(kl__skip_way way, kl__skip *skip, const char **at,
                              const char *end)
{
    (void)way;
    return run_16(skip, at, end);
}
#endif

/* Call while a bracket is open. Consumes whole blocks; stops at a block with a
 * backslash outside of strings. With an outline, it also consumes an incomplete
 * block at the end if the value ends in it; if not, it leaves that block
 * unread. It sets skip->outline to NULL when the check gives up. */
static kl__skip_result run_blocks(kl__skip *skip, const char **at,
                                  const char *end)
{
    kl__skip_way way = skip->way != KL__SKIP_BEST ? skip->way : kl__skip_best();
    kl__skip_result result = run_by(way, skip, at, end);

    return result == KL__SKIP_MORE && skip->outline != NULL && *at < end
               ? run_tail(skip, at, end)
               : result;
}

#else

bool kl__skip_has(kl__skip_way way)
{
    (void)way;
    return false;
}

kl__skip_way kl__skip_best(void)
{
    return KL__SKIP_BEST;
}

/* run_bytes reads every byte. */
static kl__skip_result run_blocks(kl__skip *skip, const char **at,
                                  const char *end)
{
    (void)at;
    (void)end;
    skip->outline = NULL;
    return KL__SKIP_MORE;
}

#endif

bool kl__skip_begin(kl__skip *skip, kl__skip_levels *below, char first)
{
    skip->below = below;
    skip->is_too_deep = false;
    skip->depth = 0;
    skip->spaces = 0;
    skip->top = 0;
    skip->way = KL__SKIP_BEST;
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
    skip->taken = 1; /* the opening brace */
    /* The last byte was a brace. */
    skip->check = (kl__check){.start = 1, .open = 1, .member = 1};
}

static unsigned char class_of(char byte)
{
    return kl__byte_class[(unsigned char)byte];
}

/* True: the end of the string was found. */
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

/* Reads byte by byte, and in strings eight bytes at a time. */
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

/* How far to go byte by byte before run_blocks is tried again. Blocks need
 * an open bracket, so a value that is a string is read to `end`. */
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
            if (skip->outline != NULL) {
                return result; /* the rest must come again with more bytes */
            }
        }
        if (result == KL__SKIP_MORE) {
            result = run_bytes(skip, at, stop_of(skip, *at, end));
        }
    }
    return result;
}
