/*
 * selector.c - parses label selectors, and matches objects' labels with them. A
 * selector selects the same objects as an API server does with ?labelSelector=
 * (docs/KUBERNETES.md#label-selectors), and has the grammar of API servers:
 *     selector    = requirement { "," requirement }
 *     requirement = key | "!" key | key ("=" | "==" | "!=") [ value ]
 *                 | key ("in" | "notin") "(" [value] { "," [value] } ")"
 *                 | key (">" | "<") integer
 */
#include "object/selector.h"

#include "base/caret.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kl_selector_free(kl_selector *selector)
{
    if (selector != NULL) {
        kl__free(selector->requirements);
        kl__free(selector->values);
        kl__free(selector->text);
        kl__free(selector);
    }
}

bool kl_selector_is_empty(const kl_selector *selector)
{
    return selector->count == 0;
}

bool kl__label_integer(const char *text, int64_t *number)
{
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    char *end;
    long long parsed;

    if (*digits < '0' || *digits > '9') {
        return false;
    }
    errno = 0;
    parsed = strtoll(text, &end, 10);
    *number = parsed;
    return *end == '\0' && errno == 0;
}

static bool is_one_of(const kl_selector *selector,
                      const kl__requirement *requirement, const char *label)
{
    for (size_t i = 0; i < requirement->count; i++) {
        if (strcmp(selector->values[requirement->first + i], label) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_beyond_bound(const kl_selector *selector,
                            const kl__requirement *requirement,
                            const char *label)
{
    int64_t bound, number;

    if (!kl__label_integer(selector->values[requirement->first], &bound) ||
        !kl__label_integer(label, &number)) {
        return false;
    }
    return requirement->op == KL__LABEL_GREATER ? number > bound
                                                : number < bound;
}

/* A label that is not a string counts as absent; API servers have no such
 * labels. */
static bool is_met(const kl_selector *selector,
                   const kl__requirement *requirement, const kl_value *labels)
{
    const kl_value *value = kl_value_get(labels, requirement->key);
    const char *label =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : NULL;

    switch (requirement->op) {
    case KL__LABEL_IN:
        return label != NULL && is_one_of(selector, requirement, label);
    case KL__LABEL_NOT_IN: /* an object without the label matches */
        return label == NULL || !is_one_of(selector, requirement, label);
    case KL__LABEL_EXISTS:
        return label != NULL;
    case KL__LABEL_MISSING:
        return label == NULL;
    case KL__LABEL_GREATER:
    case KL__LABEL_LESS:
        return label != NULL && is_beyond_bound(selector, requirement, label);
    }
    return false;
}

bool kl_selector_matches(const kl_selector *selector, const kl_value *labels)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (!is_met(selector, &selector->requirements[i], labels)) {
            return false;
        }
    }
    return true;
}

/* Limits of API servers: docs/KUBERNETES.md#label-selectors. */
enum { LONGEST_PREFIX = 253, LONGEST_NAME = 63 };

typedef struct parser {
    const char *text; /* the selector as given */
    const char *at;   /* the current token */
    size_t length;    /* of the current token; 0 at the end */
    kl_selector *selector;
    size_t values;
    kl_error *err;
} parser;

static kl_code fail_at(const parser *self, const char *at, const char *message)
{
    kl__caret where = {"label selector", self->text, (size_t)(at - self->text)};

    return kl__caret_error(self->err, &where, "%s", message);
}

/* Moves to the next token: an operator, a bracket, a comma or a word. */
static void next_token(parser *self)
{
    static const char space[] = " \t\r\n";

    self->at += self->length;
    self->at += strspn(self->at, space);
    self->length = strcspn(self->at, " \t\r\n=!(),<>");
    if (self->length > 0 || *self->at == '\0') {
        return;
    }
    self->length =
        strncmp(self->at, "==", 2) == 0 || strncmp(self->at, "!=", 2) == 0 ? 2
                                                                           : 1;
}

static bool is_token(const parser *self, const char *token)
{
    return strlen(token) == self->length &&
           memcmp(self->at, token, self->length) == 0;
}

static bool is_word(const parser *self)
{
    return self->length > 0 && strchr("=!(),<>", *self->at) == NULL;
}

/* Returns the current word as a NUL-terminated string in the selector's copy of
 * the text. The NUL overwrites a separator in that copy; the parser reads the
 * original text. */
static const char *keep_word(const parser *self)
{
    char *word = self->selector->text + (self->at - self->text);

    word[self->length] = '\0';
    return word;
}

static bool is_alphanumeric(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
}

/* Checks a name or value: letters, digits, "-", "_" and "."; it begins and ends
 * with a letter or digit. */
static kl_code check_name(const parser *self, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inner = i > 0 && i + 1 < length;

        if (!is_alphanumeric(name[i]) &&
            (!inner || strchr("-_.", name[i]) == NULL)) {
            return fail_at(self, name + i,
                           "a label consists of letters, digits, \"-\", \"_\" "
                           "and \".\", and begins and ends with a letter or "
                           "digit");
        }
    }
    if (length > LONGEST_NAME) {
        return fail_at(self, name + LONGEST_NAME,
                       "a label has at most 63 characters");
    }
    return KL_OK;
}

/* Checks the prefix of a key: a DNS subdomain, lower-case words with dots
 * between. */
