-- luarocks --lua-version=5.4 make rockspec/kubelua-0.2.0-1.rockspec: the modules for one Lua, with the
-- libraries beside them, and the command. LuaJIT is 5.1 here; cmake/lua.cmake refuses other Luas.
rockspec_format = "3.0"
package = "kubelua"
version = "0.2.0-1"
source = { url = "git+https://github.com/kubelua/kubelua.git", tag = "v0.2.0" }
description = {
    summary = "Kubernetes informers for Lua, over a C core",
    detailed = "React to a Kubernetes cluster from a Lua script: list-watch, indexed caches, handlers.",
    license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.1, < 5.5, ~= 5.2, ~= 5.3", "lua-cjson", "argparse",
    "luassert" }
-- The command names its interpreter itself: LuaRocks' wrapper would run LuaJIT's in plain Lua 5.1.
deploy = { wrap_bin_scripts = false }
build = {
    type = "cmake",
    variables = {
        CMAKE_BUILD_TYPE = "Release",
        CMAKE_INSTALL_PREFIX = "$(PREFIX)",
        KUBELUA_TESTS = "OFF",
        KUBELUA_EXAMPLES = "OFF",
        KUBELUA_SIM = "AUTO",
        KUBELUA_INSTALL_CORE = "OFF",
        KUBELUA_INTERPRETER = "$(LUA)",
        CMAKE_INSTALL_BINDIR = "$(BINDIR)",
        KUBELUA_LUA_INCLUDE_DIR = "$(LUA_INCDIR)",
        KUBELUA_LUA_LIBDIR = "$(LIBDIR)",
        KUBELUA_LUA_DATADIR = "$(LUADIR)",
    },
}
