/*
 * view.c - objects as read-only userdata. A field is looked up when a script
 * reads it; no Lua table is built. view.h says which userdata keeps which
 * alive.
 */
#include "view.h"

#include <string.h>

view *test_view(lua_State *L, int index)
{
    view *self = test_type(L, index, TYPE_OBJECT);

    return self != NULL ? self : test_type(L, index, TYPE_VIEW);
}

view *check_view(lua_State *L, int index)
{
    view *self = test_view(L, index);

    if (self == NULL) {
        luaL_argerror(L, index, "a KubeLua object, or a part of one, expected");
    }
    return self;
}

/* The userdata at 1, of a function that has the metatable of `type` as upvalue
 * 1. */
static view *check_own(lua_State *L, const char *type)
{
    view *self = lua_touserdata(L, 1);

    if (self == NULL || !lua_getmetatable(L, 1) ||
        !lua_rawequal(L, -1, lua_upvalueindex(1))) {
        /* Raises an error with the expected type. */
        return luaL_checkudata(L, 1, type);
    }
    lua_pop(L, 1);
    return self;
}

kl_object *object_of(lua_State *L, const view *self)
{
    if (self->whole->object == NULL) {
        misuse(L, "this object was collected already: a finalizer (__gc) "
                  "cannot read it");
    }
    return self->whole->object;
}

/* The parsed tree of an object takes this many times the size of its text:
 * 16 bytes a value, and the text once more. Measured: 14.9 KB for a Pod of
 * 6.9 KB. */
enum { TREE_SHARE = 2 };

static const kl_value *open_whole(lua_State *L, view *self)
{
    kl_object *object = object_of(L, self);
    kl_error err;

    self->value = kl_object_open(object, &err);
    if (self->value == NULL) {
        misuse(L, "%s: %s", kl_object_key(object), err.message);
    }
    account_charge(L, self->whole, TREE_SHARE * kl_object_json_length(object));
    return self->value;
}

const kl_value *opened(lua_State *L, view *self)
{
    view *root = &self->whole->view;

    object_of(L, self);
    if (root->value == NULL) {
        open_whole(L, root);
    }
    if (self->value == NULL) {
        self->value = kl_value_get(root->value, "metadata");
    }
    return self->value;
}

static whole *new_whole(lua_State *L)
{
    whole *self = compat_newuserdata(L, sizeof(*self), 0);

    *self = (whole){.view.whole = self};
    luaL_getmetatable(L, TYPE_OBJECT);
    lua_setmetatable(L, -2);
    return self;
}

void push_object(lua_State *L, kl_object *object)
{
    whole *self = new_whole(L);

    self->object = kl_object_ref(object);
}

void push_last_object(lua_State *L, kl_object *object)
{
    whole *self = new_whole(L);

    self->object = kl_object_ref(object);
    account_charge(L, self, kl_object_bytes(object));
}

kl_object **push_empty_object(lua_State *L)
{
    return &new_whole(L)->object;
}

/*
 * Pushes the value that keeps the whole of the view at `index` alive: the whole
 * itself; or, in a Lua whose user values must be tables, a table that holds it.
 */
static void push_anchor(lua_State *L, int index, const view *self)
{
#if LUA_VERSION_NUM >= 503
    if (&self->whole->view == self) {
        lua_pushvalue(L, index);
        return;
    }
#else
    if (!self->whole->is_anchored) { /* so the view is the whole */
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, index);
        lua_rawseti(L, -2, 1);
        lua_pushvalue(L, -1);
        compat_setuservalue(L, index);
        self->whole->is_anchored = true;
        return;
    }
#endif
    compat_getuservalue(L, index);
}

/* Pushes a view of a part of the view at `index`. */
static void push_part(lua_State *L, int index, view *self,
                      const kl_value *value)
{
    view *part = compat_newuserdata(L, sizeof(*part), 1);

    *part = (view){self->whole, value};
    push_anchor(L, index, self);
    compat_setuservalue(L, -2);
    /* It becomes a TYPE_VIEW only now that it is complete. */
    luaL_getmetatable(L, TYPE_VIEW);
    lua_setmetatable(L, -2);
}

void push_value(lua_State *L, int index, view *self, const kl_value *value)
{
    if (value == NULL || kl_value_type(value) == KL_NULL) {
        lua_pushnil(L);
    } else if (!push_scalar(L, value)) {
        push_part(L, index, self, value);
    }
}

static const kl_value *find_member(lua_State *L, const kl_value *value,
                                   int index)
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

