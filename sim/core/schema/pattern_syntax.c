/*
 * pattern_syntax.c - see pattern_syntax.h: a reader that writes what it reads,
 * and stops where Go does.
 */
#include "sim/core/schema/pattern_syntax.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RUNE = 0x10ffff,
    MAX_REPEAT = 1000, /* Go's limit, also for a repetition of a repetition */
    MAX_DEPTH = 200    /* of nested groups; PCRE2 has 250 by default */
};

typedef struct reader {
    const char *whole;
    const char *at;
    size_t atom; /* where the last atom begins in `to` */
    int depth;
    bool has_lines;            /* (?m): $ matches at the end of each line */
    kl__pattern_result result; /* the first error */
    kl__buf *to;               /* the pattern for PCRE2 */
    kl__buf *why;              /* may be NULL */
} reader;

void kl__pattern_refuse(kl__buf *why, const char *what, const char *text,
                        size_t length)
{
    while ((text[length] & 0xc0) == 0x80) {
        length++; /* not within a character */
    }
    if (why != NULL) {
        kl__buf_printf(why, "error parsing regexp: %s: `%.*s`", what,
                       (int)length, text);
    }
}

static void refuse(reader *self, const char *what, const char *text,
                   size_t length)
{
    if (self->result == KL__PATTERN_FITS) {
        self->result = KL__PATTERN_INVALID;
        kl__pattern_refuse(self->why, what, text, length);
    }
}

/* --- Characters. ---------------------------------------------------------- */

/* Writes a character that has no meaning of its own, also in brackets. */
static void put_rune(reader *self, uint32_t rune)
{
    if (rune < 0x80 && isalnum((unsigned char)rune)) {
        kl__buf_putc(self->to, (char)rune);
    } else {
        kl__buf_printf(self->to, "\\x{%x}", (unsigned)rune);
    }
}

/* Reads a character of UTF-8, which the pattern is. */
static uint32_t read_rune(reader *self)
{
    const unsigned char *at = (const unsigned char *)self->at;
    size_t more = *at < 0xc0 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
    uint32_t rune = more == 0 ? *at : *at & (0x3fu >> more);

    self->at++;
    for (; more != 0 && (*self->at & 0xc0) == 0x80; more--) {
        rune = rune << 6 | ((unsigned char)*self->at++ & 0x3f);
    }
    return rune;
}

/* Reads "\x41" or "\x{41}"; false: an error. */
static bool read_hex(reader *self, uint32_t *rune)
{
    const char *at = self->at + 2;
    bool braced = *at == '{';
    char digits[9];
    size_t count = 0;

    at += braced;
    while (count < (braced ? 8 : 2) && isxdigit((unsigned char)at[count])) {
        digits[count] = at[count];
        count++;
    }
    digits[count] = '\0';
    if (count == 0 || (!braced && count != 2) || (braced && at[count] != '}') ||
        strtoul(digits, NULL, 16) > MAX_RUNE) {
        refuse(self, "invalid escape sequence", self->at,
               (size_t)(at + count - self->at));
        return false;
    }
    *rune = (uint32_t)strtoul(digits, NULL, 16);
    self->at = at + count + braced;
    return true;
}

/* Reads "\0" or "\123". "\1" alone would be a back reference, which Go does not
 * have. */
static bool read_octal(reader *self, uint32_t *rune)
{
    const char *at = self->at + 1;
    uint32_t value = 0;

    if (*at != '0' && (at[1] < '0' || at[1] > '7')) {
        refuse(self, "invalid escape sequence", self->at, 2);
        return false;
    }
    for (int i = 0; i < 3 && *at >= '0' && *at <= '7'; i++) {
        value = value * 8 + (uint32_t)(*at++ - '0');
    }
    *rune = value;
    self->at = at;
    return true;
}

