/*
 * selectors.c - a label selector on the first line, a field selector on the
 * second, labels as JSON on the others. A printed selector parses to the same
 * one, and matches like one that is evaluated by hand.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "informer/field_selector.h"
#include "kubelua/memory.h"
#include "object/selector.h"

#include <stdlib.h>
#include <string.h>

static void print_set(const kl_selector *selector,
                      const kl__requirement *requirement, kl__buf *out)
{
    for (size_t i = 0; i < requirement->count; i++) {
        kl__buf_printf(out, "%s%s", i > 0 ? "," : "(",
                       selector->values[requirement->first + i]);
    }
    kl__buf_puts(out, ")");
}

static void print_requirement(const kl_selector *selector,
                              const kl__requirement *requirement, kl__buf *out)
{
    static const char *const words[] = {" in ", " notin ", "",
                                        "",     " > ",     " < "};

    if (requirement->op == KL__LABEL_MISSING) {
        kl__buf_putc(out, '!');
    }
    kl__buf_printf(out, "%s%s", requirement->key, words[requirement->op]);
    if (requirement->op <= KL__LABEL_NOT_IN && requirement->count == 1) {
        out->length -= strlen(words[requirement->op]);
        kl__buf_printf(out, "%s%s",
                       requirement->op == KL__LABEL_IN ? "=" : "!=",
                       selector->values[requirement->first]);
    } else if (requirement->op == KL__LABEL_IN ||
               requirement->op == KL__LABEL_NOT_IN) {
        print_set(selector, requirement, out);
    } else if (requirement->op == KL__LABEL_GREATER ||
               requirement->op == KL__LABEL_LESS) {
        kl__buf_puts(out, selector->values[requirement->first]);
    }
}

static char *print(const kl_selector *selector)
{
    kl__buf out = {0};

    kl__buf_append(&out, "", 0);
    for (size_t i = 0; i < selector->count; i++) {
        kl__buf_puts(&out, i > 0 ? "," : "");
        print_requirement(selector, &selector->requirements[i], &out);
    }
    return kl__buf_take(&out, NULL);
}

/* Evaluates one requirement as a selector of its own; one with the opposite
 * operator must give the opposite result. */
static bool matches_alone(const kl_selector *selector,
                          const kl__requirement *requirement,
                          const kl_value *labels)
{
    static const kl__label_op opposites[] = {
        KL__LABEL_NOT_IN, KL__LABEL_IN, KL__LABEL_MISSING, KL__LABEL_EXISTS};
    kl__requirement other = *requirement;
    kl__buf out = {0};
    kl_selector *alone;
    bool matches;

    print_requirement(selector, requirement, &out);
    alone = kl_selector_parse(out.bytes, NULL);
    FUZZ_EXPECT(alone != NULL);
    matches = kl_selector_matches(alone, labels);
    kl_selector_free(alone);
    if (requirement->op <= KL__LABEL_MISSING) {
        other.op = opposites[requirement->op];
        kl__buf_reset(&out);
        print_requirement(selector, &other, &out);
        alone = kl_selector_parse(out.bytes, NULL);
        FUZZ_EXPECT(alone != NULL);
        FUZZ_EXPECT(kl_selector_matches(alone, labels) != matches);
        kl_selector_free(alone);
    }
    kl__buf_deinit(&out);
    return matches;
}

/* Evaluates a requirement by hand, from the label's value. */
static bool is_met(const kl_selector *selector,
                   const kl__requirement *requirement, const kl_value *labels)
{
    const kl_value *value = kl_value_get(labels, requirement->key);
    const char *label =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : NULL;
    bool is_in = false;

    for (size_t i = 0; i < requirement->count && label != NULL; i++) {
        is_in |= strcmp(label, selector->values[requirement->first + i]) == 0;
    }
    switch (requirement->op) {
    case KL__LABEL_IN:
        return is_in;
    case KL__LABEL_NOT_IN:
        return !is_in;
    case KL__LABEL_EXISTS:
        return label != NULL;
    case KL__LABEL_MISSING:
        return label == NULL;
    default:
        return label != NULL && matches_alone(selector, requirement, labels);
    }
}

static void expect_labels(fuzz_text line, const kl_value *labels)
{
    char *text = fuzz_string(line), *printed, *again;
    kl_error err = {.code = KL_OK};
    kl_selector *selector = kl_selector_parse(text, &err), *second;
    bool all = true;

    if (selector == NULL) {
        FUZZ_EXPECT(err.code == KL_EINVAL && err.message[0] != '\0');
        free(text);
        return;
    }
    FUZZ_EXPECT(kl_selector_is_empty(selector) == (selector->count == 0));
    printed = print(selector);
    second = kl_selector_parse(printed, &err);
    FUZZ_EXPECT(second != NULL);
    again = print(second);
    FUZZ_EXPECT(strcmp(printed, again) == 0);
    for (size_t i = 0; i < selector->count && i < 50; i++) {
        bool met = is_met(selector, &selector->requirements[i], labels);

        FUZZ_EXPECT(
            met == matches_alone(selector, &selector->requirements[i], labels));
        all = all && met;
    }
    FUZZ_EXPECT(selector->count > 50 ||
                all == kl_selector_matches(selector, labels));
    FUZZ_EXPECT(kl_selector_matches(second, labels) ==
                kl_selector_matches(selector, labels));
    kl_free(printed);
    kl_free(again);
    kl_selector_free(second);
    kl_selector_free(selector);
    free(text);
}

/* A field selector is valid if and only if it is valid with a valid term before
 * or after it. */
static void expect_fields(fuzz_text line)
{
    char *text = fuzz_string(line);
    kl_error err = {.code = KL_OK};
    kl_code code = kl__field_selector_check(text, &err);
    size_t length = strlen(text), slashes = 0;
    kl__buf longer = {0};

    FUZZ_EXPECT(code == KL_OK ||
                (code == KL_EINVAL && strstr(err.message, "field selector")));
    while (slashes < length && text[length - slashes - 1] == '\\') {
        slashes++;
    }
    kl__buf_printf(&longer, "metadata.name=x,%s", text);
    FUZZ_EXPECT(kl__field_selector_check(longer.bytes, NULL) == code);
    if (slashes == 0) {
        kl__buf_puts(&longer, ",a!=b");
        FUZZ_EXPECT(kl__field_selector_check(longer.bytes, NULL) == code);
        kl__buf_puts(&longer, ",a");
        FUZZ_EXPECT(kl__field_selector_check(longer.bytes, NULL) == KL_EINVAL);
    }
    kl__buf_deinit(&longer);
    free(text);
}

void fuzz_selectors(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text labels = fuzz_line(&text);
    fuzz_text fields = fuzz_line(&text);
    kl_doc *doc = kl_doc_parse(text.bytes, text.length, NULL);

    expect_labels(labels, doc != NULL ? kl_doc_root(doc) : NULL);
    expect_fields(fields);
    kl_doc_unref(doc);
}
