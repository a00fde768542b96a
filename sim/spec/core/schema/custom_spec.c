/*
 * custom_spec.c - objects of a custom resource and their schema: pruned,
 * defaulted, and refused in kube-apiserver's words.
 */
#include "spec_case.h"

#include "kubelua/memory.h"
#include "sim/core/schema/custom.h"
#include "sim/core/schema/pattern.h"

typedef struct scene {
    kl_doc *source;
    kl__schema *schema;
    kl__edit *edit;
} scene;

static void open_scene(scene *self, const char *schema, const char *value)
{
    kl_error err = {0};

    schema = sim_json(schema);
    value = sim_json(value);
    self->source = kl_doc_parse(schema, strlen(schema), &err);
    if (self->source == NULL) {
        fail_msg("%s in %s", err.message, schema);
    }
    self->schema = kl__schema_custom(kl_doc_root(self->source), &err);
    assert_non_null(self->schema);
    self->edit = kl__edit_new(&err);
    assert_non_null(self->edit);
    kl__edit_set_root(self->edit,
                      kl__edit_parse(self->edit, value, strlen(value), &err));
    if (kl__edit_root(self->edit) == NULL) {
        fail_msg("%s in %s", err.message, value);
    }
}

static void close_scene(scene *self)
{
    kl__edit_free(self->edit);
    kl__schema_free(self->schema);
    kl_doc_unref(self->source);
}

/* The schema of the root, and what it makes of a value. */
#define SPEC(fields) "{type: object, properties: {spec: " fields "}}"

static void is_json(const kl__edit *edit, const char *expected)
{
    char *json = kl__edit_json(edit, NULL, NULL);

    assert_string_equal(json, sim_json(expected));
    kl_free(json);
}

static void prunes(const char *schema, const char *value, const char *expected,
                   const char *unknown)
{
    kl__buf paths = {0};
    scene self;

    open_scene(&self, schema, value);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kl__custom_prune(self.schema, kl__edit_root(self.edit),
                                          i == 0 ? &paths : NULL, NULL),
                         KL_OK);
        is_json(self.edit, expected);
    }
    assert_string_equal(paths.bytes != NULL ? paths.bytes : "", unknown);
    kl__buf_deinit(&paths);
    close_scene(&self);
}

PLAIN_CASE(unknown_fields_are_dropped)
{
    prunes(SPEC("{type: object, properties: {a: {type: string}}}"),
           "{kind: K, apiVersion: v, metadata: {name: x}, spec: {a: '1', b: "
           "2}, more: {}}",
           "{kind: K, apiVersion: v, metadata: {name: x}, spec: {a: '1'}}",
           "spec.b\nmore\n");
    prunes(SPEC("{type: object, x-kubernetes-preserve-unknown-fields: true, "
                "properties: {a: {type: object}}}"),
           "{spec: {a: {x: 1}, b: {'y': 2}}}", "{spec: {a: {}, b: {'y': 2}}}",
           "spec.a.x\n");
    prunes(SPEC("{type: object, additionalProperties: {type: object, "
                "properties: {a: {type: string}}}}"),
           "{spec: {x: {a: '1', b: 1}, 'y': {c: 1}}}",
           "{spec: {x: {a: '1'}, 'y': {}}}", "spec.x.b\nspec.y.c\n");
    prunes(SPEC("{type: array, items: {type: object, properties: {a: {type: "
                "string}}}}"),
           "{spec: [{a: '1'}, {b: 1}]}", "{spec: [{a: '1'}, {}]}",
           "spec[1].b\n");
    prunes(SPEC("{type: object, x-kubernetes-embedded-resource: true, "
                "properties: {data: {type: string}}}"),
           "{spec: {kind: X, metadata: {name: 'n'}, data: d, z: 0}}",
           "{spec: {kind: X, metadata: {name: 'n'}, data: d}}", "spec.z\n");
    prunes(SPEC("{type: object, additionalProperties: true}"),
           "{spec: {a: 1, b: {c: 1}}}", "{spec: {a: 1, b: {}}}", "spec.b.c\n");
}

static void completes(const char *schema, const char *value,
                      const char *expected)
{
    scene self;

    open_scene(&self, schema, value);
    for (int i = 0; i < 2; i++) {
        kl__custom_drop_nulls(self.schema, kl__edit_root(self.edit));
        assert_int_equal(kl__custom_default(self.schema, self.edit,
                                            kl__edit_root(self.edit), NULL),
                         KL_OK);
        is_json(self.edit, expected);
    }
    close_scene(&self);
}

