/*
 * view_text.c - finds the values of an object that a script reads: members and
 * elements, in its text or in its parsed tree. A cache keeps its objects
 * compressed, so texts that were unpacked stay open for the next reads: the
 * last few of a lua_State, until others replace them, their userdata are
 * collected, or the loop waits. See view.h.
 */
#include "view.h"

#include <string.h>

/* ---- the text ---- */

enum {
    OPEN = 4,        /* texts that are open at most */
    ROOM = 256 << 10 /* bytes of them all; a longer text is open alone */
};

/*
 * When a tree pays. All costs are counted in bytes of text that a search passes
 * by: TREE for each byte of the text to unpack and parse it (and for the
 * memory, which stays until the collector runs), STEP for each search, which
 * takes longer than in a tree wherever the value stands.
 */
enum { TREE = 8, STEP = 256 };

/* A part is near if it has at most this share of the text, and so many bytes:
 * a search in it is about as short as one in a tree. */
enum { NEAR_SHARE = 8, NEAR = 4 << 10 };

struct texts {
    whole *open[OPEN]; /* `next` is the oldest */
    size_t next;
    size_t bytes;
};

texts *push_open_texts(lua_State *L)
{
    static const char address = 0;

    return push_kept(L, &address, sizeof(texts));
}

static void close_slot(texts *self, size_t slot)
{
    whole *owner = self->open[slot];

    if (owner != NULL) {
        self->open[slot] = NULL;
        self->bytes -= kl_object_json_length(owner->object);
        owner->text = NULL;
        kl_object_close_json(owner->object);
    }
}

void texts_release(texts *self, whole *owner)
{
    for (size_t i = 0; owner->text != NULL && i < OPEN; i++) {
        if (self->open[i] == owner) {
            close_slot(self, i);
        }
    }
}

void texts_close(lua_State *L)
{
    texts *self = push_open_texts(L);

    lua_pop(L, 1);
    for (size_t i = 0; i < OPEN; i++) {
        close_slot(self, i);
    }
}

/* Closes the oldest text, and others until there is room. */
static void make_room(texts *self, size_t length)
{
    for (size_t i = 0; i < OPEN; i++) {
        if (i == 0 || self->bytes + length > ROOM) {
            close_slot(self, (self->next + i) % OPEN);
        }
    }
}

static void open_another(lua_State *L, whole *owner)
{
    kl_object *object = object_of(L, &owner->view);
    size_t length = kl_object_json_length(object);
    texts *self = push_open_texts(L);
    kl_error err;

    lua_pop(L, 1);
    make_room(self, length);
    owner->text = kl_object_json(object, NULL, &err);
    if (owner->text == NULL) {
        misuse(L, "%s: %s", kl_object_key(object), err.message);
    }
    self->open[self->next] = owner;
    self->next = (self->next + 1) % OPEN;
    self->bytes += length;
    if (owner->was_read) {
        owner->patience -= (int64_t)length;
    } else {
        owner->was_read = true;
        owner->patience = TREE * (int64_t)length;
    }
}

const char *open_text(lua_State *L, whole *owner)
{
    if (owner->text == NULL) {
        open_another(L, owner);
    }
    return owner->text;
}

const char *end_of_text(const whole *owner)
{
    return owner->text + kl_object_json_length(owner->object);
}

/* Finds a member of a whole object, or of its metadata. Neither has a name
 * twice (kl_object_parse), so the first member of the name is the one. */
static const char *find_in_head(const char *value, const char *end,
                                const char *name, size_t length)
{
    kl_cursor walk;

    kl_cursor_begin(&walk, value, end);
    while (kl_cursor_next(&walk)) {
        if ((size_t)(walk.value - walk.name) == length + strlen("\"\":") &&
            memcmp(walk.name + 1, name, length) == 0 &&
            memchr(name, '\\', length) == NULL) {
            return walk.value;
        }
    }
    return kl_cursor_member(value, end, name, length); /* with escapes */
}

const char *locate(lua_State *L, const view *self)
{
    const char *text = open_text(L, self->whole);

    return self->at.offset != METADATA
               ? text + self->at.offset
               : find_in_head(text, end_of_text(self->whole), "metadata",
                              strlen("metadata"));
}

bool is_near(const view *self)
{
    const whole *owner = self->whole;
    const char *at, *end;
    size_t most;

    if (owner->text == NULL || self == &owner->view ||
        self->at.offset == METADATA) {
        return false;
    }
    at = owner->text + self->at.offset;
    end = end_of_text(owner);
    most = (size_t)(end - owner->text) / NEAR_SHARE;
    most = most < NEAR ? most : NEAR;
    /* Not further than necessary: the part may be megabytes long. */
    if ((size_t)(end - at) > most + 1) {
        end = at + most + 1;
    }
    return (size_t)(kl_cursor_skip(at, end) - at) <= most;
}

