-- LuaJIT's collector ends its marking in one go, which goes through all that was made and kept, and
-- all large tables that were written, since the marking began: 15 ms while 10,000 routes are
-- compiled, 25 ms while they are shown. So long work stands while the collector runs, in slices,
-- too. It begins before LuaJIT would by itself, at twice the memory. One for each Lua state.
local collector = {}

local GROWTH, LEAST = 1.5, 16 * 1024 -- KB

local base = LEAST / GROWTH -- KB after the last collection
local is_running = false

---True if long work has to stand: `run` is to be called until it is false.
---@return boolean
function collector.is_due()
    is_running = is_running or collectgarbage("count") > GROWTH * base
    return is_running
end

---Collects until the collection has ended, or the time is used up.
---@param is_over fun(): boolean
function collector.run(is_over)
    repeat
        if collectgarbage("step", 0) then
            is_running, base = false, math.max(collectgarbage("count"), LEAST / GROWTH)
        end
    until not is_running or is_over()
end

return collector
