-- Long work of scripts in the owner's worker, which also answers requests: it is done a slice at a
-- time. All scripts and handlers share the slice of a round (owner.lua); each of them gets on by
-- one piece in every round, whatever the others use.
local collector = require "resty.kubelua.collector"
local core = require "kubelua.core"
local scheduler = require "kubelua.scheduler"

local SLICE = 0.002 -- seconds of work in a round

local pace = {
    has_more = false, -- work waits for the next round
}

local began = 0 -- when the round began

---Begins a round.
function pace.begin()
    began, pace.has_more = core.now(), false
end

local function wait_for_next_round()
    pace.has_more = true
    scheduler.pass("pace.go")
end

local function is_used_up()
    return core.now() - began >= SLICE
end

---Call it between two pieces of work: where the slice of this round is used up, the task waits for
---the next round. Only in a task.
function pace.go()
    while collector.is_due() do
        collector.run(is_used_up)
        if collector.is_due() then
            wait_for_next_round()
        end
    end
    if is_used_up() then
        wait_for_next_round()
    end
end

return pace
