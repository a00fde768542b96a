/*
 * answer.c - what the verbs (lua/kubelua/verbs) need in C: the objects of a
 * list's answer, and the built-in kinds, for which no server is asked.
 */
#include "view.h"

#include <string.h>

static void set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static void set_bool(lua_State *L, const char *name, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

/* core.builtin_kind(name): the kind as a table; nil: the server must be
 * asked. */
static int builtin_kind(lua_State *L)
{
    const kl_kind *kind = kl_kind_builtin(check_text(L, 1));

    if (kind == NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_createtable(L, 0, 8);
    set_text(L, "group", kind->group);
    set_text(L, "version", kind->version);
    set_text(L, "kind", kind->kind);
    set_text(L, "plural", kind->plural);
    set_bool(L, "namespaced", kind->namespaced);
    set_bool(L, "has_status", kind->has_status);
    if (kind->group[0] == '\0') {
        set_text(L, "api_version", kind->version);
    } else {
        lua_pushfstring(L, "%s/%s", kind->group, kind->version);
        lua_setfield(L, -2, "api_version");
    }
    return 1;
}

static int list_gc(lua_State *L)
{
    kl_list_clear(lua_touserdata(L, 1));
    return 0;
}

/* Charges the objects of the array on top of the stack. */
static void charge_objects(lua_State *L)
{
    int count = (int)lua_rawlen(L, -1);

    for (int i = 1; i <= count; i++) {
        whole *each;

        lua_rawgeti(L, -1, i);
        each = lua_touserdata(L, -1);
        account_charge(L, each, kl_object_bytes(each->object));
        lua_pop(L, 1);
    }
}

/* core.list(text, api_version, kind): an array of the list's objects, the token
 * of its next page ("": this is the last page), and an array of what cannot be
 * read, nil if there is nothing; or nil, message, code. Items of a list have no
 * apiVersion and no kind, so the arguments give them. */
static int parse_list(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    kl_object_options options = {.api_version = check_text(L, 2),
                                 .kind = check_text(L, 3)};
    kl_list_page *list = lua_newuserdata(L, sizeof(*list));
    kl_error err;

    *list = (kl_list_page){0};
    luaL_getmetatable(L, "kubelua.page");
    lua_setmetatable(L, -2);
    if (kl_list_parse(text, length, &options, list, &err) != KL_OK) {
        return push_error(L, &err);
    }
    push_object_list(L, &list->objects);
    charge_objects(L);
    lua_pushstring(L, list->continue_token);
    if (list->unreadable.count == 0) {
        return 2;
    }
    lua_newtable(L);
    push_unreadable(L, &list->unreadable);
    return 3;
}

void bind_answer(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"builtin_kind", builtin_kind}, {"list", parse_list}, {NULL, NULL}};

    static const luaL_Reg methods[] = {{"__gc", list_gc}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
    push_type(L, "kubelua.page", methods);
}
