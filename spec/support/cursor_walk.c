/*
 * cursor_walk.c - see cursor_walk.h.
 */
#include "cursor_walk.h"

#include "json/cursor.h"
#include "json/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The text, in a block of its size and a NUL: a sanitizer sees a read beyond
 * it. */
typedef struct walker {
    const char *end;
    const char *wrong; /* the first claim that does not hold */
} walker;

#define CLAIM(self, claim)                      \
    ((claim) || (self)->wrong != NULL ? (void)0 \
                                      : (void)((self)->wrong = #claim))

static void check_number(walker *self, const kl_value *tree,
                         const kl_value *read)
{
    double a = kl_value_real(tree), b = kl_value_real(read);

    CLAIM(self, memcmp(&a, &b, sizeof(a)) == 0);
    CLAIM(self, kl_value_integer(tree) == kl_value_integer(read));
    CLAIM(self, kl_value_unsigned(tree) == kl_value_unsigned(read));
}

/* A string, or a number that stays text. */
static void check_text(walker *self, const kl_value *tree, const kl_value *read)
{
    size_t length, other;
    const char *text = kl_value_string(tree, &length);
    const char *found = kl_value_string(read, &other);

    CLAIM(self, length == other);
    CLAIM(self, (text == NULL) == (found == NULL));
    CLAIM(self,
          length != other || length == 0 || memcmp(text, found, length) == 0);
}

static void check_string(walker *self, const kl_value *tree, const char *at)
{
    size_t room = (size_t)(kl_cursor_skip(at, self->end) - at), length;
    const char *text = kl_value_string(tree, &length);
    char *decoded = malloc(room - 2);
    size_t written = kl_cursor_decode(at, self->end, decoded);
    kl_scalar scalar;

    check_text(self, tree, kl__cursor_string(decoded, written, &scalar));
    CLAIM(self, kl__cursor_is(at, self->end, text, length));
    CLAIM(self, !kl__cursor_is(at, self->end, text, length + 1));
    CLAIM(self, length == 0 || !kl__cursor_is(at, self->end, text, length - 1));
    CLAIM(self, memchr(at, '\\', room) == NULL ||
                    kl_cursor_scalar(at, self->end, &scalar) == NULL);
    free(decoded);
}

static void check_scalar(walker *self, const kl_value *tree, const char *at)
{
    kl_scalar room;
    const kl_value *read = kl_cursor_scalar(at, self->end, &room);

    if (kl_value_type(tree) == KL_STRING) {
        check_string(self, tree, at);
        if (read == NULL) {
            return;
        }
    }
    CLAIM(self, read != NULL);
    CLAIM(self, kl_value_type(tree) == kl_value_type(read));
    CLAIM(self, kl_value_bool(tree) == kl_value_bool(read));
    check_number(self, tree, read);
    check_text(self, tree, read);
}

/* Any of the ways to find the end of a container, from behind its bracket. */
static void check_ends(walker *self, const char *at, const char *behind)
{
    for (kl__skip_way way = KL__SKIP_16; way <= KL__SKIP_64; way++) {
        if (kl__skip_has(way)) {
            CLAIM(self, kl__cursor_leave_by(way, at, self->end) == behind);
        }
    }
}

/* Returns the end of the value. */
static const char *walk_value(walker *self, const kl_value *tree,
                              const char *at);

/* An array or object, in the tree and in the text. */
typedef struct parent {
    const kl_value *tree;
    const char *at;
} parent;

static void walk_part(walker *self, const parent *of, const kl_value *value,
                      kl_cursor *part, size_t index)
{
    const char *behind = kl_cursor_skip(part->value, self->end);

    CLAIM(self, walk_value(self, value, part->value) == behind);
    if (index % 2 == 0) {
        part->at = behind;
    }
    if (*of->at == '[' && index < 40) {
        CLAIM(self, kl_cursor_element(of->at, self->end, index) == part->value);
    }
}

/* The member's name finds it, unless an earlier member has the same name. */
static void walk_name(walker *self, const parent *of, const kl_value *value,
                      const kl_value *key, const kl_cursor *part)
{
    size_t length;
    const char *name = kl_value_string(key, &length);
    const char *found = kl_cursor_member(of->at, self->end, name, length);

    check_string(self, key, part->name);
    CLAIM(self, found != NULL);
    CLAIM(self, (kl_value_get_n(of->tree, name, length) == value) ==
                    (found == part->value));
}

static const char *walk_parts(walker *self, const parent *of)
{
    const kl_value *key, *value;
    kl_value_iter iter = {0};
    const char *behind;
    kl_cursor part;
    size_t index = 0;

    kl_cursor_begin(&part, of->at, self->end);
    while (self->wrong == NULL &&
           (value = kl_value_next(of->tree, &iter, &key)) != NULL) {
        CLAIM(self, kl_cursor_next(&part));
        CLAIM(self, (key != NULL) == (part.name != NULL));
        if (self->wrong == NULL && key != NULL) {
            walk_name(self, of, value, key, &part);
        }
        if (self->wrong == NULL) {
            walk_part(self, of, value, &part, index++);
        }
    }
    CLAIM(self, !kl_cursor_next(&part));
    CLAIM(self, kl_cursor_element(of->at, self->end, index) == NULL);
    behind = part.at;
    CLAIM(self, !kl_cursor_next(&part)); /* nor is there one later */
    CLAIM(self, part.at == behind);
    check_ends(self, of->at + 1, behind);
    return behind;
}

static const char *walk_value(walker *self, const kl_value *tree,
                              const char *at)
{
    kl_cursor part;
    kl_scalar room;

    CLAIM(self, (*at == '{') == (kl_value_type(tree) == KL_OBJECT));
    CLAIM(self, (*at == '[') == (kl_value_type(tree) == KL_ARRAY));
    if (*at == '{' || *at == '[') {
        CLAIM(self, kl_cursor_scalar(at, self->end, &room) == NULL);
        return walk_parts(self, &(parent){tree, at});
    }
    check_scalar(self, tree, at);
    kl_cursor_begin(&part, at, self->end);
    CLAIM(self, !kl_cursor_next(&part));
    CLAIM(self, kl_cursor_member(at, self->end, "", 0) == NULL);
    CLAIM(self, kl_cursor_element(at, self->end, 0) == NULL);
    return kl_cursor_skip(at, self->end);
}

const char *cursor_walk(const char *json, size_t length, const kl_value *tree)
{
    char *compact = malloc(length + 1), *text;
    walker self = {0};
    kl_scalar room;

    length = kl__text_compact(compact, json, length);
    text = malloc(length + 1);
    memcpy(text, compact, length);
    text[length] = '\0';
    free(compact);
    self.end = text + length;
    CLAIM(&self, walk_value(&self, tree, text) == self.end);
    CLAIM(&self,
          kl_value_type(kl_cursor_scalar(NULL, self.end, &room)) == KL_NULL);
    CLAIM(&self, kl_cursor_member(NULL, self.end, "a", 1) == NULL);
    CLAIM(&self, kl_cursor_element(NULL, self.end, 0) == NULL);
    free(text);
    return self.wrong;
}
