/*
 * view.c - objects as read-only userdata. A field is looked up when a script
 * reads it (view_index.c); no Lua table is built. view.h says which userdata
 * keeps which alive.
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

/* Pushes a whole without an object. Its metatable is on top of the stack. */
static whole *push_whole(lua_State *L)
{
    whole *self = compat_newuserdata(L, sizeof(*self), 0);

    *self = (whole){.view.whole = self};
    lua_pushvalue(L, -2);
    lua_setmetatable(L, -2);
    return self;
}

static whole *new_whole(lua_State *L)
{
    whole *self;

    luaL_getmetatable(L, TYPE_OBJECT);
    self = push_whole(L);
    lua_remove(L, -2);
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

void push_object_list(lua_State *L, kl_object_list *list)
{
    lua_createtable(L, (int)list->count, 0);
    luaL_getmetatable(L, TYPE_OBJECT);
    /* array, metatable */
    for (size_t i = 0; i < list->count; i++) {
        push_whole(L)->object = list->items[i];
        list->items[i] = NULL;
        lua_rawseti(L, -3, (int)i + 1);
    }
    lua_pop(L, 1);
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

void push_part(lua_State *L, int index, view *self, const kl_value *value)
{
    view *part = compat_newuserdata(L, sizeof(*part), 1);

    /* metatable, part */
    *part = (view){self->whole, value};
    push_anchor(L, index, self);
    compat_setuservalue(L, -2);
    lua_insert(L, -2);
    /* It becomes a TYPE_VIEW only now that it is complete. */
    lua_setmetatable(L, -2);
}

void push_value(lua_State *L, int index, view *self, const kl_value *value)
{
    if (value == NULL || kl_value_type(value) == KL_NULL) {
        lua_pushnil(L);
    } else if (!push_scalar(L, value)) {
        luaL_getmetatable(L, TYPE_VIEW);
        push_part(L, index, self, value);
    }
}

const kl_value *to_value(lua_State *L, int index)
{
    view *self = test_view(L, index);

    return self != NULL ? opened(L, self) : NULL;
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

/* Completes the metatable of views of that type. The table of methods is on top
 * of the stack, the module below it. */
static void complete_view_type(lua_State *L, const char *type,
                               lua_CFunction index)
{
    luaL_getmetatable(L, type);
    lua_getfield(L, -3, "pairs");
    lua_setfield(L, -2, "__pairs");
    /* module, methods, metatable */
    lua_pushvalue(L, -2);
    push_reader(L, type, index);
    lua_setfield(L, -2, "__index");
    lua_pushnil(L);
    push_reader(L, type, view_len);
    lua_setfield(L, -2, "__len");
    lua_pop(L, 1);
}

void bind_view(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__newindex", view_newindex},
                                       {"__eq", view_eq},
                                       {"__tostring", view_tostring},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {{"is_object", is_object},
                                         {"is_view", is_view},
                                         {"is_metadata_only", is_metadata_only},
                                         {"object", object_parse},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
    push_type(L, TYPE_VIEW, methods);
    push_type(L, TYPE_OBJECT, methods);
    bind_view_walk(L);
    /* module, methods */
    complete_view_type(L, TYPE_VIEW, part_index);
    complete_view_type(L, TYPE_OBJECT, whole_index);
    luaL_getmetatable(L, TYPE_OBJECT);
    push_account(L);
    lua_pushcclosure(L, whole_gc, 1);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 2);
}
