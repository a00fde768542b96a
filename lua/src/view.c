/*
 * view.c - objects and what is inside them, as read-only userdata: a field is
 * looked up when it is read, and no table is built. Each view keeps its object
 * referenced and open on its own, so they may be collected in any order.
 */
#include "binding.h"

#include <string.h>

/* `value` is NULL in an object that nobody has looked into yet. */
typedef struct view {
    kl_object *object; /* one reference; NULL only while being made */
    const kl_value *value;
} view;

void *test_type(lua_State *L, int index, const char *name)
{
    void *box = lua_touserdata(L, index);
    bool same;

    if (box == NULL || !lua_getmetatable(L, index)) {
        return NULL;
    }
    luaL_getmetatable(L, name);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same ? box : NULL;
}

/* Looks into it: parses the object, or shares the tree that is open. */
static const kl_value *opened(lua_State *L, view *self)
{
    kl_error err;

    if (self->value == NULL) {
        self->value = kl_object_open(self->object, &err);
        if (self->value == NULL) {
            luaL_error(L, "%s: %s", kl_object_key(self->object), err.message);
        }
    }
    return self->value;
}

static view *new_view(lua_State *L, const char *type)
{
    view *self = lua_newuserdata(L, sizeof(*self));

    *self = (view){0};
    luaL_getmetatable(L, type);
    lua_setmetatable(L, -2);
    return self;
}

void push_object(lua_State *L, kl_object *object)
{
    view *self = new_view(L, TYPE_OBJECT);

    self->object = kl_object_ref(object);
}

bool push_found(lua_State *L, kl_informer *informer, const char *key)
{
    view *self = new_view(L, TYPE_OBJECT);

    self->object = kl_informer_get(informer, key);
    if (self->object == NULL) {
        lua_pop(L, 1);
        return false;
    }
    return true;
}

/* Pushes what a field holds: a scalar, nil for null, or a view into it. */
static void push_value(lua_State *L, kl_object *object, const kl_value *value)
{
    view *self;

    if (value == NULL || kl_value_type(value) == KL_NULL) {
        lua_pushnil(L);
        return;
    }
    if (push_scalar(L, value)) {
        return;
    }
    self = new_view(L, TYPE_VIEW);
    self->object = kl_object_ref(object);
    /* It is open already, so this shares the tree that `value` is in. */
    if (kl_object_open(object, NULL) == NULL) {
        luaL_error(L, "out of memory");
    }
    self->value = value;
}

static const kl_value *member(lua_State *L, const kl_value *value, int index)
{
    if (lua_type(L, index) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, index, &length);

        return kl_value_get_n(value, name, length);
    }
    if (lua_type(L, index) == LUA_TNUMBER && kl_value_type(value) == KL_ARRAY) {
        lua_Number wanted = lua_tonumber(L, index);
        size_t position = wanted >= 1 && wanted <= 4e9 ? (size_t)wanted : 0;

        if (position >= 1 && (lua_Number)position == wanted) {
            return kl_value_at(value, position - 1);
        }
    }
    return NULL;
}

/* Either kind, or NULL. */
static view *test_view(lua_State *L, int index)
{
    view *self = test_type(L, index, TYPE_OBJECT);

    return self != NULL ? self : test_type(L, index, TYPE_VIEW);
}

static view *check_view(lua_State *L, int index)
{
    view *self = test_view(L, index);

    if (self == NULL) {
        luaL_argerror(L, index, "a KubeLua object, or a part of one, expected");
    }
    return self;
}

const kl_value *to_value(lua_State *L, int index)
{
    view *self = test_view(L, index);

    return self != NULL ? opened(L, self) : NULL;
}

static int view_index(lua_State *L)
{
    view *self = luaL_checkudata(L, 1, TYPE_VIEW);

    push_value(L, self->object, member(L, self->value, 2));
    return 1;
}

