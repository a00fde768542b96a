-- When a controller works: always, while it leads (option `leader`), or on its share of the keys
-- (option `shards`).
local leader = require "kubelua.leader"
local worker = require "kubelua.controller.worker"

local duty = {}

-- Queues every key at once, with empty memos: what this process knew may be outdated.
local function gain_lease(state)
    state:begin_term()
    if state.is_listed and not state.main then
        for key in pairs(state.memos) do
            state.queue:add(key, true)
        end
    elseif state.is_listed then
        for _, object in ipairs(state.main.informer:list() or {}) do
            state.queue:add(object.key, true)
        end
    end
    state.wake()
end

local function lose_lease(state)
    for _, record in pairs(state.runs) do
        worker.cancel(record, "not_leader")
    end
end

local function join_election(state)
    state.leader = leader.join(state.client, state.options.leader)
    state.leader.while_busy(function() return state.running > 0 end)
    state.leader.on_loss(function() lose_lease(state) end)
    state.leader.on_gain(function() gain_lease(state) end)
    state.leader.on_time(function(seconds) state.queue:lead(seconds) end)
end

---Joins the election or the ring, if the controller has one and is not in it: at the start, and
---again if the loop runs once more after the end of a run.
---@param state kubelua.controller.State
---@return true?, string?, string?
function duty.join(state)
    if state.options.leader and not state.leader then
        join_election(state)
    elseif state.sharding and not state.sharding.membership then
        return state.sharding:join()
    end
    return true
end

---Leaves the election or the ring, once no run is left.
---@param state kubelua.controller.State
function duty.leave(state)
    if state.sharding and state.running == 0 then
        state.sharding:leave()
    elseif state.leader and state.running == 0 then
        state.leader.release()
        state.leader = nil
        state.queue:lead(nil)
    end
end

---True if runs may begin, as far as another process is concerned. With shards that also depends on
---the key.
---@param state kubelua.controller.State
---@return boolean
function duty.allows_runs(state)
    if state.life and not state.life:may_begin_runs() then
        return false
    end
    return not state.options.leader or (state.leader ~= nil and state.leader.is_leader())
end

return duty
