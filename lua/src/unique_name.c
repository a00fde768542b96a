/*
 * unique_name.c - makes names of this process unique: the machine's name, and
 * random digits.
 */
#include "binding.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

/* A DNS name has at most 253 bytes; Linux keeps at most 64. */
enum { NAME_SIZE = 256, MOST_BYTES = 32 };

/* core.hostname(): in a container, the name of its pod; "localhost" if the
 * machine has no name. */
static int hostname(lua_State *L)
{
    char name[NAME_SIZE] = "";

    if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') {
        lua_pushliteral(L, "localhost");
    } else {
        lua_pushstring(L, name);
    }
    return 1;
}

/* core.random(bytes): that many random bytes (1 to 32) as hexadecimal digits.
 * Raises if the kernel gives none. */
static int random_digits(lua_State *L)
{
    lua_Integer count = luaL_checkinteger(L, 1);
    unsigned char bytes[MOST_BYTES];
    char digits[2 * MOST_BYTES + 1];

    luaL_argcheck(L, count >= 1 && count <= MOST_BYTES, 1, "1 to 32 bytes");
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return luaL_error(L, "the kernel gives no random bytes");
    }
    for (lua_Integer i = 0; i < count; i++) {
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    }
    lua_pushlstring(L, digits, 2 * (size_t)count);
    return 1;
}

void bind_host(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"hostname", hostname}, {"random", random_digits}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
