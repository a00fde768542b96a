-- A controller with the option `leader`: what it does when it gains and loses the lease. See
-- leader.lua.
local leader = require "kubelua.leader"
local memos = require "kubelua.controller.memos"
local worker = require "kubelua.controller.worker"

local leadership = {}

-- Queues every key at once, with empty memos: what this process knew may be outdated.
local function begin_term(self)
    memos.begin_term(self)
    if self.is_listed and not self.main then
        for key in pairs(self.memos) do
            self.queue:add(key, true)
        end
    elseif self.is_listed then
        for _, object in ipairs(self.main.informer:list() or {}) do
            self.queue:add(object.key, true)
        end
    end
    self.wake()
end

local function end_term(self)
    for _, record in pairs(self.runs) do
        worker.cancel(record, "not_leader")
    end
end

---Joins the election: at the start, and again if the loop runs once more after the end of a run.
---@param self kubelua.controller.State
function leadership.join(self)
    self.leader = leader.join(self.client, self.options.leader)
    self.leader.while_busy(function() return self.running > 0 end)
    self.leader.on_loss(function() end_term(self) end)
    self.leader.on_gain(function() begin_term(self) end)
end

---Releases the lease, once no run is left that relies on it.
---@param self kubelua.controller.State
function leadership.leave(self)
    if self.leader and self.running == 0 then
        self.leader.release()
        self.leader = nil
    end
end

return leadership
