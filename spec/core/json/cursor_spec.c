/*
 * cursor_spec.c - what is read or searched where it stands in a text is what
 * the tree of the text has, however many paths there are; and where a value
 * ends does not depend on how many bytes are looked at together: what comes
 * byte by byte is the measure.
 */
#include "cursor_walk.h"
#include "random_json.h"
#include "xorshift.h"

#include "json/cursor.h"
#include "json/search.h"
#include "json/skip.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 3000, TEXTS = 3000 };

static void is_as_in_the_tree(const char *json, size_t length)
{
    kl_error err = {0};
    kl_doc *doc = kl_doc_parse(json, length, &err);
    const char *wrong;

    if (doc == NULL) {
        fail_msg("%s: %s", err.message, json);
    }
    wrong = cursor_walk(json, length, kl_doc_root(doc));
    if (wrong != NULL) {
        fail_msg("%s: %s", wrong, json);
    }
    kl_doc_unref(doc);
}

static void random_documents_read_as_their_trees(void **state)
{
    static char text[LENGTH + 1];

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t length = random_json(text, LENGTH);

        text[length] = '\0';
        is_as_in_the_tree(text, length);
    }
}

static void a_document_of_one_scalar_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; random_json_atoms[i] != NULL; i++) {
        is_as_in_the_tree(random_json_atoms[i], strlen(random_json_atoms[i]));
    }
}

/* The end of each of the nested values is in another place of a block. */
static void deep_values_end_anywhere_in_a_block(void **state)
{
    enum { DEEP = 512 };
    char text[3 * DEEP + 1];

    (void)state;
    for (size_t depth = 1; depth <= DEEP; depth += depth < 70 ? 1 : 63) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        is_as_in_the_tree(text, 2 * depth);
    }
}

static const char pod[] =
    "{\"metadata\":{\"name\":\"web\",\"labels\":{\"\\u0061pp\":\"shop\"}},"
    "\"spec\":{\"nodeName\":\"n1\",\"nodeName\":\"n2\","
    "\"containers\":[{\"image\":\"x\"},{\"image\":\"y\\n\"}]}}";

static void names_with_escapes_match(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *metadata = kl_cursor_member(pod, end, "metadata", 8);
    const char *labels = kl_cursor_member(metadata, end, "labels", 6);

    (void)state;
    assert_memory_equal(kl_cursor_member(labels, end, "app", 3), "\"shop\"", 6);
    assert_null(kl_cursor_member(labels, end, "\\u0061pp", 8));
    assert_null(kl_cursor_member(labels, end, "ap", 2));
}

static void the_last_member_of_a_name_counts(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *spec = kl_cursor_member(pod, end, "spec", 4);

    (void)state;
    assert_memory_equal(kl_cursor_member(spec, end, "nodeName", 8), "\"n2\"",
                        4);
}

static void a_search_tells_what_it_has_passed_by(void **state)
{
    const char *end = pod + sizeof(pod) - 1, *passed;
    const char *spec = kl_cursor_member(pod, end, "spec", 4);

    (void)state;
    kl_cursor_member_passed(spec, end, "nodeName", 8, &passed);
    assert_ptr_equal(passed, kl_cursor_skip(spec, end));
    assert_null(kl_cursor_member_passed(spec, end, "none", 4, &passed));
    assert_ptr_equal(passed, kl_cursor_skip(spec, end));
    assert_null(kl_cursor_member_passed(NULL, end, "none", 4, &passed));
    assert_null(passed);
}

static void lookups_chain_over_what_is_absent(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *none = kl_cursor_member(pod, end, "status", 6);
    kl_scalar room;

    (void)state;
    assert_null(none);
    assert_null(kl_cursor_member(none, end, "phase", 5));
    assert_null(kl_cursor_element(none, end, 0));
    assert_int_equal(kl_value_type(kl_cursor_scalar(none, end, &room)),
                     KL_NULL);
}

static void a_walk_may_leave_a_value_early(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *spec = kl_cursor_member(pod, end, "spec", 4);
    const char *images = kl_cursor_member(spec, end, "containers", 10);
    kl_cursor element, member;

    (void)state;
    kl_cursor_begin(&element, images, end);
    for (int i = 0; i < 2; i++) {
        assert_true(kl_cursor_next(&element));
        kl_cursor_begin(&member, element.value, end);
        assert_true(kl_cursor_next(&member));
        element.at = kl__cursor_leave(kl_cursor_skip(member.value, end), end);
    }
    assert_false(kl_cursor_next(&element));
    assert_ptr_equal(element.at, end - 2);
}

