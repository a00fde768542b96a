/*
 * path.c - compiles and evaluates paths such as spec.containers[*].image. A
 * step is a member's name, an index, or [*] for all elements. Scripts read
 * fields with paths, and indexes by path are computed with them.
 */
#include "json/path.h"

#include "base/caret.h"
#include "base/mem.h"
#include "json/distinct.h"
#include "json/path_form.h"

#include <string.h>

enum { RIGHT_SIZE = 200 };

typedef struct parser {
    const char *text;
    const char *at;
    char *names; /* where the next name goes */
    kl_path *path;
    int stars; /* [*] so far */
    kl_error *err;
} parser;

static kl_code fail_at(const parser *self, const char *at, const char *message)
{
    kl__caret where = {"path", self->text, (size_t)(at - self->text)};

    return kl__caret_error(self->err, &where, "%s", message);
}

static kl__step *add_step(parser *self, kl__step_kind kind)
{
    kl__step *added = &self->path->steps[self->path->count++];

    *added = (kl__step){.kind = kind, .name = self->names};
    return added;
}

static kl_code parse_name(parser *self)
{
    kl__step *added = add_step(self, KL__STEP_NAME);

    added->length = strcspn(self->at, ".[]\"'* ");
    if (added->length == 0) {
        return fail_at(self, self->at, "expected a field's name");
    }
    memcpy(self->names, self->at, added->length);
    self->names += added->length;
    self->at += added->length;
    if (*self->at != '\0' && *self->at != '.' && *self->at != '[') {
        return fail_at(self, self->at,
                       "expected \".\", \"[\" or the end; a name with other "
                       "characters is written [\"name\"]");
    }
    return KL_OK;
}

static kl_code parse_quoted(parser *self)
{
    kl__step *added = add_step(self, KL__STEP_NAME);
    const char *opening = self->at;

    for (self->at++; *self->at != *opening; self->at++) {
        if (*self->at == '\\' && self->at[1] != '\0') {
            self->at++;
        }
        if (*self->at == '\0') {
            return fail_at(self, opening, "this quote is never closed");
        }
        *self->names++ = *self->at;
    }
    self->at++;
    added->length = (size_t)(self->names - added->name);
    return KL_OK;
}

static kl_code parse_index(parser *self)
{
    kl__step *added = add_step(self, KL__STEP_INDEX);
    const char *first = self->at;
    size_t number = 0;

    for (; *self->at >= '0' && *self->at <= '9'; self->at++) {
        if (number > (SIZE_MAX - 9) / 10) {
            return fail_at(self, first, "this index is too large");
        }
        number = number * 10 + (size_t)(*self->at - '0');
    }
    if (number == 0) {
        return fail_at(self, first, "elements are counted from 1, as in Lua");
    }
    added->index = number - 1;
    return KL_OK;
}

/* self->at is behind the opening bracket. */
static kl_code parse_bracket(parser *self)
{
    kl_code code = KL_OK;

    if (*self->at == '*') {
        if (self->stars++ == KL__PATH_STARS) {
            return fail_at(self, self->at, "more than 32 [*] in one path");
        }
        add_step(self, KL__STEP_ALL);
        self->at++;
    } else if (*self->at == '"' || *self->at == '\'') {
        code = parse_quoted(self);
    } else if (*self->at >= '0' && *self->at <= '9') {
        code = parse_index(self);
    } else {
        return fail_at(self, self->at, "expected *, an index or a quoted name");
    }
    if (code == KL_OK && *self->at++ != ']') {
        return fail_at(self, self->at - 1, "expected \"]\"");
    }
    return code;
}

static kl_code parse_steps(parser *self)
{
    kl_code code = KL_OK;

    if (*self->at != '[') {
        code = parse_name(self);
    }
    while (code == KL_OK && *self->at != '\0') {
        char separator = *self->at++;

        if (separator == '[') {
            code = parse_bracket(self);
        } else if (separator == '.') {
            code = parse_name(self);
        } else {
            return fail_at(self, self->at - 1,
                           "expected \".\", \"[\" or the end");
        }
    }
    return code;
}

/* An upper bound of the number of steps: each step but the first has a
 * separator. */
static size_t most_steps(const char *text)
{
    size_t count = 1;

    for (; *text != '\0'; text++) {
        count += *text == '.' || *text == '[' ? 1 : 0;
    }
    return count;
}

