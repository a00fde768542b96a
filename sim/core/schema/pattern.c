/*
 * pattern.c - see pattern.h. PCRE2 runs a pattern with pcre2_dfa_match, which
 * follows all alternatives at once and reads the text once: no pattern takes
 * exponential time.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "sim/core/schema/pattern.h"

#include "base/mem.h"
#include "sim/core/schema/pattern_syntax.h"

#include <pcre2.h>
#include <string.h>

enum {
    /* Alternatives that are followed at once. PCRE2 compares each with the
     * others at each character: about MAX_COMPARED / 10^9 seconds in all. */
    MAX_STATES = 4000,
    MIN_STATES = 50,
    MAX_COMPARED = 1000000000,
    INTS_OF_STATE = 6, /* in PCRE2: three, in two lists */
    MATCH_LIMIT = 100000,
    HEAP_LIMIT_KB = 4096
};

static void *take_memory(size_t size, void *unused)
{
    (void)unused;
    return kl__malloc(size);
}

static void give_memory(void *block, void *unused)
{
    (void)unused;
    kl__free(block);
}

/* A pattern that PCRE2 has compiled. */
typedef struct program {
    pcre2_general_context *memory;
    pcre2_code *code; /* NULL after an error */
} program;

static void free_program(program *self)
{
    pcre2_code_free(self->code);
    pcre2_general_context_free(self->memory);
}

/* Says why PCRE2 refuses a pattern; `at`: where it stopped. */
static kl__pattern_result explain_refusal(const kl__buf *written, int code,
                                          size_t at, kl__buf *why)
{
    size_t begin = at < written->length ? at : written->length;

    if (code == PCRE2_ERROR_HEAP_FAILED) {
        return KL__PATTERN_ENOMEM;
    }
    if (code == PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY) {
        while (begin != 0 && written->bytes[begin] != '\\') {
            begin--;
        }
        kl__pattern_refuse(why, "invalid character class range",
                           written->bytes + begin, at - begin);
        return KL__PATTERN_INVALID;
    }
    if (why != NULL) {
        kl__buf_puts(why, "the simulator has no room for a pattern this large");
    }
    return KL__PATTERN_TOO_MUCH;
}

static kl__pattern_result compile_written(const kl__buf *written, kl__buf *why,
                                          program *to)
{
    const uint32_t options = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ALT_CIRCUMFLEX |
                             PCRE2_NO_AUTO_POSSESS;
    pcre2_compile_context *context = NULL;
    int code = PCRE2_ERROR_HEAP_FAILED;
    size_t at = 0;

    to->memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    if (to->memory != NULL) {
        context = pcre2_compile_context_create(to->memory);
    }
    if (context != NULL) {
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        to->code = pcre2_compile((PCRE2_SPTR)written->bytes, written->length,
                                 options, &code, &at, context);
    }
    pcre2_compile_context_free(context);
    return to->code != NULL ? KL__PATTERN_FITS
                            : explain_refusal(written, code, at, why);
}

/* Compiles a pattern. The caller calls free_program, also after an error. */
static kl__pattern_result compile_pattern(const char *pattern, kl__buf *why,
                                          program *to)
{
    kl__buf written = {0};
    kl__pattern_result result;

    /* Go searches; this reads what comes before a match, too. */
    kl__buf_puts(&written, "(?s:.)*(?:");
    result = kl__pattern_translate(pattern, &written, why);
    kl__buf_putc(&written, ')');
    if (written.failed) {
        result = KL__PATTERN_ENOMEM;
    }
    if (result == KL__PATTERN_FITS) {
        result = compile_written(&written, why, to);
    } else if (result == KL__PATTERN_TOO_MUCH && why != NULL) {
        kl__buf_puts(why, "the simulator does not nest groups this deep");
    }
    kl__buf_deinit(&written);
    return result;
}

/* How many alternatives may be followed at once in a text of this length. */
static size_t states_for(size_t length)
{
    size_t states = MAX_STATES;

    while (states > MIN_STATES &&
           states * states > MAX_COMPARED / (length + 1)) {
        states -= MIN_STATES;
    }
    return states;
}

static kl__pattern_result run_program(const program *run, const char *text)
{
    pcre2_match_context *limits = pcre2_match_context_create(run->memory);
    pcre2_match_data *found = pcre2_match_data_create(1, run->memory);
    size_t length = strlen(text), room = states_for(length) * INTS_OF_STATE + 2;
    int *states = kl__malloc(room * sizeof(*states));
    int code = PCRE2_ERROR_NOMEMORY;

    if (limits != NULL && found != NULL && states != NULL) {
        pcre2_set_match_limit(limits, MATCH_LIMIT);
        pcre2_set_heap_limit(limits, HEAP_LIMIT_KB);
        code = pcre2_dfa_match(run->code, (PCRE2_SPTR)text, length, 0,
                               PCRE2_DFA_SHORTEST, found, limits, states, room);
    }
    kl__free(states);
    pcre2_match_data_free(found);
    pcre2_match_context_free(limits);
    return code >= 0                         ? KL__PATTERN_FITS
           : code == PCRE2_ERROR_NOMEMORY    ? KL__PATTERN_ENOMEM
           : code == PCRE2_ERROR_DFA_WSSIZE  ? KL__PATTERN_TOO_MUCH
           : code == PCRE2_ERROR_MATCHLIMIT  ? KL__PATTERN_TOO_MUCH
           : code == PCRE2_ERROR_HEAPLIMIT   ? KL__PATTERN_TOO_MUCH
           : code == PCRE2_ERROR_DFA_RECURSE ? KL__PATTERN_TOO_MUCH
                                             : KL__PATTERN_FAILS;
}

kl__pattern_result kl__pattern_match(const char *pattern, const char *text)
{
    program run = {0};
    kl__pattern_result result = compile_pattern(pattern, NULL, &run);

    if (result == KL__PATTERN_FITS) {
        result = run_program(&run, text);
    }
    free_program(&run);
    return result;
}

kl__pattern_result kl__pattern_check(const char *pattern, kl__buf *why)
{
    program checked = {0};
    kl__pattern_result result = compile_pattern(pattern, why, &checked);

    free_program(&checked);
    return result;
}
