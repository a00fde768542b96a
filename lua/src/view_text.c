/*
 * view_text.c - reads fields of an object in its text. A cache keeps its
 * objects compressed, so texts that were unpacked stay open for the next reads:
 * the last few of a lua_State, until others replace them, their userdata are
 * collected, or the loop waits.
 */
#include "view.h"

#include <string.h>

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
    const char *end = end_of_text(self->whole);

    return end_search(
        self, from,
        (is_head ? find_in_head : kl_cursor_member)(from, end, name, length));
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