enum { SEARCHED = 4000, SEARCHES = 2000, MOST_VALUES = 400 };

/* What was found at one path: the JSON of the values, and how many are
 * wanted. */
typedef struct found {
    char *values[MOST_VALUES];
    size_t count;
    size_t wanted; /* 0: all */
} found;

typedef struct world {
    const char *text;
    const char *end;
    kl_path *paths[KL__SEARCH_MOST];
    found of_tree[KL__SEARCH_MOST];
    found of_text[KL__SEARCH_MOST];
    size_t count;
} world;

static void note(found *to, char *json)
{
    assert_non_null(json);
    assert_true(to->count < MOST_VALUES);
    to->values[to->count++] = json;
}

static kl_code note_value(void *context, const kl_value *value)
{
    found *to = context;

    note(to, kl_value_json(value, NULL, NULL));
    return to->count == to->wanted ? KL_ECANCELED : KL_OK;
}

/* The JSON of a value of the text, as the tree writes it. */
static char *json_of(const char *value, const char *end)
{
    size_t length = (size_t)(kl_cursor_skip(value, end) - value);
    kl_doc *doc = kl_doc_parse(value, length, NULL);
    char *json;

    assert_non_null(doc);
    json = kl_value_json(kl_doc_root(doc), NULL, NULL);
    kl_doc_unref(doc);
    return json;
}

static bool note_place(void *context, size_t i, const char *value)
{
    world *self = context;
    found *to = &self->of_text[i];

    assert_true(to->wanted == 0 || to->count < to->wanted);
    note(to, json_of(value, self->end));
    return to->count != to->wanted;
}

static void forget_places(void *context)
{
    world *self = context;

    for (size_t i = 0; i < self->count; i++) {
        while (self->of_text[i].count > 0) {
            kl_free(self->of_text[i].values[--self->of_text[i].count]);
        }
    }
}

static void compare(found *a, found *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->values[i], b->values[i]);
        kl_free(a->values[i]);
        kl_free(b->values[i]);
    }
    a->count = b->count = 0;
}

/* kl_cursor_paths finds the first value at each path. */
static void finds_the_first(const world *self, kl_doc *doc, const char *text)
{
    const char *places[KL_CURSOR_PATHS];

    kl_cursor_paths((const kl_path *const *)self->paths, self->count, text,
                    self->end, places);
    for (size_t i = 0; i < self->count; i++) {
        const kl_value *value = kl_path_first(self->paths[i], kl_doc_root(doc));
        char *expected, *json;

        assert_true((value == NULL) == (places[i] == NULL));
        if (value == NULL) {
            continue;
        }
        expected = kl_value_json(value, NULL, NULL);
        json = json_of(places[i], self->end);
        assert_string_equal(json, expected);
        kl_free(expected);
        kl_free(json);
    }
}

static void finds_the_same(world *self, const char *text, size_t length)
{
    kl_doc *doc = kl_doc_parse(text, length, NULL);
    kl__search search = {.paths = (const kl_path *const *)self->paths,
                         .count = self->count,
                         .take = note_place,
                         .forget = forget_places,
                         .context = self};

    assert_non_null(doc);
    self->end = text + length;
    for (size_t i = 0; i < self->count; i++) {
        size_t wanted = next_random() % 3;

        self->of_tree[i].wanted = self->of_text[i].wanted = wanted;
        kl_path_each(self->paths[i], kl_doc_root(doc), note_value,
                     &self->of_tree[i]);
    }
    assert_true(kl__search_run(&search, text, self->end));
    finds_the_first(self, doc, text);
    for (size_t i = 0; i < self->count; i++) {
        compare(&self->of_tree[i], &self->of_text[i]);
    }
    kl_doc_unref(doc);
}

static kl_path *random_path(void)
{
    static const char *const steps[] = {
        "[\"a\"]",     "[\"a\"]", "[\"b\"]",    "[\"nodeName\"]",
        "[\"a.b/c\"]", "[\"\"]",  "[\"\\\\\"]", "[\"\\\"}\"]",
        "[*]",         "[*]",     "[*]",        "[1]",
        "[2]",         "[3]"};
    char text[100] = "";
    kl_path *path;

    do {
        strcat(text, steps[next_random() % (sizeof(steps) / sizeof(*steps))]);
    } while (next_random() % 3 != 0 && strlen(text) < 60);
    path = kl_path_parse(text, NULL);
    assert_non_null(path);
    return path;
}

