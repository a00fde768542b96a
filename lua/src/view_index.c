/*
 * view_index.c - reads one field of an object: what Lua calls for
 * pod.status.phase. Scripts do this more often than anything else, so these
 * functions find metatables and views in their upvalues (view.h), and a view of
 * a part that a script has just read is used again.
 */
#include "view.h"

#include <string.h>

/* Parts that were read last. Each has one slot in a table with weak values,
 * which depends on its address: so nothing is kept alive. */
enum { SLOTS = 64 };

static void push_recent_parts(lua_State *L)
{
    static const char name[] = "kubelua.recent parts";

    lua_getfield(L, LUA_REGISTRYINDEX, name);
    if (!lua_isnil(L, -1)) {
        return;
    }
    lua_pop(L, 1);
    lua_createtable(L, SLOTS, 0);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
}

void push_reader(lua_State *L, const char *type, lua_CFunction function)
{
    /* extra */
    luaL_getmetatable(L, type);
    luaL_getmetatable(L, TYPE_VIEW);
    push_recent_parts(L);
    lua_pushvalue(L, -4);
    /* extra, UP_OWN, UP_PART, UP_RECENT, UP_EXTRA */
    lua_pushcclosure(L, function, UP_EXTRA);
    lua_remove(L, -2);
}

view *check_reader_view(lua_State *L)
{
    view *self = lua_touserdata(L, 1);

    if (self != NULL && lua_getmetatable(L, 1)) {
        if (lua_rawequal(L, -1, lua_upvalueindex(UP_OWN)) ||
            lua_rawequal(L, -1, lua_upvalueindex(UP_PART))) {
            lua_pop(L, 1);
            return self;
        }
        lua_pop(L, 1);
    }
    return check_view(L, 1); /* raises */
}

/* The slot, from 1, of the part at that place. */
static int slot_of(const view *self, place at)
{
    uintptr_t number = at.value != NULL
                           ? (uintptr_t)at.value >> 4
                           : ((uintptr_t)self->whole >> 4) + at.offset;

    return (int)((number ^ (number >> 8)) % SLOTS) + 1;
}

static bool is_at(const view *part, const view *self, place at)
{
    return part->whole == self->whole && part->at.value == at.value &&
           (at.value != NULL || part->at.offset == at.offset);
}

/* Pushes a view of a part of the view at 1. */
static void push_recent(lua_State *L, view *self, place at)
{
    int slot = slot_of(self, at);
    const view *recent;

    lua_rawgeti(L, lua_upvalueindex(UP_RECENT), slot);
    recent = lua_touserdata(L, -1);
    if (recent != NULL && is_at(recent, self, at)) {
        return;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(UP_PART));
    push_part(L, 1, self, at);
    /* part */
    lua_pushvalue(L, -1);
    lua_rawseti(L, lua_upvalueindex(UP_RECENT), slot);
}

/* Pushes a value of the tree. */
static void push_tree_member(lua_State *L, view *self, place at)
{
    switch (kl_value_type(at.value)) {
    case KL_NULL:
        lua_pushnil(L);
        return;
    case KL_ARRAY:
    case KL_OBJECT:
        push_recent(L, self, at);
        return;
    default:
        push_scalar(L, at.value);
    }
}

void push_member(lua_State *L, view *self, place at)
{
    if (at.value != NULL) {
        push_tree_member(L, self, at);
    } else if (at.offset == NOWHERE) {
        lua_pushnil(L);
    } else if (!push_text_scalar(L, self->whole, at.offset)) {
        push_recent(L, self, at);
    }
}

/* If `index` has an integer from 1 to 4e9, sets *position to one less; else
 * false. */
static bool to_position(lua_State *L, int index, size_t *position)
{
    lua_Number wanted;

    if (lua_type(L, index) != LUA_TNUMBER) {
        return false;
    }
    wanted = lua_tonumber(L, index);
    if (!(wanted >= 1 && wanted <= 4e9)) {
        return false;
    }
    *position = (size_t)wanted - 1;
    return (lua_Number)(*position + 1) == wanted;
}

/* The member or element of the view at 1 whose name or number is at 2. */
static place find_member(lua_State *L, view *self)
{
    size_t number, length;
    const char *name;

    if (lua_type(L, 2) != LUA_TSTRING) {
        return to_position(L, 2, &number) ? find_element(L, self, number)
                                          : (place){NULL, NOWHERE};
    }
    name = lua_tolstring(L, 2, &length);
    if (reads_tree(self)) {
        const kl_value *value = opened(L, self);

        return (place){is_large(value) ? find_in_large(L, self, value, 2)
                                       : kl_value_get_n(value, name, length),
                       NOWHERE};
    }
    return find_member_in_text(L, self, name, length);
}

