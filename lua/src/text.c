/*
 * text.c - converts values to text and back: base64, RFC 3339 times, and hashes
 * for use in names.
 */
#include "binding.h"

#include <math.h>
#include <string.h>

/* core.base64(text) */
static int base64(lua_State *L)
{
    size_t length, written = 0;
    const char *bytes;
    char **text;
    kl_error err;

    check_string(L, 1, "kubelua.base64", "the text");
    bytes = lua_tolstring(L, 1, &length);
    text = push_text_guard(L);
    *text = kl_base64_encode(bytes, length, &written, &err);
    if (*text == NULL) {
        return luaL_error(L, "%s", err.message);
    }
    lua_pushlstring(L, *text, written);
    return 1;
}

/* core.unbase64(text): the bytes; or nil, message, code. */
static int unbase64(lua_State *L)
{
    size_t length, decoded = 0;
    const char *text;
    char **bytes;
    kl_error err;

    check_string(L, 1, "kubelua.unbase64", "the text");
    text = lua_tolstring(L, 1, &length);
    bytes = push_text_guard(L);
    *bytes = kl_base64_decode(text, length, &decoded, &err);
    if (*bytes == NULL) {
        return push_error(L, &err);
    }
    lua_pushlstring(L, *bytes, decoded);
    return 1;
}

/* core.hash(value) */
static int hash(lua_State *L)
{
    const kl_value *value;
    char text[KL_HASH_SIZE];
    kl_doc **doc;
    kl_error err;

    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        return misuse(L, "kubelua.hash: a value expected, such as a table; "
                         "kubelua.null is JSON's null");
    }
    value = to_value(L, 1);
    if (value == NULL) {
        size_t length;
        const char *json = push_json(L, 1, &length);

        doc = push_doc_guard(L);
        *doc = kl_doc_parse(json, length, &err);
        if (*doc == NULL) {
            return misuse(L, "%s", err.message);
        }
        value = kl_doc_root(*doc);
    }
    if (kl_value_hash(value, text, &err) != KL_OK) {
        return luaL_error(L, "%s", err.message);
    }
    lua_pushstring(L, text);
    return 1;
}

/* core.time(text): Unix seconds; or nil, message, code. */
static int parse_time(lua_State *L)
{
    size_t length;
    const char *text;
    kl_time time;
    kl_error err;

    check_string(L, 1, "kubelua.time", "the text");
    text = lua_tolstring(L, 1, &length);
    if (kl_time_parse(text, &time, &err) != KL_OK) {
        return push_error(L, &err);
    }
    if (strlen(text) != length) {
        kl_error_set(&err, KL_EPARSE, "'%.100s...' has a NUL byte", text);
        return push_error(L, &err);
    }
    if (time.nanoseconds == 0 &&
        (lua_Integer)time.seconds ==
            time.seconds) { /* lua_Integer may have 32 bits */
        lua_pushinteger(L, (lua_Integer)time.seconds);
    } else {
        lua_pushnumber(L, (lua_Number)time.seconds + time.nanoseconds / 1e9);
    }
    return 1;
}

/* Seconds as a time. With digits, the fraction is rounded to microseconds: the
 * double of ".000001" may be a little less than that. */
static kl_time to_time(double seconds, int digits)
{
    kl_time time = {.seconds = (int64_t)floor(seconds)};

    if (digits > 0) {
        int64_t micros = llround((seconds - floor(seconds)) * 1e6);

        time.seconds += micros / 1000000;
        time.nanoseconds = (int32_t)(micros % 1000000) * 1000;
    }
    return time;
}

/* core.timestamp(seconds, digits): the text of that time; digits: nil or 6. */
static int timestamp(lua_State *L)
{
    char text[KL_TIME_SIZE];
    double seconds;
    int digits = 0;
    kl_error err;

    seconds = lua_tonumber(L, 1);
    if (lua_type(L, 1) != LUA_TNUMBER || !isfinite(seconds) ||
        fabs(seconds) > 1e15) {
        return misuse(L, "kubelua.timestamp: a number of seconds since 1970 "
                         "expected, in the years 0001 to 9999");
    }
    if (!lua_isnoneornil(L, 2)) {
        digits =
            lua_type(L, 2) == LUA_TNUMBER && lua_tonumber(L, 2) == 6 ? 6 : -1;
    }
    if (kl_time_format(to_time(seconds, digits), digits, text, &err) != KL_OK) {
        return misuse(L, "kubelua.timestamp: %s", err.message);
    }
    lua_pushstring(L, text);
    return 1;
}

void bind_text(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"base64", base64},   {"unbase64", unbase64},   {"hash", hash},
        {"time", parse_time}, {"timestamp", timestamp}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
