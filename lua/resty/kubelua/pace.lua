-- Long work of scripts in the owner's worker, which also answers requests: it is done a slice at a
-- time. All scripts and handlers share the slice of a round (owner.lua); each of them gets on by
-- one piece in every round, whatever the others use.
local core = require "kubelua.core"
local scheduler = require "kubelua.scheduler"

local SLICE = 0.002 -- seconds of work in a round

-- LuaJIT's collector ends its marking in one go, which goes through all that was made and kept
-- since the marking began: 15 ms while 10,000 routes are compiled. So the work stands while the
-- collector runs, in slices, too. It begins before LuaJIT would by itself, at twice the memory.
local GROWTH, LEAST = 1.5, 16 * 1024 -- KB

local pace = {
    has_more = false, -- work waits for the next round
}

local began = 0 -- when the round began
local base = LEAST / GROWTH -- KB after the last collection
local is_collecting = false

---Begins a round.
function pace.begin()
    began, pace.has_more = core.now(), false
end

local function wait_for_next_round()
    pace.has_more = true
    scheduler.pass("pace.go")
end

local function collect_some()
    repeat
        if collectgarbage("step", 0) then
            is_collecting, base = false, math.max(collectgarbage("count"), LEAST / GROWTH)
        end
    until not is_collecting or core.now() - began >= SLICE
end

---Call it between two pieces of work: where the slice of this round is used up, the task waits for
---the next round. Only in a task.
function pace.go()
    is_collecting = is_collecting or collectgarbage("count") > GROWTH * base
    while is_collecting do
        collect_some()
        if is_collecting then
            wait_for_next_round()
        end
    end
    if core.now() - began >= SLICE then
        wait_for_next_round()
    end
end

return pace
