/*
 * view_large.c - finds members of large maps by name. A tree has no index of
 * names: a script that reads each key of a map of 50,000 keys would pass by a
 * billion of them. So the map that was read last has a Lua table of its values,
 * whose hashes have a seed of the interpreter. See view.h.
 */
#include "view.h"

enum {
    LARGE = 1000, /* a search in fewer members is about as short */
    ASKED = 8     /* searches before an index pays */
};

struct large {
    const whole *owner;
    const kl_value *map; /* NULL: none */
    int asked;
    bool is_indexed; /* the registry has its table, under `index_key` */
};

static const char index_key = 0;

large *push_large(lua_State *L)
{
    static const char address = 0;

    return push_kept(L, &address, sizeof(large));
}

static void forget_map(lua_State *L, large *self)
{
    *self = (large){.map = NULL};
    lua_pushlightuserdata(L, (void *)(uintptr_t)&index_key);
    lua_pushnil(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void large_release(lua_State *L, large *self, const whole *owner)
{
    if (self->map != NULL && self->owner == owner) {
        forget_map(L, self);
    }
}

/* Pushes a table of the map's values, as light userdata. If a name occurs
 * twice, the last member counts. */
static void push_index(lua_State *L, const kl_value *map)
{
    kl_value_iter iter = {0};
    const kl_value *key, *value;

    lua_createtable(L, 0, (int)kl_value_size(map));
    while ((value = kl_value_next(map, &iter, &key)) != NULL) {
        size_t length;
        const char *name = kl_value_string(key, &length);

        lua_pushlstring(L, name, length);
        lua_pushlightuserdata(L, (void *)(uintptr_t)value);
        lua_rawset(L, -3);
    }
}

bool is_large(const kl_value *map)
{
    return kl_value_type(map) == KL_OBJECT && kl_value_size(map) >= LARGE;
}

const kl_value *find_in_large(lua_State *L, const view *self,
                              const kl_value *map, int name)
{
    large *kept = push_large(L);
    const kl_value *found;
    size_t length;
    const char *text = lua_tolstring(L, name, &length);

    lua_pop(L, 1);
    if (kept->map != map) {
        forget_map(L, kept);
        kept->owner = self->whole;
        kept->map = map;
    }
    if (!kept->is_indexed && ++kept->asked <= ASKED) {
        return kl_value_get_n(map, text, length);
    }
    lua_pushlightuserdata(L, (void *)(uintptr_t)&index_key);
    if (kept->is_indexed) {
        lua_rawget(L, LUA_REGISTRYINDEX);
    } else {
        push_index(L, map);
        /* key, index: a finalizer may have read another map meanwhile */
        kept->is_indexed = kept->map == map;
        lua_pushvalue(L, -1);
        lua_insert(L, -3);
        lua_rawset(L, LUA_REGISTRYINDEX);
    }
    /* index */
    lua_pushvalue(L, name);
    lua_rawget(L, -2);
    found = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return found;
}
