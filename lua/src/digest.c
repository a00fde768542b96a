/*
 * digest.c - tells whether a Lua value is written as the same JSON as an
 * earlier one, without writing it: run:apply asks that for each document. The
 * digest is of this process only. Its key is secret: what a tenant of the
 * cluster has chosen cannot be made to look like something else.
 */
#include "binding.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

__extension__ typedef unsigned __int128 wide;

typedef struct digest {
    uint64_t first;
    uint64_t second;
} digest;

/* What a value is; equal bytes of different kinds differ. */
enum { NULL_VALUE, BOOLEAN, INTEGER, REAL, DIGITS, TEXT, PART, ARRAY, OBJECT };

/* Levels of tables that are looked at; documents have ten. */
enum { DEEPEST = 40 };

static uint64_t process_key[6];

__attribute__((constructor)) static void choose_process_key(void)
{
    ssize_t got = getrandom(process_key, sizeof(process_key), GRND_NONBLOCK);

    if (got != (ssize_t)sizeof(process_key)) { /* right after the boot */
        for (size_t i = 0; i < sizeof(process_key) / sizeof(uint64_t); i++) {
            process_key[i] += ((uint64_t)(uintptr_t)&got ^ (uint64_t)clock()) *
                              (0x9e3779b97f4a7c15 + 2 * i);
        }
    }
}

static uint64_t fold(uint64_t x, uint64_t y)
{
    wide product = (wide)x * y;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void add_words(digest *to, const uint64_t words[2])
{
    to->first = fold(words[0] ^ process_key[0], words[1] ^ to->first);
    to->second = fold(words[0] ^ to->second, words[1] ^ process_key[1]);
}

static digest digest_bytes(uint64_t kind, const void *bytes, size_t length)
{
    const char *from = bytes;
    digest made = {process_key[2] ^ kind, process_key[3] + kind};
    uint64_t words[2] = {0, 0};

    for (size_t left = length; left > 0;) {
        size_t size = left < sizeof(words) ? left : sizeof(words);

        words[0] = words[1] = 0;
        memcpy(words, from, size);
        add_words(&made, words);
        from += size;
        left -= size;
    }
    words[0] = length ^ process_key[4];
    words[1] = kind ^ process_key[5];
    add_words(&made, words);
    return made;
}

static bool digest_number(lua_State *L, int index, digest *made)
{
    double number = (double)lua_tonumber(L, index);
    int64_t integer = (int64_t)lua_tointeger(L, index);

    if (!isfinite(number)) {
        return false;
    }
    if ((lua_Number)integer == lua_tonumber(L, index)) {
        *made = digest_bytes(INTEGER, &integer, sizeof(integer));
    } else {
        *made = digest_bytes(REAL, &number, sizeof(number));
    }
    return true;
}

static bool digest_userdata(lua_State *L, int index, digest *made)
{
    const kl_value *part = to_value(L, index);
    const char *digits = test_type(L, index, TYPE_NUMBER);
    char hash[KL_HASH_SIZE];
    kl_error err;

    if (digits != NULL) {
        *made = digest_bytes(DIGITS, digits, strlen(digits));
        return true;
    }
    if (part == NULL || kl_value_hash(part, hash, &err) != KL_OK) {
        return false;
    }
    *made = digest_bytes(PART, hash, strlen(hash));
    return true;
}

static bool digest_value(lua_State *L, int index, int level, digest *made);

/* Counts the members of the table on top of the stack, by the type of their
 * names, and adds up their digests: their order does not matter. */
static bool add_members(lua_State *L, int level, size_t counts[2], digest *sum)
{
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        int type = lua_type(L, -2);
        digest member[2], both;

        if ((type != LUA_TSTRING && type != LUA_TNUMBER) ||
            !digest_value(L, lua_gettop(L) - 1, level, &member[0]) ||
            !digest_value(L, lua_gettop(L), level, &member[1])) {
            return false;
        }
        counts[type == LUA_TNUMBER]++;
        both = digest_bytes(OBJECT, member, sizeof(member));
        sum->first += both.first;
        sum->second += both.second;
        lua_pop(L, 1);
    }
    return true;
}

/* The table is on top of the stack. */
static bool digest_table(lua_State *L, int level, digest *made)
{
    size_t counts[2] = {0, 0}; /* of names, of indexes */
    bool is_marked = false;
    digest sum = {0, 0};

    if (lua_getmetatable(L, -1)) {
        luaL_getmetatable(L, TYPE_ARRAY);
        is_marked = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
        if (!is_marked) {
            return false; /* it stands for a text, such as a quantity */
        }
    }
    if (level == DEEPEST || !add_members(L, level + 1, counts, &sum) ||
        (counts[0] > 0 && (counts[1] > 0 || is_marked)) ||
        (counts[1] > 0 && counts[1] != lua_rawlen(L, -1))) {
        return false;
    }
    *made = digest_bytes(counts[1] > 0 || is_marked ? ARRAY : OBJECT, &sum,
                         sizeof(sum));
    return true;
}

/* False: the slower core.hash is needed, or the value has no JSON form. The
 * Lua stack is then left as it is. `index` is absolute. */
static bool digest_value(lua_State *L, int index, int level, digest *made)
{
    int type = lua_type(L, index), is_true;
    size_t length;
    const char *text;
    bool is_known;

    switch (type) {
    case LUA_TBOOLEAN:
        is_true = lua_toboolean(L, index);
        *made = digest_bytes(BOOLEAN, &is_true, sizeof(is_true));
        return true;
    case LUA_TNUMBER:
        return digest_number(L, index, made);
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &length);
        *made = digest_bytes(TEXT, text, length);
        return true;
    case LUA_TNIL: /* an option that is not given */
    case LUA_TLIGHTUSERDATA:
        *made = digest_bytes(NULL_VALUE, "", (size_t)(type == LUA_TNIL));
        return true;
    case LUA_TUSERDATA:
        return digest_userdata(L, index, made);
    case LUA_TTABLE:
        lua_pushvalue(L, index);
        is_known = digest_table(L, level, made);
        if (is_known) {
            lua_pop(L, 1);
        }
        return is_known;
    default:
        return false;
    }
}

/* core.digest(value, ...): 16 bytes, which are equal for equal JSON; nil: the
 * values have to be compared by core.hash. */
static int push_digest(lua_State *L)
{
    int count = lua_gettop(L);
    digest made = {0, 0}, all[2] = {{0, 0}, {0, 0}};

    luaL_checkstack(L, 4 * DEEPEST + 8, "values nested too deep");
    for (int i = 1; i <= count; i++) {
        if (!digest_value(L, i, 0, &all[1])) {
            lua_pushnil(L);
            return 1;
        }
        made = digest_bytes(ARRAY, all, sizeof(all));
        all[0] = made;
    }
    lua_pushlstring(L, (const char *)&made, sizeof(made));
    return 1;
}

void bind_digest(lua_State *L)
{
    lua_pushcfunction(L, push_digest);
    lua_setfield(L, -2, "digest");
}
