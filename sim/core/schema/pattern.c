/*
 * pattern.c - see pattern.h: compiles regular expressions.
 */
#include "sim/core/schema/pattern.h"

#include "base/mem.h"
#include "sim/core/schema/pattern_class.h"

#include <string.h>

enum {
    MAX_STEPS = 20000, /* a longer program is KL__PATTERN_UNKNOWN */
    MAX_REPEAT = 1000, /* the limit of RE2 */
    MAX_DEPTH = 200    /* of nested groups */
};

void kl__pattern_deinit(kl__pattern *pattern)
{
    kl__free(pattern->steps);
    kl__free(pattern->ranges);
    memset(pattern, 0, sizeof(*pattern));
}

/* --- Steps. --------------------------------------------------------------- */

/* Makes room for `count` zeroed steps at `at`; the steps from there on move.
 * False: an error, now or before. */
static bool insert_steps(kl__pattern_source *self, size_t at, size_t count)
{
    kl__pattern *to = self->to;

    if (self->result != KL__PATTERN_FITS) {
        return false;
    }
    if (to->step_count + count > MAX_STEPS) {
        self->result = KL__PATTERN_UNKNOWN;
        return false;
    }
    if (to->step_count + count > to->step_capacity) {
        size_t capacity = (to->step_count + count) * 2;
        kl__pattern_step *steps =
            kl__realloc(to->steps, capacity * sizeof(*steps));

        if (steps == NULL) {
            self->result = KL__PATTERN_ENOMEM;
            return false;
        }
        to->steps = steps;
        to->step_capacity = capacity;
    }
    memmove(to->steps + at + count, to->steps + at,
            (to->step_count - at) * sizeof(*to->steps));
    memset(to->steps + at, 0, count * sizeof(*to->steps));
    to->step_count += count;
    return true;
}

static void put_step(kl__pattern_source *self, size_t at, kl__pattern_op op,
                     int x, int y)
{
    if (insert_steps(self, at, 1)) {
        kl__pattern_step *step = &self->to->steps[at];

        step->op = op;
        step->x = x;
        step->y = y;
    }
}

static void put_assertion(kl__pattern_source *self, kl__pattern_op op,
                          bool line, bool negated)
{
    size_t at = self->to->step_count;

    put_step(self, at, op, 0, 0);
    if (self->result == KL__PATTERN_FITS) {
        self->to->steps[at].line = line;
        self->to->steps[at].negated = negated;
    }
}

/* Appends a step that matches a character in the ranges from `first` to the
 * end. */
static void put_set(kl__pattern_source *self, size_t first, bool negated)
{
    size_t at = self->to->step_count;

    put_step(self, at, KL__OP_SET, 0, 0);
    if (self->result == KL__PATTERN_FITS) {
        self->to->steps[at].first = first;
        self->to->steps[at].count = self->to->range_count - first;
        self->to->steps[at].negated = negated;
    }
}

static void put_rune(kl__pattern_source *self, uint32_t rune)
{
    size_t first = self->to->range_count;

    kl__pattern_add(self, rune, rune);
    put_set(self, first, false);
}

/* --- Repetition. ---------------------------------------------------------- */

/* Appends a copy of the piece of `length` steps at `at`. */
static void copy_piece(kl__pattern_source *self, size_t at, size_t length)
{
    size_t end = self->to->step_count;

    if (insert_steps(self, end, length)) {
        memcpy(self->to->steps + end, self->to->steps + at,
               length * sizeof(*self->to->steps));
    }
}

/* Changes the piece from `at` to the end so that it matches any number of
 * times; with `once`, at least once. */
static void repeat_freely(kl__pattern_source *self, size_t at, bool once)
{
    int length = (int)(self->to->step_count - at);

    if (once) {
        put_step(self, self->to->step_count, KL__OP_SPLIT, -length, 1);
    } else {
        put_step(self, at, KL__OP_SPLIT, 1, length + 2);
        put_step(self, self->to->step_count, KL__OP_JUMP, -length - 1, 0);
    }
}

