/*
 * shard.c - the parts that a ring of members shares out (kubelua/shard.h).
 * In Lua they are 1 to 256.
 */
#include "binding.h"

#include <string.h>

enum { MOST_MEMBERS = 65535 };

/* core.shard_part(text): the part of a key, or of another text. */
static int shard_part(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);

    lua_pushinteger(L, 1 + (lua_Integer)kl_shard_part(text, length));
    return 1;
}

/* core.shard_part_of_uid(uid) */
static int shard_part_of_uid(lua_State *L)
{
    size_t length;
    const char *uid = luaL_checklstring(L, 1, &length);

    lua_pushinteger(L, 1 + (lua_Integer)kl_shard_part_of_uid(uid, length));
    return 1;
}

/* The names at 1 and up of the table at 1; they live as long as it does. */
static const char **check_members(lua_State *L, size_t count)
{
    const char **members = lua_newuserdata(L, count * sizeof(*members));

    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (int)i + 1);
        luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 1, "a list of names");
        members[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    return members;
}

/* core.shard_owners(members): a table with the name of the member that has each
 * part; empty without members. `members` is a sorted list of names. */
static int shard_owners(lua_State *L)
{
    uint16_t owners[KL_SHARD_PARTS];
    const char **members;
    size_t count;

    luaL_checktype(L, 1, LUA_TTABLE);
    count = lua_rawlen(L, 1);
    luaL_argcheck(L, count <= MOST_MEMBERS, 1, "too many members");
    members = check_members(L, count);
    lua_createtable(L, count > 0 ? KL_SHARD_PARTS : 0, 0);
    kl_shard_assign(members, count, owners);
    for (int part = 0; count > 0 && part < KL_SHARD_PARTS; part++) {
        lua_rawgeti(L, 1, owners[part] + 1);
        lua_rawseti(L, -2, part + 1);
    }
    return 1;
}

/* Reads a set of parts. */
static void check_parts(lua_State *L, int index, bool parts[KL_SHARD_PARTS])
{
    luaL_checktype(L, index, LUA_TTABLE);
    for (int part = 0; part < KL_SHARD_PARTS; part++) {
        lua_rawgeti(L, index, part + 1);
        parts[part] = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
}

static uint32_t part_of(const kl_object *object, int by)
{
    const char *name_space = kl_object_namespace(object);
    const char *text = by == 0              ? kl_object_key(object)
                       : by == 1            ? kl_object_uid(object)
                       : name_space != NULL ? name_space
                                            : "";

    return by == 1 ? kl_shard_part_of_uid(text, strlen(text))
                   : kl_shard_part(text, strlen(text));
}

/* core.shard_keys(informer, by, parts): the keys of the objects whose parts are
 * in the set `parts`, by "key", "uid" or "namespace". */
static int shard_keys(lua_State *L)
{
    static const char *const ways[] = {"key", "uid", "namespace", NULL};
    int by = luaL_checkoption(L, 2, NULL, ways), count = 0;
    bool parts[KL_SHARD_PARTS];
    kl_object_list *list;
    kl_informer *informer;
    kl_error err;

    check_parts(L, 3, parts);
    list = push_list_guard(L);
    informer = check_informer(L, 1, &err);
    if (informer == NULL ||
        kl_informer_list(informer, NULL, NULL, list, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_newtable(L);
    for (size_t i = 0; i < list->count; i++) {
        if (parts[part_of(list->items[i], by)]) {
            lua_pushstring(L, kl_object_key(list->items[i]));
            lua_rawseti(L, -2, ++count);
        }
    }
    return 1;
}

void bind_shard(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"shard_part", shard_part},
        {"shard_part_of_uid", shard_part_of_uid},
        {"shard_owners", shard_owners},
        {"shard_keys", shard_keys},
        {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
