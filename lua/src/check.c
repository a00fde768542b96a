/*
 * check.c - reads arguments and option tables. A wrong type or an unknown name
 * is a mistake of the script: it raises an error that says what was expected.
 */
#include "binding.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* A hundred years: a longer time is a mistake of units. */
static const double MAX_SECONDS = 100.0 * 365 * 86400;

/* Raw access: no table refers to a value that a metamethod returns, so Lua
 * could collect its text before the text is used. */
void push_option(lua_State *L, int index, const char *name)
{
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushstring(L, name);
    lua_rawget(L, index);
}

const char *option_string(lua_State *L, int index, const char *name)
{
    const char *text = NULL;

    push_option(L, index, name);
    if (lua_type(L, -1) == LUA_TSTRING) {
        size_t length;

        text = lua_tolstring(L, -1, &length);
        if (strlen(text) != length) {
            misuse(L, "option '%s' has a NUL byte", name);
        }
    } else if (!lua_isnil(L, -1)) {
        misuse(L, "option '%s' must be a string, not a %s", name,
               luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return text;
}

const char *const *push_texts(lua_State *L, int index, const char *name)
{
    const char **texts;
    size_t count;

    push_option(L, index, name);
    /* array or nil */
    if (lua_isnil(L, -1)) {
        return NULL;
    }
    luaL_checktype(L, -1, LUA_TTABLE);
    count = lua_rawlen(L, -1);
    texts = lua_newuserdata(L, (count + 1) * sizeof(*texts));
    /* array, texts */
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, -2, (int)i + 1);
        texts[i] = check_text(L, -1);
        lua_pop(L, 1);
    }
    texts[count] = NULL;
    return texts;
}

void check_string(lua_State *L, int index, const char *call, const char *what)
{
    if (lua_type(L, index) != LUA_TSTRING) {
        misuse(L, "%s: %s must be a string, not a %s", call, what,
               luaL_typename(L, index));
    }
}

const char *check_text(lua_State *L, int index)
{
    size_t length;
    const char *text = luaL_checklstring(L, index, &length);

    if (strlen(text) != length) {
        misuse(L, "'%s...' has a NUL byte", text);
    }
    return text;
}

bool option_bool(lua_State *L, int index, const char *name)
{
    bool value;

    push_option(L, index, name);
    if (!lua_isnil(L, -1) && !lua_isboolean(L, -1)) {
        misuse(L, "option '%s' must be true or false, not a %s", name,
               luaL_typename(L, -1));
    }
    value = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

static int64_t seconds_to_ms(lua_State *L, double seconds, const char *what)
{
    if (isnan(seconds) || seconds < 0 || seconds > MAX_SECONDS) {
        misuse(L,
               "%s must be a number of seconds, from 0 to a "
               "hundred years",
               what);
    }
    return (int64_t)ceil(seconds * 1000);
}

int64_t option_ms(lua_State *L, int index, const char *name, int64_t absent)
{
    int64_t ms = absent;

    push_option(L, index, name);
    if (lua_type(L, -1) == LUA_TNUMBER) {
        ms = seconds_to_ms(L, lua_tonumber(L, -1), name);
    } else if (!lua_isnil(L, -1)) {
        misuse(L, "option '%s' must be a number of seconds, not a %s", name,
               luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return ms;
}

int option_integer(lua_State *L, int index, const char *name)
{
    int value = 0;

    push_option(L, index, name);
    if (lua_type(L, -1) == LUA_TNUMBER) {
        lua_Number number = lua_tonumber(L, -1);

        if (!(number >= 0 && number <= INT_MAX && floor(number) == number)) {
            misuse(L, "option '%s' must be an integer from 0 to %d", name,
                   INT_MAX);
        }
        value = (int)number;
    } else if (!lua_isnil(L, -1)) {
        misuse(L, "option '%s' must be a number, not a %s", name,
               luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return value;
}

/* RFC 1123: a namespace's name is one label. */
void check_namespace(lua_State *L, const char *call, const char *name)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = name != NULL ? strlen(name) : 0;

    if (name != NULL &&
        (length == 0 || length > 63 || name[0] == '-' ||
         name[length - 1] == '-' || strspn(name, inner) != length)) {
        misuse(
            L,
            "%s: '%s' cannot be a namespace, which is one name of lower-case "
            "letters, digits and dashes; \"*\" is all of them",
            call, name);
    }
}

int64_t check_ms(lua_State *L, int index, int64_t absent)
{
    if (lua_isnoneornil(L, index)) {
        return absent;
    }
    return seconds_to_ms(L, luaL_checknumber(L, index), "the time");
}

static bool is_among(const char *key, const char *const *names)
{
    while (*names != NULL && strcmp(*names, key) != 0) {
        names++;
    }
    return *names != NULL;
}

static void refuse_option(lua_State *L, const char *what, const char *key,
                          const char *const *names)
{
    luaL_Buffer all;

    luaL_buffinit(L, &all);
    for (const char *const *name = names; *name != NULL; name++) {
        luaL_addstring(&all, name == names ? "" : ", ");
        luaL_addstring(&all, *name);
    }
    luaL_pushresult(&all);
    misuse(L, "%s has no option '%s'; there are: %s", what, key,
           lua_tostring(L, -1));
}

void check_options(lua_State *L, int index, const char *what,
                   const char *const *names)
{
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        /* key, value */
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING) {
            misuse(L, "%s takes options by name, such as { %s = ... }", what,
                   names[0]);
        } else if (!is_among(lua_tostring(L, -1), names)) {
            refuse_option(L, what, lua_tostring(L, -1), names);
        }
    }
}