static void repeat_piece(kl__pattern_source *self, size_t at, int least,
                         int most)
{
    size_t length = self->to->step_count - at;

    if (most == 0) {
        self->to->step_count = at;
        return;
    }
    if (least == 0 && most < 0) {
        repeat_freely(self, at, false);
        return;
    }
    for (int i = 1; i < (least > most ? least : most); i++) {
        copy_piece(self, at, length);
    }
    if (self->result != KL__PATTERN_FITS) {
        return;
    }
    if (most < 0) {
        repeat_freely(self, self->to->step_count - length, true);
        return;
    }
    /* At each optional copy, a split step can skip this and all later copies.
     */
    for (int i = most - 1; i >= least; i--) {
        size_t from = at + (size_t)i * length;

        put_step(self, from, KL__OP_SPLIT, 1,
                 (int)(self->to->step_count + 1 - from));
    }
}

/* Reads a count such as "{2,5}". False: it is none, and the brace is an
 * ordinary character. */
static bool read_count(const char *text, int *least, int *most, size_t *length)
{
    const char *at = text + 1;
    int numbers[2] = {-1, -1};

    for (int i = 0; i < 2; i++) {
        while (*at >= '0' && *at <= '9') {
            numbers[i] = (numbers[i] < 0 ? 0 : numbers[i]) * 10 + (*at - '0');
            numbers[i] = numbers[i] > 100000 ? 100000 : numbers[i];
            at++;
        }
        if (i == 0 && *at != ',') {
            numbers[1] = numbers[0];
            break;
        }
        at += i == 0;
    }
    *least = numbers[0];
    *most = numbers[1];
    *length = (size_t)(at - text) + 1;
    return *at == '}' && numbers[0] >= 0;
}

static void read_repetition(kl__pattern_source *self, size_t at)
{
    bool is_repeated = false;

    for (;;) {
        const char *begin = self->at;
        int least = *begin == '+', most = *begin == '?' ? 1 : -1;
        size_t length = 1;

        if (*begin != '*' && *begin != '+' && *begin != '?' &&
            (*begin != '{' || !read_count(begin, &least, &most, &length))) {
            return;
        }
        if (is_repeated) {
            kl__pattern_refuse(self, "invalid nested repetition operator",
                               begin - 1, length + 1);
            return;
        }
        if (*begin == '{' && (least > MAX_REPEAT || most > MAX_REPEAT ||
                              (most >= 0 && least > most))) {
            kl__pattern_refuse(self, "invalid repeat count", begin, length);
            return;
        }
        self->at += length;
        self->at += *self->at == '?'; /* lazy: it matches the same texts */
        repeat_piece(self, at, least, most);
        is_repeated = true;
        if (self->result != KL__PATTERN_FITS) {
            return;
        }
    }
}

/* --- Atoms. --------------------------------------------------------------- */

static void read_alternatives(kl__pattern_source *self);

/* Reads the start of a group: "(", "(?:", "(?P<name>"; or flags alone: "(?i)".
 * True: the content of a group follows. */
static bool read_group_head(kl__pattern_source *self)
{
    const char *begin = self->at;
    bool clears = false;
    const char *at = begin + 2;

    if (begin[1] != '?') {
        self->at++;
        return true;
    }
    if ((at[0] == 'P' && at[1] == '<') ||
        (at[0] == '<' && at[1] != '=' && at[1] != '!')) {
        at = strchr(at, '>');
        if (at == NULL) {
            kl__pattern_refuse(self, "invalid named capture", begin,
                               strlen(begin));
            return false;
        }
        self->at = at + 1;
        return true;
    }
    for (; *at != '\0' && strchr("imsU-", *at) != NULL; at++) {
        unsigned flag = *at == 'i'   ? KL__PATTERN_FOLD
                        : *at == 'm' ? KL__PATTERN_LINES
                        : *at == 's' ? KL__PATTERN_DOT_ALL
                                     : 0;

        clears = clears || *at == '-';
        self->flags = clears ? self->flags & ~flag : self->flags | flag;
    }
    if (*at != ')' && *at != ':') {
        kl__pattern_refuse(self, "invalid or unsupported Perl syntax", begin,
                           (size_t)(at - begin) + (*at != '\0'));
        return false;
    }
    self->at = at + 1;
    return *at == ':';
}

static void read_group(kl__pattern_source *self)
{
    unsigned flags = self->flags;

    if (!read_group_head(self)) {
        return; /* flags without a group, or an error */
    }
    if (++self->depth > MAX_DEPTH) {
        self->result = KL__PATTERN_UNKNOWN;
        return;
    }
    read_alternatives(self);
    self->depth--;
    if (self->result != KL__PATTERN_FITS) {
        return;
    }
    if (*self->at != ')') {
        kl__pattern_refuse(self, "missing closing )", self->whole,
                           strlen(self->whole));
        return;
    }
    self->at++;
    self->flags = flags;
}