PLAIN_CASE(defaults_are_put_in)
{
    static const char schema[] =
        SPEC("{type: object, default: {}, properties: {a: {type: integer, "
             "default: 1}, b: {type: string, nullable: true, default: x}, c: "
             "{type: string}, l: {type: array, items: {type: object, "
             "properties: {p: {type: string, default: TCP}}}}}}");

    completes(schema, "{}", "{spec: {a: 1, b: x}}");
    completes(schema, "{spec: null}", "{spec: {a: 1, b: x}}");
    completes(schema, "{spec: {a: null, b: null, c: null}}",
              "{spec: {a: 1, b: null}}");
    completes(schema, "{spec: {a: 2, b: 'y', l: [{}, {p: U}]}}",
              "{spec: {a: 2, b: 'y', l: [{p: TCP}, {p: U}]}}");
    completes(SPEC("{type: object, additionalProperties: {type: integer, "
                   "default: 7}}"),
              "{spec: {a: null, b: 1, c: null}}", "{spec: {a: 7, b: 1, c: 7}}");
    completes(SPEC("{type: array, items: {type: integer, default: 7}}"),
              "{spec: [null, 1, null]}", "{spec: [7, 1, 7]}");
}

/* Compares the errors, one a line; those of lists too.
 */
static void refuses_change(const char *schema, const char *old,
                           const char *value, const char *expected)
{
    kl__field_errors errors = {0};
    kl__buf lines = {0};
    kl__node *before = NULL;
    scene self;

    open_scene(&self, schema, value);
    if (old != NULL) {
        old = sim_json(old);
        before = kl__edit_parse(self.edit, old, strlen(old), NULL);
        assert_non_null(before);
    }
    kl__custom_validate(kl_doc_root(self.source), kl__edit_root(self.edit),
                        before, "", &errors);
    kl__custom_validate_lists(self.schema, kl__edit_root(self.edit), &errors);
    assert_false(errors.failed);
    for (size_t i = 0; i < errors.count; i++) {
        kl__buf_printf(&lines, "%s: %s\n", errors.items[i].field,
                       errors.items[i].message);
    }
    assert_string_equal(lines.bytes != NULL ? lines.bytes : "", expected);
    kl__buf_deinit(&lines);
    kl__field_errors_deinit(&errors);
    close_scene(&self);
}

static void refuses(const char *schema, const char *value, const char *expected)
{
    refuses_change(schema, NULL, value, expected);
}

#define ONE(keywords) "{type: object, properties: {x: {" keywords "}}}"

PLAIN_CASE(a_value_has_the_type_that_its_schema_gives)
{
    refuses(ONE("type: integer"), "{x: a}",
            "x: Invalid value: \"string\": x in body must be of type integer: "
            "\"string\"\n");
    refuses(ONE("type: integer"), "{\"x\":1.0}", "");
    refuses(ONE("type: string"), "{x: null}",
            "x: Invalid value: \"null\": x in body must be of type string: "
            "\"null\"\n");
    refuses(ONE("type: string, nullable: true"), "{x: null}", "");
    refuses(ONE("x-kubernetes-int-or-string: true"), "{x: []}",
            "x: Invalid value: \"array\": x in body must be of type "
            "integer,string: \"array\"\n");
    refuses(ONE("x-kubernetes-int-or-string: true"), "{x: '10%'}", "");
    refuses(ONE("type: string, format: date"), "{x: true}",
            "x: Invalid value: \"\": x in body must be of type date: \"\"\n");
}

PLAIN_CASE(numbers_are_checked_by_their_bounds)
{
    refuses(ONE("type: integer, minimum: 1, maximum: 5"), "{x: 6}",
            "x: Invalid value: 6: x in body should be less than or equal to "
            "5\n");
    refuses(ONE("type: number, minimum: 0.5, exclusiveMinimum: true"),
            "{\"x\":0.5}",
            "x: Invalid value: 0.5: x in body should be greater than 0.5\n");
    refuses(ONE("type: integer, multipleOf: 5"), "{x: 7}",
            "x: Invalid value: 7: x in body should be a multiple of 5\n");
    refuses(ONE("type: integer, format: int32"), "{x: 2147483648}",
            "<nil>: Invalid value: \"\": Checked value must be of type integer "
            "with format int32 in x\n");
}