/* Reads an escaped character, such as "\x41" or "\."; false: an error. */
static bool read_escaped_rune(reader *self, uint32_t *rune)
{
    static const char letters[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
    unsigned char letter = (unsigned char)self->at[1];
    const char *found;

    if (letter == '\0') {
        refuse(self, "trailing backslash at end of expression", "", 0);
        return false;
    }
    if (letter == 'x') {
        return read_hex(self, rune);
    }
    if (letter >= '0' && letter <= '7') {
        return read_octal(self, rune);
    }
    found = strchr(letters, letter);
    if (found != NULL || (letter < 0x80 && ispunct(letter))) {
        *rune = found != NULL ? (unsigned char)meant[found - letters] : letter;
        self->at += 2;
        return true;
    }
    refuse(self, "invalid escape sequence", self->at, 2);
    return false;
}

/* --- Classes. ------------------------------------------------------------- */

/* Reads "\pN", "\p{Greek}" or "\p{^Greek}"; PCRE2 knows the names. */
static void read_property(reader *self)
{
    const char *name = self->at + 2, *end = name + (*name != '\0');

    if (*name == '{') {
        name += 1 + (name[1] == '^');
        for (end = name; isalnum((unsigned char)*end) || *end == '_'; end++) {
        }
        end = end != name && *end == '}' ? end + 1 : NULL;
    } else if (!isalpha((unsigned char)*name)) {
        end = NULL;
    }
    if (end == NULL) {
        refuse(self, "invalid character class range", self->at,
               strcspn(self->at, "}") + (strchr(self->at, '}') != NULL));
        return;
    }
    kl__buf_append(self->to, self->at, (size_t)(end - self->at));
    self->at = end;
}

/* Reads a class such as "\d", and writes what stands for it in brackets; false:
 * there is none here. */
static bool read_class(reader *self)
{
    switch (self->at[1]) {
    case 'd':
    case 'D':
    case 'w':
    case 'W':
        kl__buf_append(self->to, self->at, 2);
        break;
    case 's': /* PCRE2's has \v too */
        kl__buf_puts(self->to, "\\t\\n\\f\\r\\x{20}");
        break;
    case 'S':
        kl__buf_puts(self->to, "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}"
                               "\\x{21}-\\x{10ffff}");
        break;
    case 'p':
    case 'P':
        read_property(self);
        return true;
    default:
        return false;
    }
    self->at += 2;
    return true;
}

/* Reads a class such as "[:alpha:]" inside brackets; false: there is none
 * here. */
static bool read_posix(reader *self)
{
    static const char names[] = " alnum alpha ascii blank cntrl digit graph "
                                "lower print punct space upper word xdigit ";
    const char *end = strstr(self->at, ":]");
    const char *name = self->at + 2;
    size_t length;
    char padded[10] = " ";

    if (self->at[0] != '[' || self->at[1] != ':' || end == NULL) {
        return false;
    }
    name += *name == '^';
    length = (size_t)(end - name);
    if (length < 4 || length > 6) {
        length = 0;
    }
    memcpy(padded + 1, name, length);
    padded[length + 1] = ' ';
    if (length == 0 || strstr(names, padded) == NULL) {
        refuse(self, "invalid character class range", self->at,
               (size_t)(end + 2 - self->at));
        return true;
    }
    kl__buf_append(self->to, self->at, (size_t)(end + 2 - self->at));
    self->at = end + 2;
    return true;
}

/* Reads the first or last character of a range; false: an error. */
static bool read_end(reader *self, const char *begin, uint32_t *rune)
{
    if (*self->at == '\0') {
        refuse(self, "missing closing ]", begin, strlen(begin));
        return false;
    }
    if (*self->at == '\\') {
        return read_escaped_rune(self, rune);
    }
    *rune = read_rune(self);
    return true;
}

static void read_range(reader *self, const char *begin)
{
    const char *from = self->at;
    uint32_t low, high;

    if (!read_end(self, begin, &low)) {
        return;
    }
    put_rune(self, low);
    if (self->at[0] == '-' && self->at[1] != ']' && self->at[1] != '\0') {
        self->at++;
        if (!read_end(self, begin, &high)) {
            return;
        }
        kl__buf_putc(self->to, '-');
        put_rune(self, high);
        if (low > high) {
            refuse(self, "invalid character class range", from,
                   (size_t)(self->at - from));
        }
    }
}

/* Reads "[a-z]". */
static void read_brackets(reader *self)
{
    const char *begin = self->at;
    bool is_first = true;

    kl__buf_putc(self->to, *self->at++);
    if (*self->at == '^') {
        kl__buf_putc(self->to, *self->at++);
    }
    while (self->result == KL__PATTERN_FITS && (*self->at != ']' || is_first)) {
        is_first = false;
        if (!read_posix(self) && (*self->at != '\\' || !read_class(self))) {
            read_range(self, begin);
        }
    }
    if (self->result == KL__PATTERN_FITS) {
        kl__buf_putc(self->to, *self->at++);
    }
}

/* --- Groups and atoms. ---------------------------------------------------- */

static int read_alternatives(reader *self);

/* Reads the name of "(?P<name>" or "(?<name>"; the group counts as one without
 * a name. */
static void read_group_name(reader *self, const char *name)
{
    const char *end = strchr(name, '>');

    if (end == NULL || end == name) {
        end = end != NULL ? end + 1 : self->at + strlen(self->at);
        refuse(self, "invalid named capture", self->at,
               (size_t)(end - self->at));
        return;
    }
    for (const char *at = name; at != end; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_') {
            refuse(self, "invalid named capture", self->at,
                   (size_t)(end + 1 - self->at));
            return;
        }
    }
    kl__buf_puts(self->to, "(?:");
    self->at = end + 1;
}

