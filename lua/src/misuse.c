/*
 * misuse.c - errors for mistakes of the script, with the script's own line.
 * Also the two tables that Lua has for a userdata of this module: methods and
 * state.
 */
#include "binding.h"

#include <stdarg.h>
#include <string.h>

/* A registry field: chunk names with one of these prefixes are KubeLua's
 * own. */
static const char OWN_SOURCES[] = "kubelua.own_sources";

static bool is_own(lua_State *L, const char *source)
{
    bool found = false;
    int count;

    lua_getfield(L, LUA_REGISTRYINDEX, OWN_SOURCES);
    count = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
    for (int i = 1; i <= count && !found; i++) {
        size_t length;
        const char *prefix;

        lua_rawgeti(L, -1, i); /* sources, prefix */
        prefix = lua_tolstring(L, -1, &length);
        found = strncmp(source, prefix, length) == 0;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return found;
}

/* Pushes "script.lua:12: ", or "" if no function of a script is on the stack.
 * Returns the level of that function, 0 if there is none. */
static int push_script_line(lua_State *L)
{
    lua_Debug frame;

    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        if (lua_getinfo(L, "Sl", &frame) != 0 && frame.currentline > 0 &&
            !is_own(L, frame.source)) {
            lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
            return level;
        }
    }
    lua_pushliteral(L, "");
    return 0;
}

/* Replaces the text on top of the stack, which contains arguments of the
 * script, by what a terminal can show. */
static void escape_top(lua_State *L)
{
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    char *escaped = lua_newuserdata(L, 4 * length + 1);

    length = kl_text_escape(escaped, 4 * length + 1, text, length,
                            KL_INDENTED_LINES);
    lua_pushlstring(L, escaped, length); /* text, userdata, escaped */
    lua_replace(L, -3);
    lua_pop(L, 1);
}

int misuse(lua_State *L, const char *format, ...)
{
    va_list arguments;

    luaL_checkstack(L, LUA_MINSTACK, "for the text of an error");
    (void)push_script_line(L);
    va_start(arguments, format);
    lua_pushvfstring(L, format, arguments);
    va_end(arguments);
    lua_concat(L, 2);
    escape_top(L);
    return lua_error(L);
}

/* core.misuse(message): raises the message with the line of the script. */
static int raise_misuse(lua_State *L)
{
    luaL_checkstring(L, 1);
    luaL_checkstack(L, LUA_MINSTACK, "for the text of an error");
    lua_settop(L, 1);
    push_script_line(L);
    lua_insert(L, 1);
    lua_concat(L, 2); /* not by misuse(): the text may have NUL bytes */
    escape_top(L);
    return lua_error(L);
}

/* core.script_line(): "script.lua:12: ", the line of the script that is being
 * run, and its level for debug.getinfo; "" alone if there is none on the
 * stack. */
static int script_line(lua_State *L)
{
    int level = push_script_line(L);

    if (level > 0) {
        lua_pushinteger(L, level);
    }
    return level > 0 ? 2 : 1;
}

/* core.own_source(prefix): chunks with this prefix are KubeLua's own, so errors
 * are not attributed to their lines. */
static int own_source(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, OWN_SOURCES);
    if (lua_isnil(L, -1)) {
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, OWN_SOURCES);
    }
    /* sources */
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, (int)lua_rawlen(L, -2) + 1);
    return 0;
}

static const char *const WITH_STATE[] = {TYPE_CLIENT, TYPE_INFORMER,
                                         TYPE_REGISTRATION, NULL};

/* core.state(userdata, type): the state; raises if it is of another type. */
static int push_checked_state(lua_State *L)
{
    const char *type = WITH_STATE[luaL_checkoption(L, 2, NULL, WITH_STATE)];

    if (test_type(L, 1, type) == NULL) {
        return misuse(L,
                      "a %s expected, not a %s: call its methods with a colon, "
                      "as in object:method()",
                      type, luaL_typename(L, 1));
    }
    push_state(L, 1);
    return 1;
}

/* core.methods(type): the table of its methods, for Lua to add to. */
static int push_methods(lua_State *L)
{
    int type = luaL_checkoption(L, 1, NULL, WITH_STATE);

    luaL_getmetatable(L, WITH_STATE[type]);
    lua_getfield(L, -1, "__index");
    return 1;
}

/* core.check_namespace(call, name or nil): raises if it cannot be a
 * namespace. */
static int check_namespace_argument(lua_State *L)
{
    if (!lua_isnoneornil(L, 2)) {
        check_namespace(L, luaL_checkstring(L, 1), check_text(L, 2));
    }
    return 0;
}

void bind_misuse(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"misuse", raise_misuse},
        {"script_line", script_line},
        {"own_source", own_source},
        {"check_namespace", check_namespace_argument},
        {"state", push_checked_state},
        {"methods", push_methods},
        {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
