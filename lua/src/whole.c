/*
 * whole.c - makes the userdata of objects and of their parts. No Lua table is
 * built. view.h says which userdata keeps which alive.
 */
#include "view.h"

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

whole *new_whole(lua_State *L)
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
