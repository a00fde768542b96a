-- Loads the C module, in an interpreter that there is one for. Another interpreter, or a module
-- that does not fit it, is an error that names the remedy. kubelua and kubelua.sim begin here.
if not rawget(_G, "jit") and _VERSION ~= "Lua 5.4" then
    error("kubelua runs in Lua 5.4 and LuaJIT 2.1, and this is " .. _VERSION
        .. ": start the script with lua5.4 or luajit (a test: busted --lua=lua5.4 FILE)", 0)
end

local loaded, problem = pcall(require, "kubelua.core")
if not loaded then
    -- Lua says "error loading module" of a file that it found.
    if problem:find("error loading module", 1, true) then
        problem = problem .. "\nThis file was built for another interpreter, compiler or machine."
            .. " Remove its build folder and build it again, or install KubeLua again."
    end
    error(problem, 0)
end