/* Reads the start of a group: "(", "(?:", "(?P<name>"; or flags alone: "(?i)".
 * True: the content of a group follows. */
static bool read_group_head(reader *self)
{
    const char *begin = self->at, *at = begin + 2;
    bool clears = false, has_lines = self->has_lines;

    if (begin[1] != '?') {
        kl__buf_puts(self->to, "(?:");
        self->at++;
        return true;
    }
    if (at[0] == 'P' && at[1] == '<') {
        read_group_name(self, at + 2);
        return true;
    }
    if (at[0] == '<' && at[1] != '=' && at[1] != '!') {
        read_group_name(self, at + 1);
        return true;
    }
    for (; *at != '\0' && strchr("imsU-", *at) != NULL; at++) {
        if (*at == '-' && clears) {
            break;
        }
        clears = clears || *at == '-';
        has_lines = *at == 'm' ? !clears : has_lines;
    }
    if ((*at != ')' && *at != ':') || at[-1] == '-') {
        refuse(self, "invalid or unsupported Perl syntax", begin,
               (size_t)(at - begin) + (*at != '\0'));
        return false;
    }
    at++;
    kl__buf_append(self->to, begin, (size_t)(at - begin));
    self->at = at;
    self->has_lines = has_lines;
    return at[-1] == ':';
}

/* True for "(?i)", which is not a group, and is not repeated. */
static bool is_flags(const char *text)
{
    return strncmp(text, "(?", 2) == 0 &&
           text[2 + strspn(text + 2, "imsU-")] == ')';
}

/* Reads a group. Returns as read_atom. */
static int read_group(reader *self)
{
    bool has_lines = self->has_lines;
    int times = 1;

    if (!read_group_head(self)) {
        return times; /* flags without a group, or an error */
    }
    if (++self->depth > MAX_DEPTH && self->result == KL__PATTERN_FITS) {
        self->result = KL__PATTERN_TOO_MUCH;
        return times;
    }
    times = read_alternatives(self);
    self->depth--;
    self->has_lines = has_lines;
    if (self->result == KL__PATTERN_FITS && *self->at != ')') {
        refuse(self, "missing closing )", self->whole, strlen(self->whole));
    }
    if (self->result == KL__PATTERN_FITS) {
        kl__buf_putc(self->to, *self->at++);
    }
    return times;
}

/* Reads "\Q...\E". */
static void read_quoted(reader *self)
{
    self->at += 2;
    while (*self->at != '\0' && strncmp(self->at, "\\E", 2) != 0) {
        self->atom = self->to->length;
        put_rune(self, read_rune(self));
    }
    self->at += *self->at != '\0' ? 2 : 0;
}

/* Writes an assertion in a group, as Go lets it be repeated. */
static void put_assertion(reader *self)
{
    size_t length = *self->at == '\\' ? 2 : 1;

    kl__buf_puts(self->to, "(?:");
    if (*self->at == '$' && !self->has_lines) {
        kl__buf_puts(self->to, "\\z"); /* PCRE2's $ matches before a last \n */
    } else {
        kl__buf_append(self->to, self->at, length);
    }
    kl__buf_putc(self->to, ')');
    self->at += length;
}

static void read_escape(reader *self)
{
    size_t before = self->to->length;
    char letter = self->at[1];
    uint32_t rune;

    if (letter != '\0' && strchr("bBAz", letter) != NULL) {
        put_assertion(self);
        return;
    }
    if (letter == 'Q') {
        read_quoted(self);
        return;
    }
    kl__buf_putc(self->to, '[');
    if (read_class(self)) {
        kl__buf_putc(self->to, ']');
        return;
    }
    self->to->length = before;
    if (read_escaped_rune(self, &rune)) {
        put_rune(self, rune);
    }
}

/* Reads one atom: a character, a class, a group or an assertion. Returns the
 * product of the counts of the repetitions in it. */