static void many_paths_find_what_each_finds_in_the_tree(void **state)
{
    static char text[SEARCHED + 1];
    static world self;

    (void)state;
    for (int i = 0; i < SEARCHES; i++) {
        size_t length = random_json(text, SEARCHED);

        text[length] = '\0';
        self.count =
            1 + (i % 50 == 0 ? KL__SEARCH_MOST - 1 : next_random() % 6);
        for (size_t at = 0; at < self.count; at++) {
            self.paths[at] = random_path();
        }
        finds_the_same(&self, text, length);
        for (size_t at = 0; at < self.count; at++) {
            kl_path_free(self.paths[at]);
        }
    }
}

static void one_path_that_leads_into_another_finds_both(void **state)
{
    static const char text[] =
        "{\"spec\":{\"a\":[{\"b\":1,\"b\":2},{\"b\":null},7]},\"spec\":3}";
    static const char *const paths[] = {"spec",      "spec.a",
                                        "spec.a[*]", "spec.a[*].b",
                                        "spec.a[1]", "spec.a[1].b"};
    static world self;

    (void)state;
    self.count = sizeof(paths) / sizeof(paths[0]);
    for (size_t i = 0; i < self.count; i++) {
        self.paths[i] = kl_path_parse(paths[i], NULL);
    }
    for (int i = 0; i < 100; i++) { /* with other numbers of wanted values */
        finds_the_same(&self, text, sizeof(text) - 1);
    }
    for (size_t i = 0; i < self.count; i++) {
        kl_path_free(self.paths[i]);
    }
}

enum { SKIPPED = 400, SKIPS = 20000, DEEP = 3 * KL_MAX_DEPTH };

static const kl__skip_way ways[] = {KL__SKIP_BEST, KL__SKIP_16, KL__SKIP_32,
                                    KL__SKIP_64};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

typedef struct skipped {
    kl__skip_result result;
    size_t at;
    size_t spaces;
} skipped;

static skipped skip_by(kl__skip_way way, const char *text, size_t length,
                       size_t chunk)
{
    kl__skip_levels levels;
    kl__skip self;
    const char *at = text;
    skipped end = {.result = KL__SKIP_MORE};

    memset(&self, 0x5a, sizeof(self)); /* begin sets what matters */
    assert_true(kl__skip_begin(&self, &levels, text[0]));
    self.way = way;
    while (end.result == KL__SKIP_MORE && at < text + length) {
        size_t left = length - (size_t)(at - text);

        end.result =
            kl__skip_run(&self, &at, at + (chunk < left ? chunk : left));
    }
    end.at = (size_t)(at - text);
    end.spaces = self.spaces;
    return end;
}

static skipped skip_in(const char *text, size_t length, size_t chunk)
{
    return skip_by(KL__SKIP_BEST, text, length, chunk);
}

static void is_the_same_in_any_chunks(const char *text, size_t length)
{
    const size_t chunks[] = {63, 64, 65, 100, 129, length};
    skipped one = skip_in(text, length, 1);

    for (size_t i = 0; i < WAYS * sizeof(chunks) / sizeof(chunks[0]); i++) {
        kl__skip_way way = ways[i % WAYS];
        skipped other;

        if (way != KL__SKIP_BEST && !kl__skip_has(way)) {
            continue;
        }
        other = skip_by(way, text, length, chunks[i / WAYS]);
        assert_int_equal(other.result, one.result);
        assert_int_equal(other.at, one.at);
        assert_int_equal(other.spaces, one.spaces);
    }
}

/* Bytes of any kind: much of it is no JSON. */
static void blocks_and_single_bytes_find_the_same_end(void **state)
{
    static const char kinds[] = "{}[]\"\"\"\\\\ \t\n\r,:0az;\x7f\xfb\xdb";
    char text[SKIPPED];

    (void)state;
    srandom(4);
    for (int i = 0; i < SKIPS; i++) {
        /* The more of these are left out, the later it goes wrong. */
        size_t first = (size_t)random() % 10;

        text[0] = '{';
        for (size_t at = 1; at < SKIPPED; at++) {
            size_t kind = (size_t)random() % (sizeof(kinds) - 1 - first);

            text[at] = kinds[first + kind];
        }
        is_the_same_in_any_chunks(text, SKIPPED);
    }
}