PLAIN_CASE(texts_are_checked_by_length_and_pattern)
{
    refuses(ONE("type: string, minLength: 2"), "{x: a}",
            "x: Invalid value: \"a\": x in body should be at least 2 chars "
            "long\n");
    refuses(ONE("type: string, maxLength: 2"), "{x: abc}",
            "x: Too long: may not be more than 2 bytes\n");
    refuses(ONE("type: string, pattern: '^a+$'"), "{x: ab}",
            "x: Invalid value: \"ab\": x in body should match '^a+$'\n");
    /* An engine that tries one alternative after the other would never end. */
    refuses(ONE("type: string, pattern: '^(a+)+$'"),
            "{x: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab}",
            "x: Invalid value: "
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\": x in body "
            "should match '^(a+)+$'\n");
    refuses(ONE("type: string, pattern: '(a?){1000}[cd]'"),
            "{x: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab}",
            "x: Invalid value: "
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\": x in body "
            "takes the simulator too many steps to match with "
            "'(a?){1000}[cd]'\n");
    refuses(ONE("type: string, enum: [a, b]"), "{x: c}",
            "x: Unsupported value: \"c\": supported values: \"a\", \"b\"\n");
    refuses(ONE("type: string, format: date-time"), "{x: today}",
            "x: Invalid value: \"today\": x in body must be of type date-time: "
            "\"today\"\n");
}

PLAIN_CASE(sizes_of_objects_and_lists_are_checked)
{
    refuses("{type: object, required: [spec, x]}", "{x: 1}",
            "spec: Required value\n");
    refuses(ONE("type: array, maxItems: 1, items: {type: string}"),
            "{x: [a, 1]}",
            "x[1]: Invalid value: \"integer\": x[1] in body must be of type "
            "string: \"integer\"\nx: Too many: 2: must have at most 1 item\n");
    refuses(ONE("type: object, minProperties: 1, additionalProperties: {type: "
                "string}"),
            "{x: {}}",
            "x: Invalid value: 0: x in body should have at least 1 "
            "properties\n");
    refuses(
        ONE("type: array, x-kubernetes-list-type: set, items: {type: string}"),
        "{x: [a, b, a, a]}", "x[2]: Duplicate value: \"a\"\n");
    refuses(ONE("type: array, x-kubernetes-list-type: map, "
                "x-kubernetes-list-map-keys: [k], items: {type: object, "
                "properties: {k: {type: string}}}"),
            "{x: [{k: a}, {k: a}]}", "x[1]: Duplicate value: {\"k\":\"a\"}\n");
}

PLAIN_CASE(all_of_any_of_one_of_and_not_are_checked)
{
    static const char either[] =
        ONE("type: object, properties: {a: {type: string}, b: {type: string}}, "
            "oneOf: [{required: [a]}, {required: [b]}]");

    refuses(either, "{x: {a: '1'}}", "");
    refuses(either, "{x: {}}",
            "<nil>: Invalid value: \"\": \"x\" must validate one and only one "
            "schema (oneOf). Found none valid\nx.a: Required value\n");
    refuses(either, "{x: {a: '1', b: '2'}}",
            "<nil>: Invalid value: \"\": \"x\" must validate one and only one "
            "schema (oneOf). Found 2 valid alternatives\n");
    refuses(ONE("type: integer, not: {minimum: 5}"), "{x: 6}",
            "<nil>: Invalid value: \"\": \"x\" must not validate the schema "
            "(not)\n");
    refuses(ONE("type: integer, anyOf: [{minimum: 5}, {maximum: 1}]"), "{x: 3}",
            "<nil>: Invalid value: \"\": \"x\" must validate at least one "
            "schema (anyOf)\nx: Invalid value: 3: x in body should be greater "
            "than or equal to 5\n");
}

PLAIN_CASE(an_unchanged_invalid_value_is_accepted)
{
    static const char schema[] =
        ONE("type: object, properties: {a: {type: integer, minimum: 5}, b: "
            "{type: string}}");

    refuses_change(schema, "{x: {a: 1}}", "{x: {a: 1, b: new}}", "");
    refuses_change(schema, "{x: {a: 1}}", "{x: {a: 2}}",
                   "x.a: Invalid value: 2: x.a in body should be greater than "
                   "or equal to 5\n");
}

