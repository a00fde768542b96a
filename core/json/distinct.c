/*
 * distinct.c - see distinct.h. In nearly all texts, no object has a name twice,
 * and a fast check shows that for most of them: it computes one number from
 * each name and its object, and keeps the numbers in a table of a fixed size.
 * Two equal numbers may come from one name that stands twice. Then the other
 * functions decide: they find members by their names in a hashed set (names.h).
 * A text is read once, without recursion.
 */
#include "json/distinct.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/name_set.h"
#include "json/text.h"

#include <stdint.h>
#include <stdlib.h>
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

/* True: no object of a valid text, which is as cursor.h wants it, has a name
 * twice. False: one may have. */
static bool has_no_name_twice(const char *text, const char *end)
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

static int compare_numbers(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;

    return a < b ? -1 : a > b ? 1 : 0;
}

/* Adds the next member. False: out of memory. */
static bool note_member(kl__names *names, const kl__name_text *at, size_t i,
                        kl__buf *numbers)
{
    bool is_new;
    kl__name *name = kl__names_add(names, 0, at, &is_new);

    if (name == NULL) {
        return false;
    }
    if (!is_new) {
        kl__buf_append(numbers, &name->begin, sizeof(name->begin));
    }
    name->begin = i;
    return !numbers->failed;
}

/* Hands the numbers over. False: out of memory. */
static bool end_numbers(kl__replaced *replaced, kl__names *names,
                        kl__buf *numbers, bool is_whole)
{
    kl__names_deinit(names);
    if (is_whole && numbers->length > 0) {
        replaced->count = numbers->length / sizeof(size_t);
        replaced->items = (size_t *)(void *)numbers->bytes;
        qsort(replaced->items, replaced->count, sizeof(size_t),
              compare_numbers);
        return true;
    }
    kl__buf_deinit(numbers);
    return is_whole;
}

/* The names of an object that has few: comparing each with each takes less time
 * than a set. */
enum { FEW = 12 };

typedef struct few {
    size_t count; /* FEW + 1: there are more, or some have escapes */
    const char *names[FEW];
    size_t lengths[FEW];
} few;

static void add_few(few *self, const char *name, size_t length)
{
    if (self->count < FEW) {
        self->names[self->count] = name;
        self->lengths[self->count] = length;
        self->count++;
    } else {
        self->count = FEW + 1;
    }
}

static bool are_distinct(const few *self)
{
    for (size_t i = 1; i < self->count && self->count <= FEW; i++) {
        for (size_t j = 0; j < i; j++) {
            if (self->lengths[i] == self->lengths[j] &&
                memcmp(self->names[i], self->names[j], self->lengths[i]) == 0) {
                return false;
            }
        }
    }
    return self->count <= FEW;
}

/* True: no name of the object is there twice. False: one may be. */
static bool is_distinct_text(const char *value, const char *end)
{
    kl_cursor walk;
    few names;

    names.count = 0;
    kl_cursor_begin(&walk, value, end);
    while (names.count <= FEW && kl_cursor_next(&walk)) {
        size_t length = (size_t)(walk.value - walk.name) - strlen("\"\":");

        if (memchr(walk.name + 1, '\\', length) != NULL) {
            return false;
        }
        add_few(&names, walk.name + 1, length);
    }
    return are_distinct(&names);
}

static bool is_distinct_tree(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *key;
    few names;

    names.count = 0;
    while (names.count <= FEW && kl_value_next(value, &iter, &key) != NULL) {
        size_t length;
        const char *name = kl_value_string(key, &length);

        add_few(&names, name, length);
    }
    return are_distinct(&names);
}

bool kl__replaced_in_text(kl__replaced *replaced, const char *value,
                          const char *end)
{
    kl__buf numbers = {0};
    kl__names names;
    kl_cursor walk;
    size_t i = 0;
    bool is_whole = true;

    *replaced = (kl__replaced){0};
    if (value == NULL || *value != '{' || is_distinct_text(value, end)) {
        return true;
    }
    kl__names_init(&names);
    kl_cursor_begin(&walk, value, end);
    while (is_whole && kl_cursor_next(&walk)) {
        kl__name_text at = {.bytes = walk.name, .end = end};

        is_whole = note_member(&names, &at, i++, &numbers);
    }
    return end_numbers(replaced, &names, &numbers, is_whole);
}

bool kl__replaced_in_tree(kl__replaced *replaced, const kl_value *value)
{
    kl_value_iter iter = {0};
    kl__buf numbers = {0};
    const kl_value *name;
    kl__names names;
    bool is_whole = true;

    *replaced = (kl__replaced){0};
    if (kl_value_type(value) != KL_OBJECT || is_distinct_tree(value)) {
        return true;
    }
    kl__names_init(&names);
    while (is_whole && kl_value_next(value, &iter, &name) != NULL) {
        kl__name_text at = {0};

        at.bytes = kl_value_string(name, &at.length);
        is_whole = note_member(&names, &at, iter.index - 1, &numbers);
    }
    return end_numbers(replaced, &names, &numbers, is_whole);
}

