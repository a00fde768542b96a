/*
 * convert.c - JSON values as Lua values, and Lua values as JSON text. A copy
 * that is written back unchanged gives the same JSON: also empty arrays, nulls,
 * and integers that no Lua number can hold.
 */
#include "binding.h"

#include <math.h>
#include <string.h>

/* A double holds every integer up to this one (IEEE 754). */
static const double EXACT = 9007199254740992.0;

static bool push_exact(lua_State *L, const kl_value *value)
{
    int64_t integer = kl_value_integer(value);

#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)integer);
    return true;
#else
    if (integer >= -(int64_t)EXACT && integer <= (int64_t)EXACT) {
        lua_pushnumber(L, (lua_Number)integer);
        return true;
    }
    return false;
#endif
}

/* Pushes an integer that no Lua number can hold: a userdata with its digits. */
static void push_digits(lua_State *L, const char *digits, size_t length)
{
    char *box = lua_newuserdata(L, length + 1);

    memcpy(box, digits, length);
    box[length] = '\0';
    luaL_getmetatable(L, TYPE_NUMBER);
    lua_setmetatable(L, -2);
}

static void push_number(lua_State *L, const kl_value *value)
{
    char digits[24];
    const char *text;
    size_t length;
    int written;

    switch (kl_value_type(value)) {
    case KL_INTEGER:
        if (push_exact(L, value)) {
            return;
        }
        written = snprintf(digits, sizeof(digits), "%lld",
                           (long long)kl_value_integer(value));
        break;
    case KL_UNSIGNED:
        written = snprintf(digits, sizeof(digits), "%llu",
                           (unsigned long long)kl_value_unsigned(value));
        break;
    case KL_NUMBER:
        text = kl_value_string(value, &length);
        push_digits(L, text, length);
        return;
    default:
        lua_pushnumber(L, kl_value_real(value));
        return;
    }
    push_digits(L, digits, (size_t)written);
}

bool push_scalar(lua_State *L, const kl_value *value)
{
    const char *text;
    size_t length;

    switch (kl_value_type(value)) {
    case KL_NULL:
        lua_pushlightuserdata(L, NULL);
        return true;
    case KL_BOOL:
        lua_pushboolean(L, kl_value_bool(value));
        return true;
    case KL_STRING:
        text = kl_value_string(value, &length);
        lua_pushlstring(L, text, length);
        return true;
    case KL_ARRAY:
    case KL_OBJECT:
        return false;
    default:
        push_number(L, value);
        return true;
    }
}

/* The recursion is bounded: text nested deeper than KL_MAX_DEPTH does not
 * parse. */
void push_copy(lua_State *L, const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *key, *item;
    int size = (int)kl_value_size(value);

    luaL_checkstack(L, 4, "JSON nested too deep");
    if (push_scalar(L, value)) {
        return;
    }
    if (kl_value_type(value) == KL_ARRAY) {
        lua_createtable(L, size, 0);
        luaL_getmetatable(L, TYPE_ARRAY);
        lua_setmetatable(L, -2);
        while ((item = kl_value_next(value, &iter, NULL)) != NULL) {
            push_copy(L, item);
            lua_rawseti(L, -2, (int)iter.index);
        }
        return;
    }
    lua_createtable(L, 0, size);
    while ((item = kl_value_next(value, &iter, &key)) != NULL) {
        /* table */
        push_scalar(L, key);
        push_copy(L, item);
        lua_rawset(L, -3);
    }
}

static void write_value(lua_State *L, kl_writer *writer, int index, int depth);

static void write_lua_number(lua_State *L, kl_writer *writer, int index)
{
    lua_Number number = lua_tonumber(L, index);

#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, index)) {
        kl_writer_integer(writer, (int64_t)lua_tointeger(L, index));
        return;
    }
#endif
    /* 3.0 is written as 3: an API server refuses 3.0 for an integer field. */
    if (number == floor(number) && fabs(number) <= EXACT) {
        kl_writer_integer(writer, (int64_t)number);
        return;
    }
    if (!isfinite(number)) {
        misuse(L, "JSON has no number for %f", number);
    }
    kl_writer_real(writer, number);
}

/* The length of an array: a table marked as one, or with the keys 1..n only.
 * -1: it is an object, as is an empty table without the mark. */
static lua_Integer array_length(lua_State *L, int index)
{
    lua_Integer length = (lua_Integer)lua_rawlen(L, index);
    lua_Integer count = 0;
    bool marked = false;

    if (lua_getmetatable(L, index)) {
        luaL_getmetatable(L, TYPE_ARRAY);
        marked = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TNUMBER) {
            if (marked || count > 0) {
                misuse(L,
                       "a table with both list items and the key '%s' "
                       "is neither a JSON array nor an object",
                       lua_tostring(L, -1));
            }
            lua_pop(L, 1);
            return -1;
        }
        count++;
    }
    if (count != length) {
        misuse(L, "a list with holes has no JSON form; write kubelua.null "
                  "where a null is meant");
    }
    return count > 0 || marked ? length : -1;
}

