-- Loads the C module kubelua.core. An interpreter that it does not support, or a module that was
-- built for another one, is an error that names the remedy. kubelua and kubelua.sim require this
-- first.
-- A host may hide the global jit of its LuaJIT, as knot-resolver does.
local is_luajit = rawget(_G, "jit") ~= nil or (_VERSION == "Lua 5.1" and pcall(require, "jit"))
if not is_luajit and _VERSION ~= "Lua 5.4" then
    -- The command lua5.3 sets `arg`; a host that has Lua built in does not.
    local remedy = rawget(_G, "arg")
        and "start the script with lua5.4 or luajit (a test: busted --lua=lua5.4 FILE)"
        or "the program that loads it has that Lua built in; use one that was built with Lua 5.4 "
            .. "or LuaJIT (docs/HOSTS.md)"
    error("kubelua runs in Lua 5.4 and LuaJIT 2.1, and this is " .. _VERSION .. ": " .. remedy, 0)
end

local loaded, problem = pcall(require, "kubelua.core")
if not loaded then
    -- Lua says "error loading module" if it found the file, but could not load it.
    if problem:find("error loading module", 1, true) then
        problem = problem .. "\nThis file was built for another interpreter, compiler or machine."
            .. " Remove its build folder and build it again, or install KubeLua again."
    end
    error(problem, 0)
end