PLAIN_CASE(texts_are_checked_by_their_format)
{
    static const struct {
        const char *format;
        const char *good;
        const char *bad;
    } cases[] = {
        {"date-time", "2026-02-28T23:59:59.5+01:00", "2026-02-29T00:00:00Z"},
        {"date", "2024-02-29", "2026-13-01"},
        {"duration", "1h5m", "soon"},
        {"duration", "3 days", "3 dais"},
        {"ipv4", "10.0.0.1", "10.0.0.256"},
        {"ipv6", "fe80::1", "10.0.0.1"},
        {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
        {"uri", "https://a.b/c", "a b"},
        {"email", "a@b.c", "a.b.c"},
        {"hostname", "a.b-c.de", "a.b"},
        {"byte", "aGVsbG8=", "aGVsbG8"},
        {"uuid", "b0a3ff5e-5f42-4a6c-9c5e-5a1e0a6e7f11", "b0a3"},
        {"uuid4", "b0a3ff5e-5f42-4a6c-9c5e-5a1e0a6e7f11",
         "b0a3ff5e-5f42-1a6c-9c5e-5a1e0a6e7f11"},
        {"k8s-short-name", "a-b", "a.b"},
        {"k8s-long-name", "a.b", "a..b"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!kl__custom_format_fits(cases[i].format, cases[i].good,
                                    strlen(cases[i].good)) ||
            kl__custom_format_fits(cases[i].format, cases[i].bad,
                                   strlen(cases[i].bad))) {
            fail_msg("%s", cases[i].format);
        }
    }
    assert_true(kl__custom_format_fits("int-or-what", "x", 1));
}

/* ---- Regular expressions match what Go's match; what Go does not have is
 * refused. */

static void matches(const char *pattern, const char *text)
{
    if (kl__pattern_match(pattern, text) != KL__PATTERN_FITS) {
        fail_msg("%s does not match \"%s\"", pattern, text);
    }
}

static void misses(const char *pattern, const char *text)
{
    if (kl__pattern_match(pattern, text) != KL__PATTERN_FAILS) {
        fail_msg("%s matches \"%s\"", pattern, text);
    }
}

PLAIN_CASE(a_pattern_matches_anywhere_unless_it_is_anchored)
{
    matches("", "");
    matches("b", "abc");
    misses("^b", "abc");
    matches("^a", "abc");
    matches("c$", "abc");
    misses("b$", "abc");
    misses("^$", "abc");
    matches("^$", "");
    matches("\\Aabc\\z", "abc");
    matches("(?m)^b$", "a\nb\nc");
    misses("^b$", "a\nb\nc");
}

PLAIN_CASE(repetitions_match_within_their_counts)
{
    matches("^a*$", "");
    matches("^a*$", "aaaa");
    misses("^a+$", "");
    matches("^a?b$", "b");
    misses("^a?b$", "aab");
    matches("^a{3}$", "aaa");
    misses("^a{3}$", "aa");
    matches("^a{2,}$", "aaaaa");
    misses("^a{2,}$", "a");
    matches("^a{2,4}$", "aaa");
    misses("^a{2,4}$", "aaaaa");
    matches("^(ab){0,2}c$", "ababc");
    misses("^(ab){0,2}c$", "abababc");
    matches("^a{0}b$", "b");
    matches("^(a*)*$", "aaa");
    matches("^(|a)+$", "aaa");
    matches("^a+?b$", "aab");
}

PLAIN_CASE(alternatives_and_groups_nest)
{
    matches("^(a|b|cd)+$", "abcdcd");
    misses("^(a|b|cd)+$", "abc");
    matches("^(?:a|(?P<name>b)|(?<other>c))$", "c");
    matches("^a|b$", "axx");
    matches("^(a||b)$", "");
    matches("^(?i)AbC$", "aBc");
    matches("^((?i)a)b$", "Ab");
    misses("^((?i)a)b$", "AB");
    matches("^(?i:x[a-c])y$", "XBy");
    misses("^a.c$", "a\nc");
    matches("(?s)^a.c$", "a\nc");
}

PLAIN_CASE(classes_hold_characters)
{
    matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-1");
    misses("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-");
    matches("^\\d+\\.\\d{2}$", "12.50");
    misses("^\\d+\\.\\d{2}$", "12x50");
    matches("^\\w+\\s\\S+$", "a_1 -");
    matches("^[^a-c]+$", "xyz");
    misses("^[^a-c]+$", "xbz");
    matches("^[]a]+$", "]a");
    matches("^[\\]\\-\\\\]+$", "]-\\");
    matches("^[[:alpha:]_]+$", "ab_C");
    misses("^[[:^digit:]]+$", "a1");
    matches("^[\\D]+$", "abc");
    misses("^[\\D]+$", "a1c");
    matches("^[\\x41-\\x{43}]+$", "ABC");
    matches("^.{3}$", "\xc3\xa4\xc3\xb6\xc3\xbc");
    matches("^[\xc3\xa4-\xc3\xbc]+$", "\xc3\xb6");
    matches("\\bfoo\\b", "a foo b");
    misses("\\bfoo\\b", "a food b");
    matches("^\\Qa.b*\\E$", "a.b*");
    matches("^a\\.b\\/c$", "a.b/c");
}

/* PCRE2 alone would take these in another sense. */
PLAIN_CASE(syntax_has_the_meaning_that_go_gives_it)
{
    misses("^a$", "a\n");
    matches("(?m)^$", "a\n");
    misses("^.$", "\n");
    matches("^.$", "\r");
    misses("^\\d$", "\xd9\xa3"); /* an Arabic 3 */
    misses("^\\w$", "\xc3\xa4");
    matches("^a #b$", "a #b");
    matches("^\\Qab\\E+$", "abbb");
    matches("^[[.]+$", "[.");
    matches("^\\pL\\p{Lu}\\P{Greek}$", "\xc3\xa4Zz");
    misses("^\\pL$", "1");
    matches("^(?i)\xc3\xa4$", "\xc3\x84");
}

static void refused(const char *pattern, const char *expected)
{
    kl__buf why = {0};

    assert_int_equal(kl__pattern_check(pattern, &why), KL__PATTERN_INVALID);
    assert_string_equal(why.bytes, expected);
    kl__buf_deinit(&why);
}

PLAIN_CASE(an_invalid_pattern_is_refused)
{
    refused("a)(b", "error parsing regexp: unexpected ): `)`");
    refused("a**",
            "error parsing regexp: invalid nested repetition operator: `**`");
    refused("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`");
    refused("\\y", "error parsing regexp: invalid escape sequence: `\\y`");
    refused("a\\", "error parsing regexp: trailing backslash at end of "
                   "expression: ``");
    refused("(?=a)",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`");
    refused("(?<=a)", "error parsing regexp: invalid or unsupported Perl "
                      "syntax: `(?<`");
    refused("\\C", "error parsing regexp: invalid escape sequence: `\\C`");
    refused("(a)\\1", "error parsing regexp: invalid escape sequence: `\\1`");
    refused("[\\b]", "error parsing regexp: invalid escape sequence: `\\b`");
    refused("a*?+", "error parsing regexp: invalid nested repetition operator: "
                    "`*?+`");
    refused("(?>a)",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?>`");
    refused("(?i-)a", "error parsing regexp: invalid or unsupported Perl "
                      "syntax: `(?i`");
    refused("(*UCP)a", "error parsing regexp: missing argument to repetition "
                       "operator: `*`");
    refused("a{,2}", "error parsing regexp: write \\{ for a brace that repeats "
                     "nothing: `{,`");
    refused("(?P=a)", "error parsing regexp: invalid or unsupported Perl "
                      "syntax: `(?P`");
    refused("(?#a)", "error parsing regexp: invalid or unsupported Perl "
                     "syntax: `(?#`");
}

/* Faults that PCRE2 finds are told in its words. */
PLAIN_CASE(a_pattern_that_pcre2_refuses_is_invalid)
{
    static const char *const patterns[] = {
        "(a",   "[a",           "*a", "[z-a]", "(?P<a-b>c)", "\\p{Nonsense}",
        "\\x{", "(a{50}){2001}"};

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        kl__buf why = {0};

        assert_int_equal(kl__pattern_check(patterns[i], &why),
                         KL__PATTERN_INVALID);
        assert_int_equal(strncmp(why.bytes, "error parsing regexp: ", 22), 0);
        kl__buf_deinit(&why);
    }
}

PLAIN_CASE(matching_takes_bounded_time)
{
    static char text[20001];

    memset(text, 'a', sizeof(text) - 1);
    misses("^(a+)+b$", text + sizeof(text) - 1001);
    misses("^(a|a)*b$", text);
    matches("a*b?c*d?$", text);
    misses("^[a-z]+[0-9]", text);
    misses("[a-z]+[0-9]", text + sizeof(text) - 201);
    assert_int_equal(kl__pattern_match("(a{1,500}b?c?){2}d", text),
                     KL__PATTERN_TOO_MUCH);
}

PLAIN_CASE(a_pattern_that_is_too_large_says_so)
{
    kl__buf why = {0};

    assert_int_equal(
        kl__pattern_check("([a-z][0-9][a-f][^a][^b][^c]){900}", &why),
        KL__PATTERN_TOO_MUCH);
    assert_non_null(strstr(why.bytes, "too large"));
    kl__buf_deinit(&why);
}