/* The shorthands of a whole object; NULL: it is no shorthand. */
static const char *shorthand(const kl_object *object, const char *name)
{
    if (strcmp(name, "name") == 0) {
        return kl_object_name(object);
    }
    if (strcmp(name, "namespace") == 0) {
        return kl_object_namespace(object);
    }
    if (strcmp(name, "key") == 0) {
        return kl_object_key(object);
    }
    if (strcmp(name, "uid") == 0) {
        return kl_object_uid(object);
    }
    if (strcmp(name, "resource_version") == 0) {
        return kl_object_resource_version(object);
    }
    if (strcmp(name, "kind") == 0) {
        return kl_object_kind(object);
    }
    if (strcmp(name, "apiVersion") == 0) {
        return kl_object_api_version(object);
    }
    return NULL;
}

/* Upvalue 1: the table of methods (get, table, json). */
static int object_index(lua_State *L)
{
    view *self = luaL_checkudata(L, 1, TYPE_OBJECT);

    if (lua_type(L, 2) == LUA_TSTRING) {
        const char *text = shorthand(self->object, lua_tostring(L, 2));

        if (text != NULL) {
            if (text[0] == '\0') {
                lua_pushnil(L); /* a cluster-scoped object's namespace */
            } else {
                lua_pushstring(L, text);
            }
            return 1;
        }
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
        if (!lua_isnil(L, -1)) {
            return 1;
        }
        lua_pop(L, 1);
    }
    push_value(L, self->object, member(L, opened(L, self), 2));
    return 1;
}

static int view_newindex(lua_State *L)
{
    view *self = check_view(L, 1);

    return luaL_error(L,
                      "%s %s is read-only, as everybody shares it; change a "
                      "copy: object:table() or kubelua.table(part)",
                      kl_object_kind(self->object),
                      kl_object_key(self->object));
}

static int view_len(lua_State *L)
{
    view *self = check_view(L, 1);
    const kl_value *value = opened(L, self);

    lua_pushinteger(L, kl_value_type(value) == KL_ARRAY
                           ? (lua_Integer)kl_value_size(value)
                           : 0);
    return 1;
}

/* From Lua 5.3 on also called where only one of the two is a view. */
static int view_eq(lua_State *L)
{
    view *a = test_view(L, 1);
    view *b = test_view(L, 2);

    lua_pushboolean(L, a != NULL && b != NULL && a->object == b->object &&
                           opened(L, a) == opened(L, b));
    return 1;
}

static int view_gc(lua_State *L)
{
    view *self = lua_touserdata(L, 1);

    if (self->value != NULL) {
        kl_object_close(self->object);
        self->value = NULL;
    }
    kl_object_unref(self->object);
    self->object = NULL;
    return 0;
}

static int object_tostring(lua_State *L)
{
    view *self = luaL_checkudata(L, 1, TYPE_OBJECT);

    lua_pushfstring(L, "%s %s", kl_object_kind(self->object),
                    kl_object_key(self->object));
    return 1;
}

static int view_tostring(lua_State *L)
{
    view *self = luaL_checkudata(L, 1, TYPE_VIEW);

    lua_pushfstring(L, "part of %s %s", kl_object_kind(self->object),
                    kl_object_key(self->object));
    return 1;
}

/* One step of kubelua.pairs: the iterator's state is its upvalue 1, a
 * kl_value_iter; upvalue 2 is the view. */
