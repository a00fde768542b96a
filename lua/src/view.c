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

/* Pushes a whole without an object. Its metatable is at `type`, an absolute
 * index or an upvalue. */
static whole *push_whole(lua_State *L, int type)
{
    whole *self = compat_newuserdata(L, sizeof(*self), 0);

    *self = (whole){.view.whole = self};
    lua_pushvalue(L, type);
    lua_setmetatable(L, -2);
    return self;
}

static whole *new_whole(lua_State *L)
{
    whole *self;

    luaL_getmetatable(L, TYPE_OBJECT);
    self = push_whole(L, lua_gettop(L));
    lua_remove(L, -2);
    return self;
}

void push_object(lua_State *L, int type, kl_object *object)
{
    whole *self = push_whole(L, type);

    self->object = kl_object_ref(object);
}

void push_last_object(lua_State *L, int type, kl_object *object)
{
    whole *self = push_whole(L, type);

    self->object = kl_object_ref(object);
    account_charge(L, self, kl_object_bytes(object));
}

kl_object **push_empty_object(lua_State *L)
{
    return &new_whole(L)->object;
}

void push_object_list(lua_State *L, kl_object_list *list)
{
    int type;

    lua_createtable(L, (int)list->count, 0);
    luaL_getmetatable(L, TYPE_OBJECT);
    type = lua_gettop(L);
    /* array, metatable */
    for (size_t i = 0; i < list->count; i++) {
        push_whole(L, type)->object = list->items[i];
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

void push_part(lua_State *L, int index, view *self, place at)
{
    view *part = compat_newuserdata(L, sizeof(*part), 1);

    /* metatable, part */
    *part = (view){self->whole, at};
    push_anchor(L, index, self);
    compat_setuservalue(L, -2);
    lua_insert(L, -2);
    /* It becomes a TYPE_VIEW only now that it is complete. */
    lua_setmetatable(L, -2);
}

void push_place(lua_State *L, int index, view *self, place at)
{
    if (at.value != NULL) {
        if (kl_value_type(at.value) == KL_NULL) {
            lua_pushnil(L);
            return;
        }
        if (push_scalar(L, at.value)) {
            return;
        }
    } else if (at.offset == NOWHERE) {
        lua_pushnil(L);
        return;
    } else if (push_text_scalar(L, self->whole, at.offset)) {
        return;
    }
    luaL_getmetatable(L, TYPE_VIEW);
    push_part(L, index, self, at);
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

/* True if both are the same part. Userdata of one object share its tree, and
 * its text is always the same. */
static bool is_same_part(lua_State *L, view *a, view *b)
{
    const char *at;
    ptrdiff_t offset;

    if (a->at.value != NULL || b->at.value != NULL) {
        return opened(L, a) == opened(L, b);
    }
    if (a->at.offset == b->at.offset) {
        return true;
    }
    if (a->at.offset != METADATA && b->at.offset != METADATA) {
        return false;
    }
    at = locate(L, a);
    offset = at - a->whole->text;
    at = locate(L, b);
    return at - b->whole->text == offset;
}

/* From Lua 5.3 on also called if only one operand is a view. */
static int view_eq(lua_State *L)
{
    view *a = test_view(L, 1);
    view *b = test_view(L, 2);

    lua_pushboolean(L, a != NULL && b != NULL &&
                           object_of(L, a) == object_of(L, b) &&
                           is_same_part(L, a, b));
    return 1;
}

/* Upvalue 1: the account; upvalue 2: the texts; upvalue 3: the visits; upvalue
 * 4: the large map. */
static int whole_gc(lua_State *L)
{
    whole *self = lua_touserdata(L, 1);
    kl_object *object = self->object;

    texts_release(lua_touserdata(L, lua_upvalueindex(2)), self);
    visits_release(lua_touserdata(L, lua_upvalueindex(3)), self);
    large_release(L, lua_touserdata(L, lua_upvalueindex(4)), self);
    self->object = NULL;
    account_release(lua_touserdata(L, lua_upvalueindex(1)), self);
    if (object != NULL && self->view.at.value != NULL) {
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

/* core.object(text, keeps_managed_fields): an object made of a JSON text; or
 * nil, message, code. */
static int object_parse(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    kl_object_options options = {.keep_managed_fields = lua_toboolean(L, 2)};
    whole *self = new_whole(L);
    kl_error err;

    self->object = kl_object_parse(text, length, &options, &err);
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
    bind_view_path(L);
    bind_view_walk(L);
    /* module, methods */
    complete_view_type(L, TYPE_VIEW, part_index);
    complete_view_type(L, TYPE_OBJECT, whole_index);
    luaL_getmetatable(L, TYPE_OBJECT);
    push_account(L);
    push_open_texts(L);
    push_visits(L);
    push_large(L);
    lua_pushcclosure(L, whole_gc, 4);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 2);
}
