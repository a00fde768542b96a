-- Keeps what is done once, such as the first read of a value, out of the traces of LuaJIT. Requests
-- do such work first of all after a start; a trace that began with it would be the one that all
-- later requests run through, by its side exits.
local jit = rawget(_G, "jit") -- nil in other Lua

---@generic F: function
---@param f F
---@return F f it runs in the interpreter from now on
return function(f)
    if jit then
        jit.off(f)
    end
    return f
end
