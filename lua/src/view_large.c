/*
 * view_large.c - finds members of large maps by name. A tree has no index of
 * names: a script that reads each key of a map of 50,000 keys would pass by a
 * billion of them. So the maps that were read last have a Lua table of their
 * values each, whose hashes have a seed of the interpreter. There are several,
 * as scripts compare maps: an update's old object with the new one. See view.h.
 */
#include "view.h"

enum {
    LARGE = 1000, /* a search in fewer members is about as short */
    ASKED = 8,    /* searches before an index pays */
    KEPT = 4      /* maps */
};

typedef struct kept_map {
    const whole *owner;
    const kl_value *map; /* NULL: none */
    int asked;
    bool is_indexed;  /* the registry has its table, under its index_keys */
    uint64_t read_at; /* in searches */
} kept_map;

struct large {
    kept_map maps[KEPT];
    uint64_t searches;
};

/* Their addresses are the keys of the tables. */
static const char index_keys[KEPT] = {0};

large *push_large(lua_State *L)
{
    static const char address = 0;

    return push_kept(L, &address, sizeof(large));
}

static void push_index_key(lua_State *L, int i)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)&index_keys[i]);
}

static void forget_map(lua_State *L, large *self, int i)
{
    self->maps[i] = (kept_map){.map = NULL};
    push_index_key(L, i);
    lua_pushnil(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void large_release(lua_State *L, large *self, const whole *owner)
{
    for (int i = 0; i < KEPT; i++) {
        if (self->maps[i].map != NULL && self->maps[i].owner == owner) {
            forget_map(L, self, i);
        }
    }
}

/* The slot of a map, which may take that of the map that was not read for the
 * longest time. */
static int keep_map(lua_State *L, large *self, const whole *owner,
                    const kl_value *map)
{
    int oldest = 0;

    for (int i = 0; i < KEPT; i++) {
        if (self->maps[i].map == map) {
            return i;
        }
        if (self->maps[i].read_at < self->maps[oldest].read_at) {
            oldest = i;
        }
    }
    forget_map(L, self, oldest);
    self->maps[oldest].owner = owner;
    self->maps[oldest].map = map;
    return oldest;
}

/* Pushes a table of the map's values, as light userdata. */
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

/* Pushes the table of a slot, which it makes if necessary. */
static void open_index(lua_State *L, large *self, int slot)
{
    kept_map *at = &self->maps[slot];
    const kl_value *map = at->map;

    if (at->is_indexed) {
        push_index_key(L, slot);
        lua_rawget(L, LUA_REGISTRYINDEX);
        return;
    }
    push_index(L, map);
    if (at->map != map) {
        return; /* a finalizer has read other maps meanwhile */
    }
    push_index_key(L, slot);
    lua_pushvalue(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    at->is_indexed = true; /* last: lua_rawset may run out of memory */
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
    int slot = keep_map(L, kept, self->whole, map);
    kept_map *at = &kept->maps[slot];

    lua_pop(L, 1);
    at->read_at = ++kept->searches;
    if (!at->is_indexed && ++at->asked <= ASKED) {
        return kl_value_get_n(map, text, length);
    }
    open_index(L, kept, slot);
    /* index */
    lua_pushvalue(L, name);
    lua_rawget(L, -2);
    found = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return found;
}
