-- Tells a test if all controllers are at rest: which controllers a client or a simulated cluster
-- has, and what each has left to do before time passes.
local core = require "kubelua.core"
local source = require "kubelua.controller.source"

local idle = {}

local function get_controllers(state)
    state.controllers = state.controllers or setmetatable({}, { __mode = "k" })
    return state.controllers
end

---Lists a controller with its client, and with the simulated cluster of the client.
---@param self kubelua.controller.State
function idle.register(self)
    local of_client = core.state(self.client, "kubelua.client")
    get_controllers(of_client)[self] = true
    if of_client.sim then
        get_controllers(package.loaded["kubelua.simcore"].state(of_client.sim))[self] = true
    end
end

local function tell_sources(self)
    for _, one in ipairs(self.in_order) do
        local status = source.status(one)
        if not status.has_synced then
            return one.name .. " has not synced" .. (status.error and ": " .. status.error or "")
        elseif one.registration and one.registration:backlog() > 0 then
            return "events of " .. one.name .. " are not handled yet"
        end
    end
end

-- True if a queue has keys that wait, or are due by now; and how many wait.
local function is_due(queue)
    local status, seconds = queue:status(), queue:due_in()
    return status.waiting > 0 or (seconds ~= nil and seconds <= 0), status.waiting
end

-- Another process may lead for a long time. While no leader is known, the Lease has not been
-- read yet.
local function tell_leader(self)
    local status = self.leader and not self.leader.is_leader() and self.leader.status()
    if status and (status.holder or "") == "" then
        return "it does not know yet which process holds the Lease " .. status.lease
            .. (status.problem and ": " .. status.problem or "")
    end
end

local function tell_share(self)
    local sharding = self.sharding
    if sharding and sharding.share.task then
        return "the caches do not hold its share yet"
    elseif sharding and not sharding.handover:is_over() then
        return "keys that come are being queued"
    end
end

local function tell_runs(self)
    local key = next(self.runs)
    if key then
        return key .. " is being reconciled"
    elseif self.is_stopped then
        return "it stops"
    end
    local left = tell_leader(self)
    if left or not self:may_run() then
        return left
    end
    local due, waiting = is_due(self.queue)
    if due then
        return math.max(waiting, 1) .. " keys wait to be reconciled"
    elseif is_due(self.retries) then
        return "events for which map or when raised an error wait to be tried again"
    end
end

---Says what a controller has left to do before time passes; nil: nothing.
---@param self kubelua.controller.State
---@return string?
function idle.left(self)
    if self.is_over then
        return nil
    end
    local left = tell_sources(self) or (not self.is_listed and "it starts") or tell_share(self)
        or tell_runs(self)
    return left and self.what .. ": " .. left
end

return idle