static int read_atom(reader *self)
{
    switch (*self->at) {
    case '(':
        return read_group(self);
    case '[':
        read_brackets(self);
        return 1;
    case '\\':
        read_escape(self);
        return 1;
    case '^':
    case '$':
        put_assertion(self);
        return 1;
    case '.':
        kl__buf_putc(self->to, *self->at++);
        return 1;
    default:
        put_rune(self, read_rune(self));
        return 1;
    }
}

/* --- Repetitions. --------------------------------------------------------- */

/* Reads a number of a count: -1 if there is none, or it begins with 0. */
static int read_limit(const char **at)
{
    const char *begin = *at;
    int number = 0;

    while (isdigit((unsigned char)**at)) {
        number = number > MAX_REPEAT ? number : number * 10 + (**at - '0');
        ++*at;
    }
    return *at == begin || (*begin == '0' && *at != begin + 1) ? -1 : number;
}

/* Reads a repetition: "*", "+", "?" or a count such as "{2,5}". False: it is
 * none; a brace is an ordinary character then. */
static bool read_repetition(const char *text, int *least, int *most,
                            size_t *length)
{
    const char *at = text + 1;

    *length = 1;
    *least = *most = 1;
    if (*text != '{') {
        return *text != '\0' && strchr("*+?", *text) != NULL;
    }
    *least = *most = read_limit(&at);
    if (*at == ',') {
        bool is_open = *++at == '}';

        *most = is_open ? -1 : read_limit(&at);
        if (*most < 0 && !is_open) {
            return false;
        }
    }
    *length = (size_t)(at - text) + 1;
    return *at == '}' && *least >= 0;
}

/* Writes "aa*" for "a+": PCRE2 counts how often a lone character has matched,
 * and would follow each count as an alternative of its own. */
static void put_plus(reader *self)
{
    size_t length = self->to->length - self->atom;
    char *copy = kl__buf_reserve(self->to, length);

    if (copy != NULL) {
        memcpy(copy, self->to->bytes + self->atom, length);
        self->to->length += length;
        kl__buf_putc(self->to, '*');
    }
}

/* Reads the repetition of an atom, if there is one; `times` is what read_atom
 * returned, and is returned for both. */
static int repeat_atom(reader *self, int times, bool is_group)
{
    const char *last = NULL;
    int least, most;
    size_t length;

    while (read_repetition(self->at, &least, &most, &length)) {
        const char *begin = self->at;
        int count = most < 0 ? least : most;

        self->at += length;
        if (least > MAX_REPEAT || most > MAX_REPEAT ||
            (most >= 0 && least > most)) {
            refuse(self, "invalid repeat count", begin, length);
            return times;
        }
        if (*begin == '+' && !is_group) {
            put_plus(self);
        } else {
            kl__buf_append(self->to, begin, length);
        }
        self->at += *self->at == '?'; /* lazy: it matches the same texts */
        if (last != NULL) {
            refuse(self, "invalid nested repetition operator", last,
                   (size_t)(self->at - last));
            return times;
        }
        times = count == 0 ? 1 : count * times;
        if (times > MAX_REPEAT) {
            refuse(self, "invalid repeat count", begin,
                   (size_t)(self->at - begin));
            return times;
        }
        last = begin;
    }
    return times;
}

/* Reads alternatives. Returns the largest number of read_atom for an atom. */
static int read_alternatives(reader *self)
{
    int largest = 1, least, most;
    size_t length;

    while (self->result == KL__PATTERN_FITS && *self->at != '\0' &&
           *self->at != ')') {
        const char *begin;
        int times;

        if (*self->at == '|') {
            kl__buf_putc(self->to, *self->at++);
        }
        if (*self->at == '\0' || *self->at == '|' || *self->at == ')') {
            continue;
        }
        if (read_repetition(self->at, &least, &most, &length)) {
            refuse(self, "missing argument to repetition operator", self->at,
                   length + (self->at[length] == '?'));
            return largest;
        }
        begin = self->at;
        self->atom = self->to->length;
        times = read_atom(self);
        if (self->result == KL__PATTERN_FITS && !is_flags(begin)) {
            times = repeat_atom(self, times, *begin == '(');
            largest = times > largest ? times : largest;
        }
    }
    return largest;
}

kl__pattern_result kl__pattern_translate(const char *pattern, kl__buf *to,
                                         kl__buf *why)
{
    reader self = {.whole = pattern, .at = pattern, .to = to, .why = why};

    read_alternatives(&self);
    if (self.result == KL__PATTERN_FITS && *self.at == ')') {
        refuse(&self, "unexpected )", pattern, strlen(pattern));
    }
    return to->failed ? KL__PATTERN_ENOMEM : self.result;
}