/* Counts what a search from `from` to `last` has passed by; NULL: something
 * was not found. */
static void count_search(whole *owner, const char *from, const char *last)
{
    owner->patience -= STEP;
    if (last != NULL) {
        owner->patience -= last - from;
    } else { /* not known: a guess */
        owner->patience -= (int64_t)kl_object_json_length(owner->object) / 8;
    }
}

static place place_of(const whole *owner, const char *found)
{
    uint32_t offset = NOWHERE;

    if (found != NULL) {
        offset = (uint32_t)(found - owner->text);
    }
    return (place){NULL, offset};
}

place end_search(const view *self, const char *from, const char *found)
{
    count_search(self->whole, from, found);
    return place_of(self->whole, found);
}

place find_member_in_text(lua_State *L, const view *self, const char *name,
                          size_t length)
{
    const char *from = locate(L, self);
    bool is_head = self == &self->whole->view || self->at.offset == METADATA;
    const char *end = end_of_text(self->whole), *found, *passed;

    if (is_head) {
        return end_search(self, from, find_in_head(from, end, name, length));
    }
    found = kl_cursor_member_passed(from, end, name, length, &passed);
    count_search(self->whole, from, passed);
    return place_of(self->whole, found);
}

void find_paths_in_text(lua_State *L, const view *self,
                        const kl_path *const *paths, size_t count,
                        place *places)
{
    const char *from = locate(L, self), *last = from;
    const char *found[KL_CURSOR_PATHS];

    (self == &self->whole->view ? kl_cursor_object_paths : kl_cursor_paths)(
        paths, count, from, end_of_text(self->whole), found);
    for (size_t i = 0; i < count; i++) {
        if (last != NULL && (found[i] == NULL || found[i] > last)) {
            last = found[i];
        }
        places[i] = place_of(self->whole, found[i]);
    }
    count_search(self->whole, from, last);
}

/* Pushes a string that is long or has escapes. */
static void push_long_string(lua_State *L, whole *owner, uint32_t offset)
{
    const char *at = owner->text + offset;
    size_t length = (size_t)(kl_cursor_skip(at, end_of_text(owner)) - at);
    char *copy = lua_newuserdata(L, length);

    /* copy */
    at = open_text(L, owner) + offset; /* a finalizer may have closed it */
    length = kl_cursor_decode(at, end_of_text(owner), copy);
    lua_pushlstring(L, copy, length);
    lua_remove(L, -2);
}

bool push_text_scalar(lua_State *L, whole *owner, uint32_t offset)
{
    char copy[1024];
    const char *at = open_text(L, owner) + offset, *bytes;
    const kl_value *scalar;
    kl_scalar room;
    size_t length;
    view self = {owner, {NULL, offset}};

    if (*at == '{' || *at == '[') {
        return false;
    }
    scalar = kl_cursor_scalar(at, end_of_text(owner), &room);
    if (scalar != NULL && kl_value_type(scalar) == KL_NULL) {
        lua_pushnil(L);
        return true;
    }
    if (scalar != NULL && kl_value_type(scalar) == KL_NUMBER) {
        return push_scalar(L, opened(L, &self)); /* it borrows the digits */
    }
    if (scalar != NULL && kl_value_type(scalar) != KL_STRING) {
        return push_scalar(L, scalar);
    }
    bytes = kl_value_string(scalar, &length);
    if (scalar != NULL && length <= sizeof(copy)) {
        memcpy(copy, bytes, length);
        lua_pushlstring(L, copy, length);
    } else {
        push_long_string(L, owner, offset);
    }
    return true;
}

kl_doc **push_text_doc(lua_State *L, const view *self)
{
    kl_doc **guard = push_doc_guard(L);
    const char *from = locate(L, self);
    const char *stop = kl_cursor_skip(from, end_of_text(self->whole));
    kl_error err;

    /* guard */
    *guard = kl_doc_parse(from, (size_t)(stop - from), &err);
    if (*guard == NULL) {
        misuse(L, "%s: %s", kl_object_key(object_of(L, self)), err.message);
    }
    return guard;
}

void push_text_copy(lua_State *L, const view *self)
{
    kl_doc **guard = push_text_doc(L, self);

    /* guard */
    push_copy(L, kl_doc_root(*guard));
    kl_doc_unref(*guard);
    *guard = NULL;
    lua_remove(L, -2);
}

/* ---- the tree ---- */

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

const kl_value *to_value(lua_State *L, int index)
{
    view *self = test_view(L, index);

    return self != NULL ? opened(L, self) : NULL;
}

