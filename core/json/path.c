/*
 * path.c - compiles and evaluates paths such as spec.containers[*].image. A
 * step is a member's name, an index, or [*] for all elements. Scripts read
 * fields with paths, and indexes by path are computed with them. A path in
 * kubectl's form ("{.metadata.name}", "labels.app\.kubernetes\.io/name") is
 * refused, as some of them would parse but match nothing; the message shows the
 * same path in our form.
 */
#include "json/path.h"

#include "base/caret.h"
#include "base/mem.h"
#include "json/distinct.h"

#include <stdio.h>
#include <string.h>

/* A rewrite in progress. `right` has a fixed size, and text that does not fit
 * is cut: it is only used in an error message. */
typedef struct rewriting {
    const char *text;
    const char *at;
    bool is_jsonpath; /* "{.a}", "$.a", ".a": indexes count from 0 */
    bool is_foreign;
    size_t foreign_at;
    char *right;
    size_t size;
    size_t length;
} rewriting;

static void put_byte(rewriting *self, char byte)
{
    if (self->length + 1 < self->size) {
        self->right[self->length++] = byte;
        self->right[self->length] = '\0';
    }
}

static void put_text(rewriting *self, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        put_byte(self, text[i]);
    }
}

static void note_foreign(rewriting *self, const char *at)
{
    if (!self->is_foreign) {
        self->is_foreign = true;
        self->foreign_at = (size_t)(at - self->text);
    }
}

/* The end of a name without quotes. A backslash escapes the byte behind it. */
static const char *end_of_name(const char *at)
{
    while (*at != '\0' && strchr(".[]}", *at) == NULL) {
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    }
    return at;
}

/* Writes ["a.b/c"], without the backslashes. */
static void put_quoted(rewriting *self, const char *from, const char *end)
{
    put_text(self, "[\"", 2);
    for (; from < end; from++) {
        if (*from != '\\') {
            put_byte(self, *from);
        }
    }
    put_text(self, "\"]", 2);
}

/* True if the path written so far ends in metadata.labels or
 * metadata.annotations. The values in both are strings, so the rest of the path
 * is one key. */
static bool is_behind_labels(const rewriting *self)
{
    static const char *const maps[] = {"metadata.labels",
                                       "metadata.annotations"};

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        size_t length = strlen(maps[i]);

        if (self->length >= length &&
            strcmp(self->right + self->length - length, maps[i]) == 0 &&
            (self->length == length ||
             self->right[self->length - length - 1] == '.')) {
            return true;
        }
    }
    return false;
}

/* `end` is where a name ends. Behind labels, the name is the beginning of a key
 * with dots, which look like separators: returns the end of the whole key. */
static const char *end_of_label(const rewriting *self, const char *end)
{
    if (!is_behind_labels(self)) {
        return end;
    }
    while (*end == '.') {
        end = end_of_name(end + 1);
    }
    return end;
}

static void put_name(rewriting *self)
{
    const char *name = self->at;
    const char *end = end_of_name(name);
    const char *label_end = end_of_label(self, end);
    const char *backslash = memchr(name, '\\', (size_t)(label_end - name));

    if (label_end != end || backslash != NULL) {
        note_foreign(self, backslash != NULL ? backslash : end);
        put_quoted(self, name, label_end);
    } else {
        put_text(self, self->length > 0 ? "." : "", self->length > 0 ? 1 : 0);
        put_text(self, name, (size_t)(end - name));
    }
    self->at = label_end;
}

/* "[0]" in JSONPath is "[1]" in our form; quotes and * are the same. */
static void put_bracket(rewriting *self)
{
    const char *from = self->at;
    size_t digits = strspn(from + 1, "0123456789");
    char quote = from[1] == '"' || from[1] == '\'' ? from[1] : '\0';
    unsigned number;

    if (self->is_jsonpath && digits > 0 && digits < 9 &&
        sscanf(from + 1, "%u", &number) == 1) {
        char text[16];
        int length = snprintf(text, sizeof(text), "[%u", number + 1);

        put_text(self, text, (size_t)length);
        self->at += 1 + digits;
        return;
    }
    self->at += quote != '\0' ? 2 : 1;
    while (*self->at != '\0' && *self->at != (quote != '\0' ? quote : ']')) {
        self->at += *self->at == '\\' && self->at[1] != '\0' ? 2 : 1;
    }
    self->at += quote != '\0' && *self->at == quote ? 1 : 0;
    put_text(self, from, (size_t)(self->at - from));
}

/*
 * True if `text` is in kubectl's form. Then `at` gets the position of the
 * character that shows it, and `right` the path in our form, cut to `size`
 * bytes. `right` may still be wrong: the caller must check that it parses.
 */
static bool read_foreign(const char *text, size_t *at, char *right, size_t size)
{
    rewriting self = {.text = text, .at = text, .right = right, .size = size};

    right[0] = '\0';
    self.at += strspn(text, "{$.");
    if (self.at != text) {
        self.is_jsonpath = true;
        note_foreign(&self, text);
    }
    while (*self.at != '\0') {
        if (*self.at == '[') {
            put_bracket(&self);
        } else if (*self.at == ']') {
            put_byte(&self, *self.at++);
        } else if (*self.at == '.' || *self.at == '}') {
            self.at++;
        } else {
            put_name(&self);
        }
    }
    *at = self.foreign_at;
    return self.is_foreign;
}

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

static kl__path_step *add_step(parser *self, kl__step_kind kind)
{
    kl__path_step *added = &self->path->steps[self->path->count++];

    *added = (kl__path_step){.kind = kind, .name = self->names};
    return added;
}

static kl_code parse_name(parser *self)
{
    kl__path_step *added = add_step(self, KL__STEP_NAME);

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
    kl__path_step *added = add_step(self, KL__STEP_NAME);
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
    kl__path_step *added = add_step(self, KL__STEP_INDEX);
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
    size_t steps = most_steps(text) * sizeof(kl__path_step);
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

    if (read_foreign(text, &position, right, sizeof(right))) {
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
    const kl__path_step *first = &path->steps[0]; /* every path has a step */

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
        const kl__path_step *next = &path->steps[i];

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
