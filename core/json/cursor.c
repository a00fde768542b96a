/*
 * cursor.c - see kubelua/cursor.h. What is passed by is skipped as bytes:
 * strings eight at a time (text.h), the rest of an array or object 64 at a time
 * (kl__cursor_leave), and bytes that have no member of a name 16 or 32 at a
 * time (kl__cursor_may_have).
 */
#include "json/cursor.h"

#include "json/block.h"
#include "json/marks.h"
#include "json/skip.h"
#include "json/text.h"

#include <assert.h>
#include <string.h>
#include <yyjson.h>

static unsigned hex_digit(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0')
                        : (unsigned)((digit | 0x20) - 'a' + 10);
}

static unsigned read_unit(const char *digits)
{
    return hex_digit(digits[0]) << 12 | hex_digit(digits[1]) << 8 |
           hex_digit(digits[2]) << 4 | hex_digit(digits[3]);
}

static size_t put_utf8(char *out, unsigned point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* Reads the escape whose backslash is at *at, and moves *at behind it. Writes
 * its 1 to 4 bytes to `out`. */
static size_t read_escape(const char **at, char *out)
{
    static const char kinds[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *kind = *at + 1;
    const char *known = strchr(kinds, *kind);
    unsigned point;

    *at += 2;
    if (*kind != 'u') {
        out[0] = known != NULL ? bytes[known - kinds] : *kind;
        return 1;
    }
    point = read_unit(kind + 1);
    *at += 4;
    if (point >= 0xd800 && point <= 0xdbff) { /* \ud83d\ude00: two units */
        point =
            0x10000 + ((point - 0xd800) << 10) + (read_unit(*at + 2) - 0xdc00);
        *at += 6;
    }
    return put_utf8(out, point);
}

size_t kl_cursor_decode(const char *string, const char *end, char *out)
{
    const char *at = string + 1;
    size_t used = 0;

    for (;;) {
        const char *stop = kl__string_stop(at, end);

        memcpy(out + used, at, (size_t)(stop - at));
        used += (size_t)(stop - at);
        if (stop >= end || *stop == '"') {
            return used;
        }
        at = stop;
        used += read_escape(&at, out + used);
    }
}

/* True if the escape at `at` ends at `end` or before. */
static bool is_whole(const char *at, const char *end)
{
    size_t left = (size_t)(end - at);
    unsigned unit;

    if (left < strlen("\\u0000") || at[1] != 'u') {
        return left >= strlen("\\n") && at[1] != 'u';
    }
    unit = read_unit(at + 2);
    return unit < 0xd800 || unit > 0xdbff || left >= strlen("\\ud83d\\ude00");
}

/* The rest of a string from its first escape on. */
static bool is_decoded(const char *at, const char *end, const char *bytes,
                       size_t length)
{
    char decoded[4];

    while (at < end && *at != '"') {
        size_t count = 1;

        if (*at != '\\') {
            decoded[0] = *at++;
        } else if (is_whole(at, end)) {
            count = read_escape(&at, decoded);
        } else {
            return false;
        }
        if (count > length || memcmp(decoded, bytes, count) != 0) {
            return false;
        }
        bytes += count;
        length -= count;
    }
    return length == 0;
}

bool kl__cursor_is(const char *string, const char *end, const char *bytes,
                   size_t length)
{
    const char *at = string + 1;
    const char *stop = kl__string_stop(at, end);
    size_t plain = (size_t)(stop - at);

    if (*stop == '"') {
        return plain == length && memcmp(at, bytes, length) == 0;
    }
    return plain <= length && memcmp(at, bytes, plain) == 0 &&
           is_decoded(stop, end, bytes + plain, length - plain);
}

/* ---- the end of an array or object ---- */

/*
 * The brackets of a block are counted, and only where the last one may close
 * are they looked at one by one. The text is valid, so the kinds of brackets
 * need no look; skip.c, which checks its bytes, takes longer.
 */

#ifdef KL__HAS_16

/* What is known before a block. */
typedef struct leaving {
    size_t depth; /* open brackets, at least 1 */
    kl__border border;
} leaving;

/* The bit of the bracket that closes the last open one; KL__BLOCK_SIZE: it is
 * not in this block. */
static inline int find_last(uint64_t opens, uint64_t closes, size_t depth)
{
    for (; closes != 0; closes &= closes - 1, depth--) {
        uint64_t before = (closes & (0 - closes)) - 1;

        if (depth + (size_t)__builtin_popcountll(opens & before) == 1) {
            return __builtin_ctzll(closes);
        }
    }
    return KL__BLOCK_SIZE;
}

static inline int leave_block(leaving *self, const kl__marks *all,
                              kl__between_fn between)
{
    uint64_t escaped = kl__escaped_by(all->slashes, &self->border.escape);
    uint64_t strings = between(all->quotes & ~escaped) ^ self->border.string;
    uint64_t opens = all->opens & ~strings;
    uint64_t closes = all->closes & ~strings;
    size_t closed = (size_t)__builtin_popcountll(closes);
    int last = closed >= self->depth ? find_last(opens, closes, self->depth)
                                     : KL__BLOCK_SIZE;

    self->border.string = (uint64_t)((int64_t)strings >> (KL__BLOCK_SIZE - 1));
    self->depth += (size_t)__builtin_popcountll(opens);
    self->depth -= closed;
    return last;
}

typedef void (*look_fn)(kl__marks *all, const char *bytes);

/* The last block of the text is copied, with NULs behind it. */
static inline const char *leave_with(look_fn look, kl__between_fn between,
                                     const char *at, const char *end)
{
    leaving self = {.depth = 1};
    char padded[KL__BLOCK_SIZE] = {0};
    kl__marks all;
    int last;

    for (; end - at >= KL__BLOCK_SIZE; at += KL__BLOCK_SIZE) {
        look(&all, at);
        last = leave_block(&self, &all, between);
        if (last < KL__BLOCK_SIZE) {
            return at + last + 1;
        }
    }
    memcpy(padded, at, (size_t)(end - at));
    look(&all, padded);
    last = leave_block(&self, &all, between);
    return last < end - at ? at + last + 1 : end;
}

/* `flatten` inlines everything above: without it gcc calls kl__look_16, and
 * takes 1.4 times as many instructions. 64 bytes at once gain nothing here. */
static __attribute__((flatten)) const char *leave_16(const char *at,
                                                     const char *end)
{
    return leave_with(kl__look_16, kl__between, at, end);
}

#ifdef KL__HAS_WIDE
static __attribute__((flatten)) KL__AVX2 const char *leave_32(const char *at,
                                                              const char *end)
{
    return leave_with(kl__look_32, kl__between_clmul, at, end);
}

const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end)
{
    return way >= KL__SKIP_32 ? leave_32(at, end) : leave_16(at, end);
}
#else
const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end)
{
    (void)way;
    return leave_16(at, end);
}
#endif

