/*
 * view_tree.c - opens the parsed tree of an object that a script reads, and
 * finds in it what a view was made of in the text.
 */
#include "view.h"

/* How much larger than its text the tree of an object is: 16 bytes a value,
 * and the text once more. Measured: 14.9 KB for a Pod of 6.9 KB. */
enum { TREE_SHARE = 2 };

static const kl_value *open_whole(lua_State *L, view *self)
{
    kl_object *object = object_of(L, self);
    kl_error err;

    self->at.value = kl_object_open(object, &err);
    if (self->at.value == NULL) {
        misuse(L, "%s: %s", kl_object_key(object), err.message);
    }
    account_charge(L, self->whole, TREE_SHARE * kl_object_json_length(object));
    return self->at.value;
}

/* So many levels are gone down with most of the text skipped, which takes the
 * longer the more levels there are. */
enum { LEVELS = 32 };

/* Goes down the tree and its text, in step, to the value that stands at
 * `wanted`. */
static const kl_value *descend(const kl_value *value, const char *at,
                               const char *end, const char *wanted)
{
    for (int levels = 0; at != wanted; levels++) {
        const kl_value *item;
        kl_value_iter iter = {0};
        kl_cursor walk;

        if (levels == LEVELS) {
            return kl_cursor_in_tree(value, at, wanted);
        }
        kl_cursor_begin(&walk, at, end);
        do {
            if (!kl_cursor_next(&walk)) {
                return NULL;
            }
            item = kl_value_next(value, &iter, NULL);
            walk.at = kl_cursor_skip(walk.value, end);
        } while (walk.at <= wanted);
        value = item;
        at = walk.value;
    }
    return value;
}

const kl_value *opened(lua_State *L, view *self)
{
    view *root = &self->whole->view;
    const char *text;

    object_of(L, self);
    if (root->at.value == NULL) {
        open_whole(L, root);
    }
    if (self->at.value == NULL && self->at.offset == METADATA) {
        self->at.value = kl_value_get(root->at.value, "metadata");
    } else if (self->at.value == NULL) {
        text = open_text(L, self->whole);
        self->at.value = descend(root->at.value, text, end_of_text(self->whole),
                                 text + self->at.offset);
    }
    return self->at.value;
}