static void read_quoted(kl__pattern_source *self)
{
    self->at += 2;
    while (*self->at != '\0' && strncmp(self->at, "\\E", 2) != 0) {
        size_t length;

        put_rune(self, kl__pattern_rune(self->at, &length));
        self->at += length;
    }
    self->at += *self->at != '\0' ? 2 : 0;
}

static void read_escape(kl__pattern_source *self)
{
    size_t first = self->to->range_count;
    char letter = self->at[1];
    bool negated = false;
    uint32_t rune;

    if (letter == 'b' || letter == 'B') {
        put_assertion(self, KL__OP_EDGE, false, letter == 'B');
        self->at += 2;
    } else if (letter == 'A' || letter == 'z') {
        put_assertion(self, letter == 'A' ? KL__OP_BEGIN : KL__OP_END, false,
                      false);
        self->at += 2;
    } else if (letter == 'Q') {
        read_quoted(self);
    } else if (kl__pattern_class(self, &negated)) {
        put_set(self, first, negated);
    } else if (kl__pattern_escape(self, &rune)) {
        put_rune(self, rune);
    }
}

/* Reads one atom: a character, a class, a group or an assertion. */
static void read_atom(kl__pattern_source *self)
{
    size_t first = self->to->range_count, length;
    bool negated = false;
    uint32_t rune;

    switch (*self->at) {
    case '(':
        read_group(self);
        return;
    case '[':
        if (kl__pattern_bracket(self, &negated)) {
            put_set(self, first, negated);
        }
        return;
    case '\\':
        read_escape(self);
        return;
    case '^':
    case '$':
        put_assertion(self, *self->at == '^' ? KL__OP_BEGIN : KL__OP_END,
                      (self->flags & KL__PATTERN_LINES) != 0, false);
        self->at++;
        return;
    case '.':
        if ((self->flags & KL__PATTERN_DOT_ALL) == 0) {
            kl__pattern_add(self, '\n', '\n');
        }
        put_set(self, first, true);
        self->at++;
        return;
    default:
        rune = kl__pattern_rune(self->at, &length);
        put_rune(self, rune);
        self->at += length;
        return;
    }
}

static void read_sequence(kl__pattern_source *self)
{
    while (self->result == KL__PATTERN_FITS && *self->at != '\0' &&
           *self->at != '|' && *self->at != ')') {
        size_t at = self->to->step_count;
        size_t length;
        int least, most;

        if (strchr("*+?", *self->at) != NULL ||
            (*self->at == '{' &&
             read_count(self->at, &least, &most, &length))) {
            kl__pattern_refuse(self, "missing argument to repetition operator",
                               self->at, *self->at == '{' ? length : 1);
            return;
        }
        read_atom(self);
        if (self->result == KL__PATTERN_FITS) {
            read_repetition(self, at);
        }
    }
}

static void read_alternatives(kl__pattern_source *self)
{
    size_t begin = self->to->step_count, last = 0;

    for (;;) {
        size_t jump;

        read_sequence(self);
        if (self->result != KL__PATTERN_FITS || *self->at != '|') {
            break;
        }
        self->at++;
        put_step(self, begin, KL__OP_SPLIT, 1,
                 (int)(self->to->step_count - begin) + 2);
        jump = self->to->step_count;
        /* y links it to the jump before; the loop below sets all targets */
        put_step(self, jump, KL__OP_JUMP, 0, (int)last);
        last = jump;
        begin = jump + 1;
    }
    while (self->result == KL__PATTERN_FITS && last != 0) {
        kl__pattern_step *step = &self->to->steps[last];

        step->x = (int)(self->to->step_count - last);
        last = (size_t)step->y;
    }
}

kl__pattern_result kl__pattern_compile(kl__pattern *pattern, const char *text,
                                       kl__buf *why)
{
    kl__pattern_source self = {
        .to = pattern, .whole = text, .at = text, .why = why};

    memset(pattern, 0, sizeof(*pattern));
    read_alternatives(&self);
    if (self.result == KL__PATTERN_FITS && *self.at == ')') {
        kl__pattern_refuse(&self, "unexpected )", text, strlen(text));
    }
    put_step(&self, pattern->step_count, KL__OP_MATCH, 0, 0);
    return self.result;
}