const char *kl__cursor_leave(const char *at, const char *end)
{
    return kl__cursor_leave_by(kl__skip_best(), at, end);
}

#else

/* Every byte outside of strings is read by itself. */
const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end)
{
    (void)way;
    return kl__cursor_leave(at, end);
}

const char *kl__cursor_leave(const char *at, const char *end)
{
    for (size_t depth = 1; at < end && depth > 0;) {
        unsigned char class = kl__byte_class[(unsigned char)*at];

        at = class == KL__BYTE_QUOTE ? kl_cursor_skip(at, end) : at + 1;
        depth += class == KL__BYTE_OPEN ? 1 : 0;
        depth -= class == KL__BYTE_CLOSE ? 1 : 0;
    }
    return at;
}

#endif

/* ---- a later member of the same name ---- */

/*
 * A reader that has found a member asks kl__cursor_may_have about the rest of
 * the object, as a later member of the same name would count. It takes about as
 * long as finding the end of the object.
 */

/* True if a backslash is at `at`, or the opening quote of such a name, which
 * ends before `end`. */
static bool is_here(const char *at, const char *end, const char *name,
                    size_t length)
{
    if (*at == '\\') {
        return true;
    }
    return at[0] == '"' && (size_t)(end - at) >= length + 2 &&
           at[length + 1] == '"' && memcmp(at + 1, name, length) == 0;
}

