/*
 * pattern.c - see pattern.h. PCRE2 runs a pattern with pcre2_dfa_match, which
 * follows all alternatives at once and reads the text once: no pattern takes
 * exponential time.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "sim/core/schema/pattern.h"

#include "base/mem.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Alternatives that are followed at once. PCRE2 compares each with the
     * others at each character: about MAX_COMPARED / 10^9 seconds in all. */
    MAX_STATES = 4000,
    MIN_STATES = 50,
    MAX_COMPARED = 1000000000,
    INTS_OF_STATE = 6, /* in PCRE2: three, in two lists */
    MATCH_LIMIT = 100000,
    HEAP_LIMIT_KB = 4096,
    MAX_REPEAT = 1000 /* Go's limit */
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

/* --- What PCRE2 has and Go does not. ---------------------------------------
 */

/* Appends the reason, with the place in the pattern where it applies. */
static void explain(kl__buf *why, const char *what, const char *text,
                    size_t length)
{
    if (why != NULL) {
        kl__buf_printf(why, "error parsing regexp: %s: `%.*s`", what,
                       (int)length, text);
    }
}

/* The length of the repetition at `at`: "*", "{2,3}"; 0: there is none. Sets
 * *most to its larger number. */
static size_t measure_repetition(const char *at, long *most)
{
    static const char digits[] = "0123456789";
    const char *end = at + 1;

    *most = 0;
    if (*at == '*' || *at == '+' || *at == '?') {
        return 1;
    }
    if (*at != '{' || !isdigit((unsigned char)*end)) {
        return 0;
    }
    *most = strtol(end, NULL, 10);
    end += strspn(end, digits);
    if (*end == ',') {
        end++;
        *most = isdigit((unsigned char)*end) ? strtol(end, NULL, 10) : *most;
        end += strspn(end, digits);
    }
    return *end == '}' ? (size_t)(end + 1 - at) : 0;
}

/* Refuses "a**", which PCRE2 takes for an error or for another thing, and more
 * than 1000 repetitions. Returns what is behind the repetition; NULL: it was
 * refused. */
static const char *check_repetition(const char *at, kl__buf *why)
{
    long most = 0, unused;
    size_t length = measure_repetition(at, &most), again;

    if (*at == '{' && (at[1] == ',' || at[1] == ' ')) {
        explain(why, "write \\{ for a brace that repeats nothing", at, 2);
        return NULL;
    }
    if (most > MAX_REPEAT) {
        explain(why, "invalid repeat count", at, length);
        return NULL;
    }
    length += length != 0 && at[length] == '?';
    again = length != 0 ? measure_repetition(at + length, &unused) : 0;
    if (again != 0) {
        explain(why, "invalid nested repetition operator", at, length + again);
        return NULL;
    }
    return at + (length != 0 ? length : 1);
}

/* Refuses groups with "(?" or "(*", but for those that Go has: names, flags.
 * Returns what is behind the start of the group; NULL: it was refused. */
static const char *check_group(const char *at, kl__buf *why)
{
    const char *end = at + 2;

    if (at[1] != '?') {
        if (at[1] == '*') {
            explain(why, "missing argument to repetition operator", at + 1, 1);
        }
        return at[1] != '*' ? at + 1 : NULL;
    }
    end += *end == 'P';
    if (*end == '<' && (isalpha((unsigned char)end[1]) || end[1] == '_')) {
        return end + 1;
    }
    end = at + 2 + strspn(at + 2, "imsU-");
    if (*end == ':' || (*end == ')' && end[-1] != '-' && end != at + 2)) {
        return end;
    }
    explain(why, "invalid or unsupported Perl syntax", at, 3);
    return NULL;
}

/* Refuses escapes that Go does not have, or reads otherwise. Returns what is
 * behind the escape; NULL: it was refused. */
