/*
 * view_walk.c - reads many fields of an object at once: pairs, ipairs, get with
 * a path, and copies as a table or as JSON. See view.h.
 */
#include "view.h"

#include <string.h>

/* One step of kubelua.pairs. Upvalue 1: the kl_value_iter; upvalue 2: the
 * view. */
static int view_next(lua_State *L)
{
    kl_value_iter *iter = lua_touserdata(L, lua_upvalueindex(1));
    view *self = lua_touserdata(L, lua_upvalueindex(2));
    const kl_value *key, *value;

    do {
        value = kl_value_next(opened(L, self), iter, &key);
    } while (value != NULL && kl_value_type(value) == KL_NULL);
    if (value == NULL) {
        lua_pushnil(L);
        return 1;
    }
    if (key == NULL) {
        lua_pushinteger(L, (lua_Integer)iter->index);
    } else {
        push_scalar(L, key);
    }
    push_value(L, lua_upvalueindex(2), self, value);
    return 2;
}

static int view_pairs(lua_State *L)
{
    view *self = check_view(L, 1);
    kl_value_iter *iter;

    opened(L, self);
    iter = lua_newuserdata(L, sizeof(*iter));
    *iter = (kl_value_iter){0};
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, view_next, 2);
    return 1;
}

/* A reader (push_reader). */
static int view_inext(lua_State *L)
{
    view *self = check_reader_view(L);
    lua_Integer index = luaL_checkinteger(L, 2) + 1;
    const kl_value *value = kl_value_at(opened(L, self), (size_t)index - 1);

    if (value == NULL || kl_value_type(value) == KL_NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, index);
    push_member(L, self, value);
    return 2;
}

/* Upvalue 1: view_inext. */
static int view_ipairs(lua_State *L)
{
    check_view(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

/* A compiled path: a userdata. */
typedef struct path_box {
    kl_path *path; /* NULL while it is made, and once it is freed */
    /* Of a path such as metadata.uid: that member of metadata; else NULL.
     * Borrowed from the path. */
    const char *identity;
} path_box;

static int path_gc(lua_State *L)
{
    path_box *box = lua_touserdata(L, 1);

    kl_path_free(box->path);
    box->path = NULL;
    return 0;
}

/* Pushes the compiled path of the text at `index`. UP_EXTRA is the cache. Its
 * values are weak: scripts build paths from the names of objects, and the cache
 * must not keep all of these paths. While the lua_State closes, a path that was
 * freed can still be in the cache. */
static const path_box *push_path(lua_State *L, int index)
{
    static const char metadata[] = "metadata.";
    path_box *box;
    kl_error err;

    lua_pushvalue(L, index);
    lua_rawget(L, lua_upvalueindex(UP_EXTRA));
    box = lua_touserdata(L, -1);
    if (box != NULL && box->path != NULL) {
        return box;
    }
    lua_pop(L, 1);
    box = lua_newuserdata(L, sizeof(*box));
    *box = (path_box){0};
    luaL_getmetatable(L, "kubelua.path");
    lua_setmetatable(L, -2);
    /* path */
    box->path = kl_path_parse(check_text(L, index), &err);
    if (box->path == NULL) {
        misuse(L, "%s", err.message);
    }
    if (strncmp(kl_path_text(box->path), metadata, strlen(metadata)) == 0) {
        box->identity = kl_path_text(box->path) + strlen(metadata);
    }
    lua_pushvalue(L, index);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(UP_EXTRA));
    return box;
}

/* Reading a field outside of metadata raises, if only metadata was asked for:
 * nil would say that the object does not have it. */
static void check_path_asked_for(lua_State *L, const view *self,
                                 const kl_path *path)
{
    static const char *const kept[] = {"metadata", "kind", "apiVersion"};
    const kl_object *object = object_of(L, self);

    if (&self->whole->view != self || !kl_object_is_metadata_only(object)) {
        return;
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (kl_path_begins_with(path, kept[i])) {
            return;
        }
    }
    refuse_beyond_metadata(L, object, kl_path_text(path));
}

/* Pushes a member of metadata of an object that was not parsed; false: it has
 * to be parsed. */
static bool push_identity(lua_State *L, const view *self, const char *member)
{
    const char *text = NULL;

    if (self->value == NULL && &self->whole->view == self) {
        text = identity_text(object_of(L, self), member, strlen(member));
    }
    if (text != NULL) {
        lua_pushstring(L, text);
    }
    return text != NULL;
}

/* A reader (push_reader). UP_EXTRA: the cache of paths. */
static int view_get(lua_State *L)
{
    view *self = check_reader_view(L);
    const path_box *box;

    luaL_checktype(L, 2, LUA_TSTRING);
    box = push_path(L, 2);
    /* path */
    if (box->identity != NULL && push_identity(L, self, box->identity)) {
        return 1;
    }
    check_path_asked_for(L, self, box->path);
    push_member(L, self, kl_path_first(box->path, opened(L, self)));
    return 1;
}

/* The metatable that marks a copy of a pruned object. */
#define TYPE_PRUNED "kubelua.pruned"

/* A copy of a pruned object is marked by its metatable, so that it is not
 * written back as if it were whole. */
static int view_table(lua_State *L)
{
    view *self = check_view(L, 1);

    push_copy(L, opened(L, self));
    if (&self->whole->view == self && kl_object_is_pruned(object_of(L, self))) {
        luaL_newmetatable(L, TYPE_PRUNED);
        lua_setmetatable(L, -2);
    }
    return 1;
}

/* core.is_pruned(x): true if x is an object, a part of one or a copy of one,
 * that lacks what `drop` or `keep` removed. */
static int is_pruned(lua_State *L)
{
    const view *self = test_view(L, 1);
    bool result = self != NULL && kl_object_is_pruned(object_of(L, self));

    if (lua_istable(L, 1) && lua_getmetatable(L, 1)) {
        luaL_getmetatable(L, TYPE_PRUNED);
        result = lua_rawequal(L, -1, -2) && !lua_isnil(L, -1);
    }
    lua_pushboolean(L, result);
    return 1;
}

static int object_json(lua_State *L)
{
    view *self = check_view(L, 1);
    kl_object *object;
    const char *text;
    kl_error err;
    size_t length;

    if (&self->whole->view != self) {
        push_json(L, 1, NULL);
        return 1;
    }
    object = object_of(L, self);
    text = kl_object_json(object, &length, &err);
    if (text == NULL) {
        return misuse(L, "%s", err.message);
    }
    /* If this raises, the text stays open until the object is collected. */
    lua_pushlstring(L, text, length);
    kl_object_close_json(object);
    return 1;
}

void bind_view_walk(lua_State *L)
{
    static const luaL_Reg path_methods[] = {{"__gc", path_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"pairs", view_pairs},
                                         {"view_table", view_table},
                                         {"view_json", object_json},
                                         {"is_pruned", is_pruned},
                                         {NULL, NULL}};

    push_type(L, "kubelua.path", path_methods);
    luaL_setfuncs(L, functions, 0);
    lua_pushnil(L);
    push_reader(L, TYPE_OBJECT, view_inext);
    lua_pushcclosure(L, view_ipairs, 1);
    lua_setfield(L, -2, "ipairs");
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    push_reader(L, TYPE_OBJECT, view_get);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "get");
    /* module, get */
    lua_newtable(L);
    lua_insert(L, -2);
    /* module, methods, get */
    lua_setfield(L, -2, "get");
    lua_pushcfunction(L, view_table);
    lua_setfield(L, -2, "table");
    lua_pushcfunction(L, object_json);
    lua_setfield(L, -2, "json");
}