#ifdef KL__HAS_16

/* Goes on while a quote, `first` behind it, and a quote `length` + 1 bytes
 * further, or a backslash, are nowhere in 16 bytes. */
static const char *pass_16(const char *at, const char *end, char first,
                           size_t length)
{
    for (; (size_t)(end - at) >= length + 18; at += 16) {
        kl__part part = kl__one_part(at);
        kl__part second = kl__one_part(at + 1);
        kl__part last = kl__one_part(at + length + 1);
        kl__part name = kl__equal(part, '"') & kl__equal(second, first) &
                        kl__equal(last, '"');

        if (kl__is_any(name | kl__equal(part, '\\'))) {
            break;
        }
    }
    return at;
}

#endif

#ifdef KL__HAS_WIDE

/* The same with 32 bytes. */
static KL__AVX2 const char *pass_32(const char *at, const char *end, char first,
                                    size_t length)
{
    for (; (size_t)(end - at) >= length + 34; at += 32) {
        __m256i part = _mm256_loadu_si256((const __m256i *)(const void *)at);
        __m256i second =
            _mm256_loadu_si256((const __m256i *)(const void *)(at + 1));
        __m256i last = _mm256_loadu_si256(
            (const __m256i *)(const void *)(at + length + 1));
        __m256i name =
            _mm256_and_si256(_mm256_and_si256(kl__wide_equal(part, '"'),
                                              kl__wide_equal(second, first)),
                             kl__wide_equal(last, '"'));

        if (_mm256_movemask_epi8(
                _mm256_or_si256(name, kl__wide_equal(part, '\\'))) != 0) {
            break;
        }
    }
    return at;
}

#endif

bool kl__cursor_may_have(const char *at, const char *end, const char *name,
                         size_t length)
{
    while (at < end) {
        const char *stop = end;

#ifdef KL__HAS_WIDE
        if (kl__skip_best() >= KL__SKIP_32) {
            at = pass_32(at, end, length > 0 ? name[0] : '"', length);
        }
#endif
#ifdef KL__HAS_16
        at = pass_16(at, end, length > 0 ? name[0] : '"', length);
        stop = (size_t)(end - at) >= length + 18 ? at + 16 : end;
#endif
        for (; at < stop; at++) {
            if (is_here(at, end, name, length)) {
                return true;
            }
        }
    }
    return false;
}

static_assert(sizeof(kl_scalar) == sizeof(yyjson_val),
              "a scalar has room for one value");

/* `string` is at its opening quote. Returns its end. */
static const char *skip_string(const char *string, const char *end)
{
    const char *at = string + 1;

    while ((at = kl__string_stop(at, end)) < end && *at == '\\') {
        at += 2;
    }
    return at + 1;
}

const char *kl_cursor_skip(const char *value, const char *end)
{
    if (*value == '"') {
        return skip_string(value, end);
    }
    if (*value == '{' || *value == '[') {
        return kl__cursor_leave(value + 1, end);
    }
    while (value < end && *value != ',' && *value != '}' && *value != ']') {
        value++;
    }
    return value;
}

void kl_cursor_begin(kl_cursor *self, const char *value, const char *end)
{
    bool has_parts = value != NULL && (*value == '{' || *value == '[');

    *self = (kl_cursor){.end = end, .at = has_parts ? value : end};
}

bool kl_cursor_next(kl_cursor *self)
{
    const char *at =
        self->at != NULL ? self->at : kl_cursor_skip(self->value, self->end);
    bool named = self->name != NULL || *at == '{';

    /* At an opening bracket, a comma, a closing bracket, or the end. */
    if (at < self->end && (*at == ',' || self->value == NULL)) {
        at++;
    }
    if (at >= self->end || *at == '}' || *at == ']') {
        /* The walk ends here: another call finds nothing either. */
        self->end = self->at = at < self->end ? at + 1 : at;
        self->value = self->name = NULL;
        return false;
    }
    self->name = named ? at : NULL;
    self->value = named ? skip_string(at, self->end) + 1 : at;
    self->at = NULL;
    return true;
}

