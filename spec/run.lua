-- kubelua test in this interpreter: lua5.4 spec/run.lua [OPTIONS] SPEC... The modules come from
-- KUBELUA_BUILD (or build), and spec/support is at hand. No module in C is loaded before the first
-- spec. KUBELUA_COLLECT=always keeps the collector running all the time.
local abi = jit and "5.1" or _VERSION:match("%d%.%d")
local build = os.getenv("KUBELUA_BUILD") or "build"
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;lua/cli/?.lua;spec/support/?.lua;"
    .. package.path
package.cpath = build .. "/lua/" .. abi .. "/?.so;" .. package.cpath

table.insert(arg, 1, "test")
if os.getenv("KUBELUA_COLLECT") == "always" then
    -- With the collector always on, the LuaJIT of Debian 12 loops for ever in what it has compiled,
    -- in one of twenty runs of sim_users_spec.lua; a later LuaJIT in none of eighty.
    if jit and jit.version:find("beta3", 1, true) then
        jit.off()
    end
    if not jit then -- the interpreter's own mode, generational, has no pause
        collectgarbage("incremental")
    end
    -- A cycle begins when the last one has ended: some thousands in a spec.
    collectgarbage("setpause", 0)
    collectgarbage("setstepmul", jit and 1000 or 50)
    table.insert(arg, 2, "--exclude-tags=many") -- cases that would take minutes
end

local options, problem = require("kubelua.cli.usage").parse(arg)
if not options then
    io.stderr:write(problem, "\n")
    os.exit(2)
end
os.exit(require("kubelua.cli.test")(options), true)