const kl_value *to_value(lua_State *L, int index)
{
    view *self = test_view(L, index);

    return self != NULL ? opened(L, self) : NULL;
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

/* Upvalue 1: the metatable. */
static int part_index(lua_State *L)
{
    view *self = check_own(L, TYPE_VIEW);

    if (self->value == NULL && lua_type(L, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);
        const char *text = identity_text(object_of(L, self), name, length);

        if (text != NULL) {
            lua_pushstring(L, text);
            return 1;
        }
    }
    push_value(L, 1, self, find_member(L, opened(L, self), 2));
    return 1;
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

/* Raises if only metadata was asked for and the field is outside of it: nil
 * would say that the object does not have it. */
static void check_field_asked_for(lua_State *L, const view *self)
{
    const kl_object *object = object_of(L, self);

    if (lua_type(L, 2) == LUA_TSTRING && kl_object_is_metadata_only(object) &&
        strcmp(lua_tostring(L, 2), "metadata") != 0) {
        refuse_beyond_metadata(L, object, lua_tostring(L, 2));
    }
}

/* Upvalue 1: the metatable; 2: the table of methods (get, table, json). */
static int whole_index(lua_State *L)
{
    view *self = check_own(L, TYPE_OBJECT);

    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, 2, &length);
        const char *text = find_shorthand(object_of(L, self), name, length);

        if (text != NULL) {
            if (text[0] == '\0') {
                lua_pushnil(L); /* the namespace of a cluster-scoped object */
            } else {
                lua_pushstring(L, text);
            }
            return 1;
        }
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(2));
        if (!lua_isnil(L, -1)) {
            return 1;
        }
        lua_pop(L, 1);
        if (self->value == NULL && is_name(name, length, "metadata")) {
            push_part(L, 1, self, NULL); /* every object has metadata */
            return 1;
        }
    }
    check_field_asked_for(L, self);
    push_value(L, 1, self, find_member(L, opened(L, self), 2));
    return 1;
}

static int view_newindex(lua_State *L)
{
    const kl_object *object = object_of(L, check_view(L, 1));

    return misuse(L,
                  "%s %s is read-only, as all readers of the cache share "
                  "it; change a copy: object:table() or "
                  "kubelua.table(part)",
                  kl_object_kind(object), kl_object_key(object));
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

/* From Lua 5.3 on also called if only one operand is a view. Userdata of one
 * object share its tree, so equal parts are the same value. */
static int view_eq(lua_State *L)
{
    view *a = test_view(L, 1);
    view *b = test_view(L, 2);

    lua_pushboolean(L, a != NULL && b != NULL &&
                           object_of(L, a) == object_of(L, b) &&
                           opened(L, a) == opened(L, b));
    return 1;
}

/* Upvalue 1: the account. */
static int whole_gc(lua_State *L)
{
    whole *self = lua_touserdata(L, 1);
    kl_object *object = self->object;

    self->object = NULL;
    account_release(lua_touserdata(L, lua_upvalueindex(1)), self);
    if (object != NULL && self->view.value != NULL) {
        kl_object_close(object);
    }
    kl_object_unref(object);
    return 0;
}

static int view_tostring(lua_State *L)
{
    const view *self = check_view(L, 1);
    const kl_object *object = object_of(L, self);

    lua_pushfstring(L, "%s%s %s", &self->whole->view == self ? "" : "part of ",
                    kl_object_kind(object), kl_object_key(object));
    return 1;
}

/* core.is_view(x): true if x is an object, or a part of one. */
static int is_view(lua_State *L)
{
    lua_pushboolean(L, test_view(L, 1) != NULL);
    return 1;
}

/* core.is_object(x): true if x is a whole object. */
static int is_object(lua_State *L)
{
    const view *self = test_view(L, 1);

    lua_pushboolean(L, self != NULL && &self->whole->view == self);
    return 1;
}

/* core.is_metadata_only(x): true if x is an object, or a part of one, of which
 * only the metadata was asked for. */
static int is_metadata_only(lua_State *L)
{
    const view *self = test_view(L, 1);

    lua_pushboolean(L, self != NULL &&
                           kl_object_is_metadata_only(object_of(L, self)));
    return 1;
}

/* core.object(text): an object made of a JSON text; or nil, message, code. */
static int object_parse(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    whole *self = new_whole(L);
    kl_error err;

    self->object = kl_object_parse(text, length, NULL, &err);
    if (self->object == NULL) {
        return push_error(L, &err);
    }
    account_charge(L, self, kl_object_bytes(self->object));
    return 1;
}

/* Makes a metatable of views. `index` becomes __index, a closure: its upvalue 1
 * is the metatable, upvalue 2 the table of methods on top of the stack. */
static void push_view_type(lua_State *L, const char *name,
                           const luaL_Reg *methods, lua_CFunction index)
{
    push_type(L, name, methods);
    luaL_getmetatable(L, name);
    lua_getfield(L, -3, "pairs");
    lua_setfield(L, -2, "__pairs");
    /* module, methods, metatable */
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, index, 2);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

void bind_view(lua_State *L)
{
    static const luaL_Reg part_methods[] = {{"__newindex", view_newindex},
                                            {"__len", view_len},
                                            {"__eq", view_eq},
                                            {"__tostring", view_tostring},
                                            {NULL, NULL}};
    static const luaL_Reg whole_methods[] = {{"__newindex", view_newindex},
                                             {"__len", view_len},
                                             {"__eq", view_eq},
                                             {"__tostring", view_tostring},
                                             {NULL, NULL}};
    static const luaL_Reg functions[] = {{"is_object", is_object},
                                         {"is_view", is_view},
                                         {"is_metadata_only", is_metadata_only},
                                         {"object", object_parse},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
    bind_view_walk(L);
    /* module, methods */
    push_view_type(L, TYPE_VIEW, part_methods, part_index);
    push_view_type(L, TYPE_OBJECT, whole_methods, whole_index);
    luaL_getmetatable(L, TYPE_OBJECT);
    push_account(L);
    lua_pushcclosure(L, whole_gc, 1);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_pop(L, 1);
}
