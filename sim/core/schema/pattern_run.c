/*
 * pattern_run.c - see pattern.h: runs a compiled pattern over a text. It reads
 * each character once, and keeps all steps at which the program can be.
 */
#include "sim/core/schema/pattern.h"

#include "base/mem.h"

#include <string.h>

uint32_t kl__pattern_rune(const char *text, size_t *length)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t more = *at < 0x80             ? 0
                  : (*at & 0xe0) == 0xc0 ? 1
                  : (*at & 0xf0) == 0xe0 ? 2
                  : (*at & 0xf8) == 0xf0 ? 3
                                         : 4;
    uint32_t rune = more == 0 ? *at : *at & (0x3fu >> more);

    *length = 1;
    for (size_t i = 1; i <= more; i++) {
        if (more == 4 || (at[i] & 0xc0) != 0x80) {
            return 0xfffd;
        }
        rune = rune << 6 | (at[i] & 0x3f);
    }
    *length = more + 1;
    return rune;
}

/* The steps at which the program can be, at one position of the text. */
typedef struct states {
    size_t *list;
    size_t count;
} states;

typedef struct machine {
    const kl__pattern *pattern;
    states now;
    states next;
    size_t *marks; /* by step: the last position at which it was entered, + 1 */
    size_t *stack;
    uint32_t before; /* characters before and after the position; 0: none */
    uint32_t after;
    bool at_begin;
    bool at_end;
} machine;

static bool is_word_rune(uint32_t rune)
{
    return (rune >= '0' && rune <= '9') || (rune >= 'A' && rune <= 'Z') ||
           (rune >= 'a' && rune <= 'z') || rune == '_';
}

static bool holds_assertion(const machine *self, const kl__pattern_step *step)
{
    switch (step->op) {
    case KL__OP_BEGIN:
        return self->at_begin || (step->line && self->before == '\n');
    case KL__OP_END:
        return self->at_end || (step->line && self->after == '\n');
    default:
        return ((!self->at_begin && is_word_rune(self->before)) !=
                (!self->at_end && is_word_rune(self->after))) != step->negated;
    }
}

/* Enters a step, and all steps that can follow without reading a character.
 * True: the pattern matches. */
static bool enter_step(machine *self, states *to, size_t step_at, size_t place)
{
    size_t depth = 0;
    bool matches = false;

    self->stack[depth++] = step_at;
    while (depth != 0) {
        size_t at = self->stack[--depth];
        const kl__pattern_step *step = &self->pattern->steps[at];

        if (self->marks[at] == place + 1) {
            continue;
        }
        self->marks[at] = place + 1;
        switch (step->op) {
        case KL__OP_SET:
            to->list[to->count++] = at;
            break;
        case KL__OP_MATCH:
            matches = true;
            break;
        case KL__OP_SPLIT:
            self->stack[depth++] = at + (size_t)(ptrdiff_t)step->y;
            self->stack[depth++] = at + (size_t)(ptrdiff_t)step->x;
            break;
        case KL__OP_JUMP:
            self->stack[depth++] = at + (size_t)(ptrdiff_t)step->x;
            break;
        default:
            if (holds_assertion(self, step)) {
                self->stack[depth++] = at + 1;
            }
            break;
        }
    }
    return matches;
}

static bool takes_rune(const machine *self, const kl__pattern_step *step,
                       uint32_t rune)
{
    for (size_t i = 0; i < step->count; i++) {
        const kl__pattern_range *range =
            &self->pattern->ranges[step->first + i];

        if (rune >= range->low && rune <= range->high) {
            return !step->negated;
        }
    }
    return step->negated;
}

/* Runs over the text. True: the pattern matches; the rest of the text was not
 * read. */
static bool run_machine(machine *self, const char *text)
{
    size_t length = 0;

    self->at_begin = true;
    for (size_t place = 0;; place++) {
        uint32_t rune = kl__pattern_rune(text, &length);
        states swapped;

        self->at_end = *text == '\0';
        self->after = rune;
        /* Go on after the steps that matched the last character, then begin a
         * match at this position too. */
        self->next.count = 0;
        for (size_t i = 0; i < self->now.count; i++) {
            if (enter_step(self, &self->next, self->now.list[i] + 1, place)) {
                return true;
            }
        }
        if (enter_step(self, &self->next, 0, place)) {
            return true;
        }
        if (self->at_end) {
            return false;
        }
        swapped = self->now;
        self->now = self->next;
        self->next = swapped;
        length = length != 0 ? length : 1;
        for (size_t i = 0, kept = 0;; i++) {
            if (i == self->now.count) {
                self->now.count = kept;
                break;
            }
            if (takes_rune(self, &self->pattern->steps[self->now.list[i]],
                           rune)) {
                self->now.list[kept++] = self->now.list[i];
            }
        }
        self->before = rune;
        self->at_begin = false;
        text += length;
    }
}

kl__pattern_result kl__pattern_match(const char *pattern, const char *text)
{
    kl__pattern compiled;
    kl__pattern_result result = kl__pattern_compile(&compiled, pattern, NULL);
    machine self = {.pattern = &compiled};
    size_t *memory = NULL;
    size_t count = compiled.step_count;

    if (result == KL__PATTERN_FITS) {
        memory = kl__calloc(count * 5 + 1, sizeof(*memory));
        result = memory != NULL ? KL__PATTERN_FAILS : KL__PATTERN_ENOMEM;
    }
    if (memory != NULL) {
        self.now.list = memory;
        self.next.list = memory + count;
        self.marks = memory + 2 * count;
        /* At each position, each step pushes at most two steps, once. */
        self.stack = memory + 3 * count;
        result =
            run_machine(&self, text) ? KL__PATTERN_FITS : KL__PATTERN_FAILS;
    }
    kl__free(memory);
    kl__pattern_deinit(&compiled);
    return result;
}

kl__pattern_result kl__pattern_check(const char *pattern, kl__buf *why)
{
    kl__pattern compiled;
    kl__pattern_result result = kl__pattern_compile(&compiled, pattern, why);

    kl__pattern_deinit(&compiled);
    return result;
}
