/*
 * search_spec.c - a search over a text finds at each path what kl_path_each
 * finds in the tree, however many paths there are.
 */
#include "json/search.h"

#include "json/cursor.h"
#include "kubelua/memory.h"
#include "random_json.h"
#include "xorshift.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 4000, TEXTS = 2000, MOST_VALUES = 400 };

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
    static char text[LENGTH + 1];
    static world self;

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t length = random_json(text, LENGTH);

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_paths_find_what_each_finds_in_the_tree),
        cmocka_unit_test(one_path_that_leads_into_another_finds_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
