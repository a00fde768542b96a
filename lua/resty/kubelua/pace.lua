-- Long work of scripts in the owner's worker, which also answers requests: it is done a slice at a
-- time. All scripts and handlers share the slice of a round (owner.lua); each of them gets on by
-- one piece in every round, whatever the others use.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local SLICE = 0.002 -- seconds of work in a round

local pace = {
    has_more = false, -- work waits for the next round
}

local began = 0 -- when the round began

---Begins a round.
function pace.begin()
    began, pace.has_more = core.now(), false
end

---Call it between two pieces of work: where the slice of this round is used up, the task waits for
---the next round. Only in a task.
function pace.go()
    if core.now() - began >= SLICE then
        pace.has_more = true
        kubelua.sleep(0)
    end
end

return pace
