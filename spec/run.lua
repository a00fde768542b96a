-- Runs busted specs in this interpreter: lua5.4 spec/run.lua [OPTIONS] FILES. The modules come from
-- KUBELUA_BUILD (or build). KUBELUA_COLLECT=always keeps the collector running all the time.
local abi = jit and "5.1" or _VERSION:match("%d%.%d")
local build = os.getenv("KUBELUA_BUILD") or "build"
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;lua/cli/?.lua;spec/support/?.lua;"
    .. package.path
package.cpath = build .. "/lua/" .. abi .. "/?.so;" .. package.cpath

if os.getenv("KUBELUA_COLLECT") == "always" then
    collectgarbage("setpause", 0)
    collectgarbage("setstepmul", 10000)
    table.insert(arg, 1, "--exclude-tags=many") -- cases that would take minutes
end

-- The LuaJIT of Debian 12 compiles this loop over tables wrongly in one of twenty runs of
-- spec/lua/view_text_spec.lua, and crashes (docs/LUA.md, at the top).
if jit then
    jit.off(require("luassert.util").deepcompare)
end

-- The file .busted names an interpreter for plain `busted`; here it is this one.
table.insert(arg, 1, "--ignore-lua")
require("busted.runner")({ standalone = false })