/* ---- elements ---- */

/*
 * An array has no table of its elements, neither in the text nor in the tree;
 * so those that were found last are remembered, and a loop from the first
 * element to the last takes one step for each.
 */

enum {
    ARRAYS = 4, /* for loops inside of loops */
    FIRST = 8,  /* up to here it is as well to count from the beginning */
    AHEAD = 64  /* elements of a tree that are passed by one after the other */
};

/* The element of an array that was found last. */
typedef struct visit {
    const whole *owner; /* NULL: of no array */
    place array;
    size_t number; /* from 0 */
    place element; /* neither in a tree nor in a text: nothing was found yet */
    /* In a tree: behind the element, and so `index` is number + 1. Or 0: it is
     * not known where the next element is. */
    kl_value_iter iter;
} visit;

struct visits {
    visit kept[ARRAYS];
    size_t oldest;
};

visits *push_visits(lua_State *L)
{
    static const char address = 0;

    return push_kept(L, &address, sizeof(visits));
}

void visits_release(visits *self, const whole *owner)
{
    for (size_t i = 0; i < ARRAYS; i++) {
        if (self->kept[i].owner == owner) {
            self->kept[i].owner = NULL;
        }
    }
}

static visit *visit_of(visits *self, const whole *owner, place array)
{
    visit *found;

    for (size_t i = 0; i < ARRAYS; i++) {
        found = &self->kept[i];
        if (found->owner == owner && found->array.value == array.value &&
            found->array.offset == array.offset) {
            return found;
        }
    }
    found = &self->kept[self->oldest];
    self->oldest = (self->oldest + 1) % ARRAYS;
    *found = (visit){.owner = owner, .array = array};
    return found;
}

/* Goes on to the element, if it is not far ahead, or if it is the next one of
 * one that was found without a walk. Else asks for it: that counts from the
 * beginning, or takes one step if all elements are scalars. */
static const kl_value *go_on_in_tree(visit *self, const kl_value *array,
                                     size_t number)
{
    size_t index = self->iter.index;
    bool is_next = self->element.value != NULL && number == self->number + 1;
    const kl_value *element;

    if (index > number + 1 || number + 1 - index > AHEAD) {
        index = 0;
        self->iter = (kl_value_iter){0};
    }
    if (index == 0 && !is_next) {
        element = kl_value_at(array, number);
        if (element != NULL) {
            self->number = number;
            self->element.value = element;
        }
        return element;
    }
    while (self->iter.index < number + 1) {
        element = kl_value_next(array, &self->iter, NULL);
        if (element == NULL) {
            return NULL;
        }
        self->number = self->iter.index - 1;
        self->element.value = element;
    }
    return self->element.value;
}

/* Sets *from to where the search begins. */
static const char *go_on_in_text(const visit *self, const char **from,
                                 size_t number)
{
    const char *end = end_of_text(self->owner);
    kl_cursor walk;

    if (self->element.offset == NOWHERE || number < self->number) {
        return kl_cursor_element(*from, end, number);
    }
    *from = self->owner->text + self->element.offset;
    walk = (kl_cursor){.value = *from, .end = end};
    for (size_t at = self->number; at < number; at++) {
        if (!kl_cursor_next(&walk)) {
            return NULL;
        }
    }
    return walk.value;
}

static place find_in_tree(visits *all, const view *self, const kl_value *array,
                          size_t number)
{
    visit *last;

    if (number < FIRST || kl_value_type(array) != KL_ARRAY) {
        return (place){kl_value_at(array, number), NOWHERE};
    }
    last = visit_of(all, self->whole, self->at);
    return (place){go_on_in_tree(last, array, number), NOWHERE};
}

static place find_in_text(visits *all, const view *self, const char *array,
                          size_t number)
{
    const char *from = array, *element;
    visit *last;
    place found;

    if (number < FIRST || *array != '[') {
        return end_search(
            self, from,
            kl_cursor_element(array, end_of_text(self->whole), number));
    }
    last = visit_of(all, self->whole, self->at);
    element = go_on_in_text(last, &from, number);
    found = end_search(self, from, element);
    if (found.offset != NOWHERE) {
        last->number = number;
        last->element = found;
    }
    return found;
}

place find_element(lua_State *L, view *self, size_t number)
{
    visits *all = NULL;

    if (number >= FIRST) {
        all = push_visits(L);
        lua_pop(L, 1);
    }
    /* What opens a tree or a text may run finalizers, and these may read other
     * arrays: a visit is looked for afterwards. */
    if (reads_tree(self)) {
        return find_in_tree(all, self, opened(L, self), number);
    }
    return find_in_text(all, self, locate(L, self), number);
}
