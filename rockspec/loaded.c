/*
 * loaded.c - in each C module of a rock, where the core is in kubelua/core.so
 * and no libkubelua.so is there: lets the modules that are loaded later, and
 * LuaJIT's FFI, find the core's functions, and keeps this one mapped, since its
 * threads outlive lua_close. In other builds the linker's options do both.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Lua has loaded the module in a way that hides its names from other libraries,
 * and that lets dlclose unload it. The names that it shows now all begin with
 * kl_ or luaopen_kubelua_. */
__attribute__((constructor)) static void keep_loaded(void)
{
    Dl_info own;

    if (dladdr((void *)keep_loaded, &own) == 0 ||
        dlopen(own.dli_fname,
               RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE | RTLD_NOLOAD) == NULL) {
        fprintf(stderr, "kubelua: %s cannot be kept loaded: %s\n",
                own.dli_fname, dlerror());
        abort();
    }
}
