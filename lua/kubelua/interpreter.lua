-- Loads the C module kubelua.core. An interpreter that it does not support, or a module that was
-- built for another one, is an error that names the remedy. kubelua and kubelua.sim require this
-- first.
if not rawget(_G, "jit") and _VERSION ~= "Lua 5.4" then
    error("kubelua runs in Lua 5.4 and LuaJIT 2.1, and this is " .. _VERSION
        .. ": start the script with lua5.4 or luajit (a test: busted --lua=lua5.4 FILE)", 0)
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
