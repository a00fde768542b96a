/*
 * main.c - the kubelua command as one file: an interpreter, KubeLua's C modules
 * and all Lua modules, which embedded.c holds. start.lua does the rest.
 */
#include "embedded.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int luaopen_kubelua_core(lua_State *L);
int luaopen_kubelua_serve(lua_State *L);
int luaopen_kubelua_simcore(lua_State *L);
int luaopen_cjson(lua_State *L);
int luaopen_cjson_safe(lua_State *L);

static const luaL_Reg C_MODULES[] = {
    {"kubelua.core", luaopen_kubelua_core},
    {"kubelua.serve", luaopen_kubelua_serve},
    {"kubelua.simcore", luaopen_kubelua_simcore},
    {"cjson", luaopen_cjson},
    {"cjson.safe", luaopen_cjson_safe},
};

/* The state that SIGINT interrupts. */
static lua_State *interrupted;

static void raise_interrupted(lua_State *L, lua_Debug *now)
{
    (void)now;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

/* As the interpreters of Lua do it: a hook may be set in a signal handler, and
 * raises at the next instruction. A second SIGINT ends the process. */
static void on_sigint(int number)
{
    signal(number, SIG_DFL);
    lua_sethook(interrupted, raise_interrupted,
                LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* load_embedded(name): the module's chunk, and the name of its file; nil if no
 * module of that name is in the file. */
static int load_embedded(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    for (const embedded_file *file = embedded_files; file->name != NULL;
         file++) {
        if (strcmp(file->name, name) == 0) {
            if (luaL_loadbuffer(L, (const char *)file->text, file->size,
                                file->source) != 0) {
                return lua_error(L);
            }
            lua_pushstring(L, file->source + 1);
            return 2;
        }
    }
    lua_pushnil(L);
    return 1;
}

static void preload_modules(lua_State *L)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload");
    for (size_t i = 0; i < sizeof(C_MODULES) / sizeof(C_MODULES[0]); i++) {
        lua_pushcfunction(L, C_MODULES[i].func);
        lua_setfield(L, -2, C_MODULES[i].name);
    }
    lua_pop(L, 2);
}

static void set_arguments(lua_State *L, int count, char **arguments)
{
    lua_createtable(L, count - 1, 1);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, arguments[i]);
        lua_rawseti(L, -2, i);
    }
    lua_setglobal(L, "arg");
}

/* Runs start.lua, which returns the exit status. The arguments of main are on
 * the stack, since this runs protected: memory may be missing. */
static int start(lua_State *L)
{
    int count = (int)lua_tointeger(L, 1);
    char **arguments = lua_touserdata(L, 2);

    luaL_openlibs(L);
    preload_modules(L);
    set_arguments(L, count, arguments);
    lua_settop(L, 0);
    lua_pushcfunction(L, load_embedded);
    lua_pushstring(L, "kubelua.start");
    lua_call(L, 1, 1);
    lua_pushcfunction(L, load_embedded);
    lua_call(L, 1, 1);
    return 1;
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    int status = EXIT_FAILURE;

    if (L == NULL) {
        fprintf(stderr, "kubelua: no memory for an interpreter\n");
        return EXIT_FAILURE;
    }
    interrupted = L;
    signal(SIGINT, on_sigint);
    lua_pushcfunction(L, start);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, (void *)argv);
    if (lua_pcall(L, 2, 1, 0) == 0) {
        status = (int)lua_tointeger(L, -1);
    } else {
        fprintf(stderr, "kubelua: %s\n", lua_tostring(L, -1));
    }
    signal(SIGINT, SIG_DFL);
    lua_close(L);
    return status;
}