/* The last member of that name from the current one on, which has it. `*passed`
 * is the end of their object. */
static const char *last_member(kl_cursor *self, const char *name, size_t length,
                               const char **passed)
{
    const char *last = self->value;
    const char *behind = kl_cursor_skip(last, self->end);
    const char *close = kl__cursor_leave(behind, self->end);

    *passed = close;
    if (kl__cursor_may_have(behind, close, name, length)) {
        self->at = behind;
        while (kl_cursor_next(self)) {
            if (kl__cursor_has_name(self, name, length)) {
                last = self->value;
            }
        }
    }
    return last;
}

const char *kl_cursor_member_passed(const char *value, const char *end,
                                    const char *name, size_t length,
                                    const char **passed)
{
    kl_cursor self;

    *passed = value;
    if (value == NULL || *value != '{') {
        return NULL;
    }
    kl_cursor_begin(&self, value, end);
    while (kl_cursor_next(&self)) {
        if (kl__cursor_has_name(&self, name, length)) {
            return last_member(&self, name, length, passed);
        }
    }
    *passed = self.at;
    return NULL;
}

const char *kl_cursor_member(const char *value, const char *end,
                             const char *name, size_t length)
{
    const char *passed;

    return kl_cursor_member_passed(value, end, name, length, &passed);
}

const char *kl_cursor_element(const char *value, const char *end, size_t index)
{
    kl_cursor self;

    if (value == NULL || *value != '[') {
        return NULL;
    }
    kl_cursor_begin(&self, value, end);
    while (kl_cursor_next(&self)) {
        if (index-- == 0) {
            return self.value;
        }
    }
    return NULL;
}

/* The values of a tree are in memory in the order of the text, names of members
 * included. */
const kl_value *kl_cursor_in_tree(const kl_value *value, const char *at,
                                  const char *wanted)
{
    const yyjson_val *found = (const yyjson_val *)value;

    while (at < wanted) {
        switch (*at) {
        case '{':
        case '[':
            found++;
            at++;
            break;
        case '}':
        case ']':
        case ',':
        case ':':
            at++;
            break;
        default:
            found++;
            at = kl_cursor_skip(at, wanted);
            break;
        }
    }
    return (const kl_value *)found;
}

const kl_value *kl__cursor_string(const char *bytes, size_t length,
                                  kl_scalar *room)
{
    yyjson_val *made = (yyjson_val *)(void *)room;

    made->tag = (uint64_t)length << YYJSON_TAG_BIT | YYJSON_TYPE_STR;
    made->uni.str = bytes;
    return (const kl_value *)made;
}

static const kl_value *make_word(yyjson_type type, yyjson_subtype subtype,
                                 kl_scalar *room)
{
    yyjson_val *made = (yyjson_val *)(void *)room;

    *made = (yyjson_val){.tag = type | subtype};
    return (const kl_value *)made;
}

/* The same flag as in doc.c. A byte that is no part of a number, or a NUL,
 * stands behind it. */
static const kl_value *read_number(const char *value, kl_scalar *room)
{
    yyjson_val *made = (yyjson_val *)(void *)room;

    return yyjson_read_number(value, made, YYJSON_READ_BIGNUM_AS_RAW, NULL,
                              NULL) != NULL
               ? (const kl_value *)made
               : NULL;
}

const kl_value *kl_cursor_scalar(const char *value, const char *end,
                                 kl_scalar *room)
{
    const char *stop;

    switch (value != NULL ? *value : 'n') {
    case '"':
        stop = kl__string_stop(value + 1, end);
        return *stop == '"' ? kl__cursor_string(
                                  value + 1, (size_t)(stop - value - 1), room)
                            : NULL;
    case '{':
    case '[':
        return NULL;
    case 't':
        return make_word(YYJSON_TYPE_BOOL, YYJSON_SUBTYPE_TRUE, room);
    case 'f':
        return make_word(YYJSON_TYPE_BOOL, YYJSON_SUBTYPE_FALSE, room);
    case 'n':
        return make_word(YYJSON_TYPE_NULL, YYJSON_SUBTYPE_NONE, room);
    default:
        return read_number(value, room);
    }
}