static kl_path *parse_path(const char *text, kl_error *err)
{
    size_t length = strlen(text);
    size_t steps = most_steps(text) * sizeof(kl__step);
    kl_path *path = kl__malloc(sizeof(*path) + steps + 2 * (length + 1));
    parser self = {.text = text, .at = text, .path = path, .err = err};

    if (path == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory compiling a path");
        return NULL;
    }
    path->count = 0;
    path->bytes = (char *)path + sizeof(*path) + steps;
    memcpy(path->bytes, text, length + 1);
    self.names = path->bytes + length + 1;
    if (parse_steps(&self) != KL_OK) {
        kl__free(path);
        return NULL;
    }
    return path;
}

/* The error for a path in kubectl's form; the message says how to write it
 * here. */
static void refuse_foreign(const char *text, size_t position, const char *right,
                           kl_error *err)
{
    kl__caret where = {"path", text, position};
    kl_path *path = parse_path(right, NULL);

    kl__caret_error(err, &where,
                    "this is kubectl's form; write %s, a key with dots as "
                    "labels[\"app.kubernetes.io/name\"]",
                    path != NULL ? right : "fields as spec.nodeName");
    kl_path_free(path);
}

kl_path *kl_path_parse(const char *text, kl_error *err)
{
    char right[RIGHT_SIZE];
    size_t position;

    if (kl__path_is_foreign(text, &position, right, sizeof(right))) {
        refuse_foreign(text, position, right, err);
        return NULL;
    }
    return parse_path(text, err);
}

void kl_path_free(kl_path *path)
{
    kl__free(path);
}

const char *kl_path_text(const kl_path *path)
{
    return path->bytes;
}

bool kl_path_begins_with(const kl_path *path, const char *name)
{
    const kl__step *first = &path->steps[0]; /* every path has a step */

    return first->kind == KL__STEP_NAME && first->length == strlen(name) &&
           memcmp(first->name, name, first->length) == 0;
}

/* The callback for each value that is found. */
typedef struct visitor {
    kl_path_fn fn;
    void *context;
} visitor;

static kl_code visit_steps(const kl_path *path, size_t from,
                           const kl_value *value, const visitor *to);

/* Goes on with each element, or each member that counts. */
static kl_code visit_all(const kl_path *path, size_t from,
                         const kl_value *value, const visitor *to)
{
    kl_value_iter iter = {0};
    const kl_value *element;
    kl__replaced replaced;
    kl_code code = KL_OK;

    if (!kl__replaced_in_tree(&replaced, value)) {
        return KL_ENOMEM;
    }
    while (code == KL_OK &&
           (element = kl_value_next(value, &iter, NULL)) != NULL) {
        if (!kl__replaced_has(&replaced, iter.index - 1)) {
            code = visit_steps(path, from, element, to);
        }
    }
    kl__replaced_deinit(&replaced);
    return code;
}

/* Recurses at [*] only, so at most KL__PATH_STARS deep. */
static kl_code visit_steps(const kl_path *path, size_t from,
                           const kl_value *value, const visitor *to)
{
    for (size_t i = from; i < path->count && value != NULL; i++) {
        const kl__step *next = &path->steps[i];

        if (next->kind == KL__STEP_NAME) {
            value = kl_value_get_n(value, next->name, next->length);
            continue;
        }
        if (next->kind == KL__STEP_INDEX) {
            value = kl_value_at(value, next->index);
            continue;
        }
        return visit_all(path, i + 1, value, to);
    }
    if (kl_value_type(value) == KL_NULL) {
        return KL_OK;
    }
    return to->fn(to->context, value);
}

kl_code kl_path_each(const kl_path *path, const kl_value *root, kl_path_fn fn,
                     void *context)
{
    visitor to = {fn, context};

    return visit_steps(path, 0, root, &to);
}

static kl_code take_first(void *context, const kl_value *value)
{
    const kl_value **first = context;

    *first = value;
    return KL_ECANCELED; /* stops the iteration; the code is dropped */
}

const kl_value *kl_path_first(const kl_path *path, const kl_value *root)
{
    const kl_value *first = NULL;

    kl_path_each(path, root, take_first, &first);
    return first;
}