static int view_next(lua_State *L)
{
    kl_value_iter *iter = lua_touserdata(L, lua_upvalueindex(1));
    view *self = lua_touserdata(L, lua_upvalueindex(2));
    const kl_value *key, *value;

    do {
        value = kl_value_next(self->value, iter, &key);
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
    push_value(L, self->object, value);
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

static int view_inext(lua_State *L)
{
    view *self = check_view(L, 1);
    lua_Integer index = luaL_checkinteger(L, 2) + 1;
    const kl_value *value = kl_value_at(opened(L, self), (size_t)index - 1);

    if (value == NULL || kl_value_type(value) == KL_NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, index);
    push_value(L, self->object, value);
    return 2;
}

static int view_ipairs(lua_State *L)
{
    check_view(L, 1);
    lua_pushcfunction(L, view_inext);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

static int path_gc(lua_State *L)
{
    kl_path **path = lua_touserdata(L, 1);

    kl_path_free(*path);
    *path = NULL;
    return 0;
}

/* The compiled path of the text at `index`, from the cache in upvalue 1, which
 * forgets what is not in use: paths may be made of names. It stays on the
 * stack. */
static const kl_path *push_path(lua_State *L, int index)
{
    kl_path **box;
    kl_error err;

    lua_pushvalue(L, index);
    lua_rawget(L, lua_upvalueindex(1));
    box = lua_touserdata(L, -1);
    if (box != NULL) {
        return *box;
    }
    lua_pop(L, 1);
    box = lua_newuserdata(L, sizeof(kl_path *));
    *box = NULL;
    luaL_getmetatable(L, "kubelua.path");
    lua_setmetatable(L, -2);
    /* path */
    *box = kl_path_parse(luaL_checkstring(L, index), &err);
    if (*box == NULL) {
        luaL_error(L, "%s", err.message);
    }
    lua_pushvalue(L, index);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(1));
    return *box;
}

static int view_get(lua_State *L)
{
    view *self = check_view(L, 1);
    const kl_path *path;

    luaL_checktype(L, 2, LUA_TSTRING);
    path = push_path(L, 2);
    push_value(L, self->object, kl_path_first(path, opened(L, self)));
    return 1;
}

static int view_table(lua_State *L)
{
    push_copy(L, opened(L, check_view(L, 1)));
    return 1;
}

static int object_json(lua_State *L)
{
    view *self = check_view(L, 1);
    const char *text;
    kl_error err;
    size_t length;

    if (test_type(L, 1, TYPE_OBJECT) == NULL) {
        push_json(L, 1, NULL);
        return 1;
    }
    text = kl_object_json(self->object, &length, &err);
    if (text == NULL) {
        return luaL_error(L, "%s", err.message);
    }
    lua_pushlstring(L, text, length);
    return 1;
}

/* kubelua.is_view(x): whether x is an object, or a part of one. */
static int is_view(lua_State *L)
{
    lua_pushboolean(L, test_view(L, 1) != NULL);
    return 1;
}

/* kubelua.is_object(x): whether x is a whole object. */
static int is_object(lua_State *L)
{
    lua_pushboolean(L, test_type(L, 1, TYPE_OBJECT) != NULL);
    return 1;
}

/* Creates an object of a JSON text: for tests of scripts, and for kubelua.sim.
 */
static int object_parse(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    view *self = new_view(L, TYPE_OBJECT);
    kl_error err;

    self->object = kl_object_parse(text, length, NULL, &err);
    return self->object != NULL ? 1 : push_error(L, &err);
}

void bind_view(lua_State *L)
{
    static const luaL_Reg view_methods[] = {{"__index", view_index},
                                            {"__newindex", view_newindex},
                                            {"__len", view_len},
                                            {"__eq", view_eq},
                                            {"__gc", view_gc},
                                            {"__pairs", view_pairs},
                                            {"__tostring", view_tostring},
                                            {NULL, NULL}};
    static const luaL_Reg object_methods[] = {{"__newindex", view_newindex},
                                              {"__len", view_len},
                                              {"__eq", view_eq},
                                              {"__gc", view_gc},
                                              {"__pairs", view_pairs},
                                              {"__tostring", object_tostring},
                                              {NULL, NULL}};
    static const luaL_Reg path_methods[] = {{"__gc", path_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"pairs", view_pairs},      {"ipairs", view_ipairs},
        {"view_table", view_table}, {"view_json", object_json},
        {"is_object", is_object},   {"is_view", is_view},
        {"object", object_parse},   {NULL, NULL}};

    push_type(L, TYPE_VIEW, view_methods);
    push_type(L, TYPE_OBJECT, object_methods);
    push_type(L, "kubelua.path", path_methods);
    luaL_setfuncs(L, functions, 0);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushcclosure(L, view_get, 1);
    /* module, get */
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "get");
    luaL_getmetatable(L, TYPE_OBJECT);
    lua_newtable(L);
    /* module, get, metatable, methods */
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "get");
    lua_pushcfunction(L, view_table);
    lua_setfield(L, -2, "table");
    lua_pushcfunction(L, object_json);
    lua_setfield(L, -2, "json");
    lua_pushcclosure(L, object_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
}