static void write_table(lua_State *L, kl_writer *writer, int index, int depth)
{
    lua_Integer length = array_length(L, index);

    if (length >= 0) {
        kl_writer_begin_array(writer);
        for (lua_Integer i = 1; i <= length; i++) {
            lua_rawgeti(L, index, (int)i);
            write_value(L, writer, lua_gettop(L), depth + 1);
            lua_pop(L, 1);
        }
        kl_writer_end_array(writer);
        return;
    }
    kl_writer_begin_object(writer);
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        /* key, value */
        size_t size;
        const char *name;

        if (lua_type(L, -2) != LUA_TSTRING) {
            misuse(L, "a JSON object's keys are strings, not %s",
                   luaL_typename(L, -2));
        }
        name = lua_tolstring(L, -2, &size);
        kl_writer_name(writer, name, size);
        write_value(L, writer, lua_gettop(L), depth + 1);
        lua_pop(L, 1);
    }
    kl_writer_end_object(writer);
}

static void write_userdata(lua_State *L, kl_writer *writer, int index)
{
    const kl_value *value = to_value(L, index);

    if (value != NULL) {
        kl_writer_value(writer, value);
    } else {
        const char *digits = luaL_checkudata(L, index, TYPE_NUMBER);

        kl_writer_raw(writer, digits, strlen(digits));
    }
}

static void write_value(lua_State *L, kl_writer *writer, int index, int depth)
{
    size_t length;
    const char *text;

    luaL_checkstack(L, 6, "table nested too deep");
    if (depth > KL_MAX_DEPTH) {
        misuse(L, "a table nested deeper than %d, or within itself",
               KL_MAX_DEPTH);
    }
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
        kl_writer_bool(writer, lua_toboolean(L, index));
        break;
    case LUA_TNUMBER:
        write_lua_number(L, writer, index);
        break;
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &length);
        kl_writer_string(writer, text, length);
        break;
    case LUA_TTABLE:
        write_table(L, writer, index, depth);
        break;
    case LUA_TLIGHTUSERDATA:
        kl_writer_null(writer); /* kubelua.null, cjson.null, ngx.null */
        break;
    case LUA_TUSERDATA:
        write_userdata(L, writer, index);
        break;
    default:
        misuse(L, "a %s has no JSON form", luaL_typename(L, index));
    }
}

static int writer_gc(lua_State *L)
{
    kl_writer **writer = lua_touserdata(L, 1);

    kl_writer_free(*writer);
    *writer = NULL;
    return 0;
}

kl_writer **push_writer_guard(lua_State *L)
{
    kl_writer **writer = lua_newuserdata(L, sizeof(kl_writer *));

    *writer = NULL;
    luaL_getmetatable(L, "kubelua.writer");
    lua_setmetatable(L, -2);
    *writer = kl_writer_new();
    if (*writer == NULL) {
        luaL_error(L, "out of memory");
    }
    return writer;
}

const char *push_json(lua_State *L, int index, size_t *length)
{
    int value = COMPAT_ABSINDEX(L, index);
    kl_writer **writer = push_writer_guard(L);
    const char *text;
    kl_error err;
    size_t size;

    /* writer */
    write_value(L, *writer, value, 0);
    text = kl_writer_finish(*writer, &size, &err);
    if (text == NULL) {
        misuse(L, "%s", err.message);
    }
    lua_pushlstring(L, text, size);
    lua_replace(L, -2);
    return lua_tolstring(L, -1, length);
}

/* core.encode(value): its JSON text. */
static int encode_json(lua_State *L)
{
    luaL_checkany(L, 1);
    push_json(L, 1, NULL);
    return 1;
}

static int doc_gc(lua_State *L)
{
    kl_doc **doc = lua_touserdata(L, 1);

    kl_doc_unref(*doc);
    *doc = NULL;
    return 0;
}

kl_doc **push_doc_guard(lua_State *L)
{
    kl_doc **doc = lua_newuserdata(L, sizeof(kl_doc *));

    *doc = NULL;
    luaL_getmetatable(L, "kubelua.doc");
    lua_setmetatable(L, -2);
    return doc;
}

/* core.decode(text): the value, with kubelua.null for null. */
static int decode_json(lua_State *L)
{
    size_t length;
    const char *text;
    kl_doc **doc;
    kl_error err;

    check_string(L, 1, "kubelua.decode", "the text");
    text = lua_tolstring(L, 1, &length);
    doc = push_doc_guard(L);
    *doc = kl_doc_parse(text, length, &err);
    if (*doc == NULL) {
        return push_error(L, &err);
    }
    push_copy(L, kl_doc_root(*doc));
    return 1;
}

/* core.array(table): marks a table as a JSON array, and returns it. */
static int mark_array(lua_State *L)
{
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_getmetatable(L, TYPE_ARRAY);
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

static int number_tostring(lua_State *L)
{
    lua_pushstring(L, luaL_checkudata(L, 1, TYPE_NUMBER));
    return 1;
}

static int number_eq(lua_State *L)
{
    const char *a = test_type(L, 1, TYPE_NUMBER);
    const char *b = test_type(L, 2, TYPE_NUMBER);

    lua_pushboolean(L, a != NULL && b != NULL && strcmp(a, b) == 0);
    return 1;
}

void bind_convert(lua_State *L)
{
    static const luaL_Reg number_methods[] = {
        {"__tostring", number_tostring}, {"__eq", number_eq}, {NULL, NULL}};
    static const luaL_Reg writer_methods[] = {{"__gc", writer_gc},
                                              {NULL, NULL}};
    static const luaL_Reg doc_methods[] = {{"__gc", doc_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"encode", encode_json},
                                         {"decode", decode_json},
                                         {"array", mark_array},
                                         {NULL, NULL}};

    push_type(L, TYPE_NUMBER, number_methods);
    push_type(L, "kubelua.writer", writer_methods);
    push_type(L, "kubelua.doc", doc_methods);
    luaL_newmetatable(L, TYPE_ARRAY);
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
}