void kl__replaced_deinit(kl__replaced *replaced)
{
    kl__free(replaced->items);
    *replaced = (kl__replaced){0};
}

static kl_code hand_over(kl__replaced *replaced, bool is_known,
                         size_t **numbers, size_t *count, kl_error *err)
{
    *numbers = replaced->items;
    *count = replaced->count;
    return is_known ? KL_OK
                    : kl_error_set(err, KL_ENOMEM, "out of memory for names");
}

kl_code kl_cursor_replaced(const char *value, const char *end, size_t **numbers,
                           size_t *count, kl_error *err)
{
    kl__replaced replaced;
    bool is_known = kl__replaced_in_text(&replaced, value, end);

    return hand_over(&replaced, is_known, numbers, count, err);
}

kl_code kl_value_replaced(const kl_value *value, size_t **numbers,
                          size_t *count, kl_error *err)
{
    kl__replaced replaced;
    bool is_known = kl__replaced_in_tree(&replaced, value);

    return hand_over(&replaced, is_known, numbers, count, err);
}

/* An array or object that is being read. */
typedef struct level {
    size_t first;   /* its first name */
    size_t current; /* the name of the current member */
    bool is_object;
} level;

/* Bytes that are left out: a member, and the comma behind it. */
typedef struct range {
    size_t begin;
    size_t end;
} range;

typedef struct reader {
    const char *text;
    const char *end;
    const char *at;
    kl__names names;
    kl__buf levels; /* of `level`, the innermost last */
    kl__buf ranges; /* of `range` */
} reader;

static level *innermost(reader *self)
{
    return (level *)(void *)(self->levels.bytes + self->levels.length) - 1;
}

/* At the name of a member. False: out of memory. */
static bool begin_member(reader *self)
{
    level *inner = innermost(self);
    kl__name_text at = {.bytes = self->at, .end = self->end};
    bool is_new;
    kl__name *name = kl__names_add(&self->names, inner->first, &at, &is_new);

    if (name == NULL) {
        return false;
    }
    if (!is_new) {
        range former = {name->begin, name->end + 1};

        kl__buf_append(&self->ranges, &former, sizeof(former));
    }
    name->begin = (size_t)(self->at - self->text);
    inner->current = (size_t)(name - self->names.items);
    self->at = kl_cursor_skip(self->at, self->end);
    return !self->ranges.failed;
}

static void end_member(reader *self)
{
    const level *inner = innermost(self);

    if (inner->is_object && inner->first < self->names.count) {
        self->names.items[inner->current].end = (size_t)(self->at - self->text);
    }
}

/* Reads on behind the next byte, or the next string. False: out of memory. */
static bool read_next(reader *self)
{
    level added = {self->names.count, 0, *self->at == '{'};

    switch (*self->at) {
    case '{':
    case '[':
        kl__buf_append(&self->levels, &added, sizeof(added));
        self->at++;
        return !self->levels.failed &&
               (!added.is_object || *self->at != '"' || begin_member(self));
    case '}':
    case ']':
        end_member(self);
        kl__names_drop(&self->names, innermost(self)->first);
        self->levels.length -= sizeof(level);
        self->at++;
        return true;
    case ',':
        end_member(self);
        self->at++;
        return !innermost(self)->is_object || begin_member(self);
    case '"':
        self->at = kl_cursor_skip(self->at, self->end);
        return true;
    default:
        self->at++;
        return true;
    }
}

static int compare_ranges(const void *left, const void *right)
{
    const range *a = left, *b = right;

    return a->begin < b->begin ? -1 : a->begin > b->begin ? 1 : 0;
}

/* The text without the ranges; one may be within another. NULL: out of
 * memory. */
static char *copy_others(reader *self, size_t *length)
{
    range *ranges = (range *)(void *)self->ranges.bytes;
    size_t count = self->ranges.length / sizeof(range), at = 0;
    kl__buf out = {0};

    qsort(ranges, count, sizeof(*ranges), compare_ranges);
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].begin > at) {
            kl__buf_append(&out, self->text + at, ranges[i].begin - at);
        }
        at = ranges[i].end > at ? ranges[i].end : at;
    }
    kl__buf_append(&out, self->text + at,
                   (size_t)(self->end - self->text) - at);
    return kl__buf_take(&out, length);
}

kl_code kl_cursor_distinct(const char *text, const char *end, char **copy,
                           size_t *length, kl_error *err)
{
    reader self = {.text = text, .end = end, .at = text};
    bool is_whole = true;

    *copy = NULL;
    if (has_no_name_twice(text, end)) {
        return KL_OK;
    }
    kl__names_init(&self.names);
    while (is_whole && self.at < end) {
        is_whole = read_next(&self);
    }
    if (is_whole && self.ranges.length > 0) {
        *copy = copy_others(&self, length);
        is_whole = *copy != NULL;
    }
    kl__names_deinit(&self.names);
    kl__buf_deinit(&self.levels);
    kl__buf_deinit(&self.ranges);
    return is_whole ? KL_OK
                    : kl_error_set(err, KL_ENOMEM, "out of memory for names");
}