/* Appends a random value; always less than a third of what is left. */
static size_t value(char *out, size_t room)
{
    static const char *const atoms[] = {
        "12",       "\"\"",       " null ", "\"a \\\" } \\\\\"",
        "\"\\\\\"", "\"{[ \n]\"", "{ }",    "\"some text of more length\""};
    size_t used = 0;
    char close = random() % 2 == 0 ? '}' : ']';

    if (room < 90 || random() % 4 == 0) {
        const char *atom = atoms[(size_t)random() % 8];

        memcpy(out, atom, strlen(atom));
        return strlen(atom);
    }
    out[used++] = close == '}' ? '{' : '[';
    while (random() % 6 != 0 && room - used > 60) {
        used += value(out + used, (room - used) / 2);
        out[used++] = ',';
    }
    out[used++] = close;
    return used;
}

static void a_value_ends_at_its_last_bracket(void **state)
{
    char text[SKIPPED + 64];

    (void)state;
    srandom(5);
    for (int i = 0; i < SKIPS; i++) {
        size_t length = 1;

        text[0] = '[';
        while (length < SKIPPED / 2) {
            length += value(text + length, SKIPPED - length - 70);
            text[length++] = ',';
        }
        text[length++] = ']';
        memset(text + length, ' ', 64);
        assert_int_equal(skip_in(text, length + 64, SKIPPED + 64).at, length);
        assert_int_equal(skip_in(text, length + 64, SKIPPED + 64).result,
                         KL__SKIP_DONE);
        is_the_same_in_any_chunks(text, length + 64);
    }
}

/* Opens so many brackets of any kind, and closes them. `wrong`: the one that is
 * closed as another kind; returns where, or the length. */
static size_t put_nested(char *text, size_t depth, size_t wrong, size_t *length)
{
    char closing[KL_MAX_DEPTH];
    size_t at = 0, broken = 0;

    for (size_t i = 0; i < depth; i++) {
        bool is_brace = random() % 8 != 0;

        text[at++] = is_brace ? '{' : '[';
        closing[i] = is_brace ? '}' : ']';
        if (random() % 8 == 0) {
            text[at++] = ',';
        }
    }
    for (size_t i = depth; i-- > 0;) {
        broken = i == wrong ? at : broken;
        text[at++] = i != wrong ? closing[i] : closing[i] == '}' ? ']' : '}';
    }
    *length = at;
    return wrong < depth ? broken : at;
}

static void brackets_match_at_any_depth(void **state)
{
    const size_t depths[] = {2,   5,   62,  63,  64,  65,  66,
                             127, 128, 129, 200, 511, 1000};
    static char text[DEEP];

    (void)state;
    srandom(6);
    for (int i = 0; i < SKIPS / 10; i++) {
        size_t depth = depths[(size_t)i % (sizeof(depths) / sizeof(depths[0]))];
        size_t wrong = (size_t)random() % (2 * depth);
        size_t length;
        size_t end = put_nested(text, depth, wrong, &length);
        skipped one = skip_in(text, length, 1);

        assert_int_equal(one.at, end);
        assert_int_equal(one.result,
                         wrong < depth ? KL__SKIP_MISMATCH : KL__SKIP_DONE);
        is_the_same_in_any_chunks(text, length);
    }
}

static void a_string_value_ends_at_its_closing_quote(void **state)
{
    char text[SKIPPED];

    (void)state;
    memset(text, '[', SKIPPED);
    text[0] = '"';
    text[SKIPPED - 2] = '"';
    assert_int_equal(skip_in(text, SKIPPED, SKIPPED).at, SKIPPED - 1);
    is_the_same_in_any_chunks(text, SKIPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_documents_read_as_their_trees),
        cmocka_unit_test(a_document_of_one_scalar_is_read),
        cmocka_unit_test(deep_values_end_anywhere_in_a_block),
        cmocka_unit_test(names_with_escapes_match),
        cmocka_unit_test(the_last_member_of_a_name_counts),
        cmocka_unit_test(a_search_tells_what_it_has_passed_by),
        cmocka_unit_test(lookups_chain_over_what_is_absent),
        cmocka_unit_test(a_walk_may_leave_a_value_early),
        cmocka_unit_test(many_paths_find_what_each_finds_in_the_tree),
        cmocka_unit_test(one_path_that_leads_into_another_finds_both),
        cmocka_unit_test(blocks_and_single_bytes_find_the_same_end),
        cmocka_unit_test(a_value_ends_at_its_last_bracket),
        cmocka_unit_test(brackets_match_at_any_depth),
        cmocka_unit_test(a_string_value_ends_at_its_closing_quote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