static bool is_name(const char *name, size_t length, const char *expected)
{
    return length == strlen(expected) && memcmp(name, expected, length) == 0;
}

/* An empty text may stand for a member that is absent or null. */
static const char *text_unless_empty(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

const char *identity_text(const kl_object *object, const char *name,
                          size_t length)
{
    if (is_name(name, length, "name")) {
        return kl_object_name(object);
    }
    if (is_name(name, length, "namespace")) {
        return text_unless_empty(kl_object_namespace(object));
    }
    if (is_name(name, length, "uid")) {
        return text_unless_empty(kl_object_uid(object));
    }
    if (is_name(name, length, "resourceVersion")) {
        return text_unless_empty(kl_object_resource_version(object));
    }
    return NULL;
}

/* The text of a shorthand, such as object.name; NULL: it is no shorthand. */
static const char *find_shorthand(const kl_object *object, const char *name,
                                  size_t length)
{
    if (is_name(name, length, "name")) {
        return kl_object_name(object);
    }
    if (is_name(name, length, "namespace")) {
        return kl_object_namespace(object);
    }
    if (is_name(name, length, "key")) {
        return kl_object_key(object);
    }
    if (is_name(name, length, "uid")) {
        return kl_object_uid(object);
    }
    if (is_name(name, length, "resource_version")) {
        return kl_object_resource_version(object);
    }
    if (is_name(name, length, "kind")) {
        return kl_object_kind(object);
    }
    if (is_name(name, length, "apiVersion")) {
        return kl_object_api_version(object);
    }
    return NULL;
}

void refuse_beyond_metadata(lua_State *L, const kl_object *object,
                            const char *field)
{
    misuse(L,
           "%s %s: only metadata was asked for (metadata = true), so '%s' is "
           "not there",
           kl_object_kind(object), kl_object_key(object), field);
}

/* True if an object has a method of that name (bind_view_walk): methods come
 * before fields. */
static bool is_method(const char *name, size_t length)
{
    return is_name(name, length, "get") || is_name(name, length, "table") ||
           is_name(name, length, "json");
}

int part_index(lua_State *L)
{
    view *self = check_reader_view(L);

    if (self->at.value == NULL && self->at.offset == METADATA &&
        lua_type(L, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);
        const char *text = identity_text(object_of(L, self), name, length);

        if (text != NULL) {
            lua_pushstring(L, text);
            return 1;
        }
    }
    push_member(L, self, find_member(L, self));
    return 1;
}

/* Pushes the shorthand, the method, or the metadata, of a whole that need not
 * be parsed for it; false: it is another field. */
static bool push_known(lua_State *L, view *self, const char *name,
                       size_t length)
{
    const kl_object *object = object_of(L, self);
    const char *text = find_shorthand(object, name, length);

    if (text != NULL && text[0] == '\0') {
        lua_pushnil(L); /* the namespace of a cluster-scoped object */
    } else if (text != NULL) {
        lua_pushstring(L, text);
    } else if (is_method(name, length)) {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(UP_EXTRA));
    } else if (is_name(name, length, "metadata")) {
        if (self->at.value != NULL) {
            return false;
        }
        /* every object has metadata */
        push_recent(L, self, (place){NULL, METADATA});
    } else {
        if (kl_object_is_metadata_only(object)) {
            /* nil would say that the object does not have the field */
            refuse_beyond_metadata(L, object, name);
        }
        return false;
    }
    return true;
}

int whole_index(lua_State *L)
{
    view *self = check_reader_view(L);

    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);

        if (push_known(L, self, name, length)) {
            return 1;
        }
    }
    push_member(L, self, find_member(L, self));
    return 1;
}

/* The number of elements of an array in the text; else 0. */
static size_t count_in_text(lua_State *L, const view *self)
{
    const char *from = locate(L, self);
    size_t count = 0;
    kl_cursor walk;

    kl_cursor_begin(&walk, *from == '[' ? from : NULL,
                    end_of_text(self->whole));
    while (kl_cursor_next(&walk)) {
        count++;
    }
    end_search(self, from, *from == '[' ? walk.at : from);
    return count;
}

int view_len(lua_State *L)
{
    view *self = check_reader_view(L);
    size_t count;

    if (reads_tree(self)) {
        const kl_value *value = opened(L, self);

        count = kl_value_type(value) == KL_ARRAY ? kl_value_size(value) : 0;
    } else {
        count = count_in_text(L, self);
    }
    lua_pushinteger(L, (lua_Integer)count);
    return 1;
}