static kl_code check_prefix(const parser *self, size_t length)
{
    const char *prefix = self->at;

    for (size_t i = 0; i < length; i++) {
        bool starts = i == 0 || prefix[i - 1] == '.';
        bool ends = i + 1 == length || prefix[i + 1] == '.';
        bool plain = is_alphanumeric(prefix[i]) &&
                     !(prefix[i] >= 'A' && prefix[i] <= 'Z');

        if (!plain && (starts || ends || strchr("-.", prefix[i]) == NULL)) {
            return fail_at(self, prefix + i,
                           "a label key's prefix is a DNS name in lower case");
        }
    }
    if (length == 0 || length > LONGEST_PREFIX) {
        return fail_at(self, prefix,
                       "a label key's prefix has 1 to 253 characters");
    }
    return KL_OK;
}

static kl_code check_key(const parser *self)
{
    const char *slash = memchr(self->at, '/', self->length);
    const char *name = slash != NULL ? slash + 1 : self->at;
    size_t length = (size_t)(self->at + self->length - name);
    kl_code code = KL_OK;

    if (slash != NULL) {
        code = check_prefix(self, (size_t)(slash - self->at));
    }
    if (code == KL_OK && length == 0) {
        return fail_at(self, name, "expected a name after the prefix");
    }
    return code == KL_OK ? check_name(self, name, length) : code;
}

/* Reads a value; it may be empty, then no token is consumed. */
static kl_code take_value(parser *self, kl__requirement *requirement)
{
    const char *value = "";
    kl_code code;

    if (is_word(self)) {
        code = check_name(self, self->at, self->length);
        if (code != KL_OK) {
            return code;
        }
        value = keep_word(self);
        next_token(self);
    }
    self->selector->values[self->values++] = value;
    requirement->count++;
    return KL_OK;
}

static kl_code take_set(parser *self, kl__requirement *requirement)
{
    kl_code code;

    if (!is_token(self, "(")) {
        return fail_at(self, self->at, "expected \"(\" and a list of values");
    }
    next_token(self);
    code = take_value(self, requirement);
    while (code == KL_OK && is_token(self, ",")) {
        next_token(self);
        code = take_value(self, requirement);
    }
    if (code == KL_OK && !is_token(self, ")")) {
        return fail_at(self, self->at, "expected \",\" or \")\"");
    }
    next_token(self);
    return code;
}

static kl_code take_bound(parser *self, kl__requirement *requirement)
{
    const char *at = self->at;
    int64_t bound;
    kl_code code = take_value(self, requirement);

    if (code == KL_OK &&
        !kl__label_integer(self->selector->values[requirement->first],
                           &bound)) {
        return fail_at(self, at, "expected an integer");
    }
    return code;
}

static kl_code take_operation(parser *self, kl__requirement *requirement)
{
    static const struct {
        const char *token;
        kl__label_op op;
        kl_code (*take)(parser *self, kl__requirement *requirement);
    } operations[] = {
        {"=", KL__LABEL_IN, take_value},
        {"==", KL__LABEL_IN, take_value},
        {"!=", KL__LABEL_NOT_IN, take_value},
        {"in", KL__LABEL_IN, take_set},
        {"notin", KL__LABEL_NOT_IN, take_set},
        {">", KL__LABEL_GREATER, take_bound},
        {"<", KL__LABEL_LESS, take_bound},
    };

    if (self->length == 0 || is_token(self, ",")) {
        return KL_OK;
    }
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (is_token(self, operations[i].token)) {
            requirement->op = operations[i].op;
            next_token(self);
            return operations[i].take(self, requirement);
        }
    }
    return fail_at(self, self->at,
                   "expected \"=\", \"!=\", \"in\", \"notin\", \",\" or the "
                   "end");
}

static kl_code take_requirement(parser *self)
{
    kl__requirement *requirement =
        &self->selector->requirements[self->selector->count];
    bool negated = is_token(self, "!");
    kl_code code;

    if (negated) {
        next_token(self);
    }
    if (!is_word(self)) {
        return fail_at(self, self->at, "expected a label's key");
    }
    code = check_key(self);
    if (code != KL_OK) {
        return code;
    }
    *requirement =
        (kl__requirement){.op = negated ? KL__LABEL_MISSING : KL__LABEL_EXISTS,
                          .key = keep_word(self),
                          .first = self->values};
    self->selector->count++;
    next_token(self);
    return negated ? KL_OK : take_operation(self, requirement);
}

static kl_code take_selector(parser *self)
{
    kl_code code = KL_OK;

    next_token(self);
    if (self->length == 0) {
        return KL_OK;
    }
    code = take_requirement(self);
    while (code == KL_OK && is_token(self, ",")) {
        next_token(self);
        code = take_requirement(self);
    }
    if (code == KL_OK && self->length > 0) {
        return fail_at(self, self->at, "expected \",\" or the end");
    }
    return code;
}

kl_selector *kl_selector_parse(const char *text, kl_error *err)
{
    parser self = {.text = text != NULL ? text : "", .err = err};
    size_t most = 1;

    /* An upper bound of the number of requirements, and of values: one of these
     * bytes stands before each but the first. */
    for (const char *at = self.text; *at != '\0'; at++) {
        most += strchr(",=(<>", *at) != NULL ? 1 : 0;
    }
    self.at = self.text;
    self.selector = kl__calloc(1, sizeof(*self.selector));
    if (self.selector == NULL) {
        goto no_memory;
    }
    self.selector->text = kl__strdup(self.text);
    self.selector->requirements =
        kl__calloc(most, sizeof(*self.selector->requirements));
    self.selector->values = kl__calloc(most, sizeof(*self.selector->values));
    if (self.selector->text == NULL || self.selector->requirements == NULL ||
        self.selector->values == NULL) {
        goto no_memory;
    }
    if (take_selector(&self) != KL_OK) {
        kl_selector_free(self.selector);
        return NULL;
    }
    return self.selector;

no_memory:
    kl_selector_free(self.selector);
    kl_error_set(err, KL_ENOMEM, "out of memory compiling a label selector");
    return NULL;
}