static const char *check_escape(const char *at, bool in_brackets, kl__buf *why)
{
    const char *known = in_brackets ? "adfnrtsDSwWpPx0" : "adfnrtsDSwWpPx0bBAz";

    if (at[1] == '\0') {
        explain(why, "trailing backslash at end of expression", "", 0);
        return NULL;
    }
    if (at[1] == 'Q' && !in_brackets) {
        const char *end = strstr(at, "\\E");

        return end != NULL ? end + 2 : at + strlen(at);
    }
    if (isalnum((unsigned char)at[1]) && strchr(known, at[1]) == NULL) {
        explain(why, "invalid escape sequence", at, 2);
        return NULL;
    }
    return at + 2;
}

/* False: `why` says why the pattern is none of Go's. PCRE2 finds what is wrong
 * in its own syntax too. */
static bool is_of_go(const char *at, kl__buf *why)
{
    bool in_brackets = false;
    int depth = 0;

    while (at != NULL && *at != '\0') {
        if (*at == '\\') {
            at = check_escape(at, in_brackets, why);
        } else if (in_brackets) {
            in_brackets = *at != ']';
            at += strncmp(at, "[:", 2) == 0 && strstr(at, ":]") != NULL
                      ? (size_t)(strstr(at, ":]") + 2 - at)
                      : 1;
        } else if (*at == '[') {
            in_brackets = true;
            at += 1 + (at[1] == '^');
            at += *at == ']'; /* the first one is a character */
        } else if (*at == ')' && depth-- == 0) {
            explain(why, "unexpected )", at, 1);
            at = NULL;
        } else if (*at == '(') {
            depth++;
            at = check_group(at, why);
        } else {
            at = check_repetition(at, why);
        }
    }
    return at != NULL;
}

/* --- Compiling. ------------------------------------------------------------
 */

/* Says why PCRE2 refuses a pattern. */
static kl__pattern_result explain_refusal(int code, kl__buf *why)
{
    unsigned char text[128] = "";

    if (code == PCRE2_ERROR_HEAP_FAILED) {
        return KL__PATTERN_ENOMEM;
    }
    pcre2_get_error_message(code, text, sizeof(text));
    if (why != NULL) {
        kl__buf_printf(why, "error parsing regexp: %s", (const char *)text);
    }
    return code == PCRE2_ERROR_PATTERN_TOO_LARGE ||
                   code == PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP
               ? KL__PATTERN_TOO_MUCH
               : KL__PATTERN_INVALID;
}

/* True if a flag (?m) lets $ match at the end of each line. */
static bool has_lines(const char *pattern)
{
    for (const char *at = pattern; (at = strstr(at, "(?")) != NULL; at += 2) {
        size_t length = strspn(at + 2, "imsU");

        if (memchr(at + 2, 'm', length) != NULL) {
            return true;
        }
    }
    return false;
}

/* Compiles a pattern. The caller calls free_program, also after an error. */
static kl__pattern_result compile_pattern(const char *pattern, kl__buf *why,
                                          program *to)
{
    uint32_t options = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ALT_CIRCUMFLEX |
                       PCRE2_NO_AUTO_POSSESS;
    pcre2_compile_context *context = NULL;
    int code = PCRE2_ERROR_HEAP_FAILED;
    kl__buf written = {0};
    size_t at = 0;

    if (!is_of_go(pattern, why)) {
        return KL__PATTERN_INVALID;
    }
    if (!has_lines(pattern)) {
        options |= PCRE2_DOLLAR_ENDONLY;
    }
    /* Go searches; the start reads what comes before a match, too. \E ends a
     * \Q that is open. */
    kl__buf_printf(&written, "(?s:.)*(?:%s\\E)", pattern);
    to->memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    if (to->memory != NULL && !written.failed) {
        context = pcre2_compile_context_create(to->memory);
    }
    if (context != NULL) {
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        to->code = pcre2_compile((PCRE2_SPTR)written.bytes, written.length,
                                 options, &code, &at, context);
    }
    pcre2_compile_context_free(context);
    kl__buf_deinit(&written);
    return to->code != NULL ? KL__PATTERN_FITS : explain_refusal(code, why);
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
