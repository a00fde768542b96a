-- --once and --dry-run reconcile each object once: this file decides when that pass is over, and
-- whether it was a success.
local controllers = require "kubelua.controller"
local core = require "kubelua.core"
local deliveries = require "kubelua.delivery"
local fleets = require "kubelua.fleet.progress"
local idle = require "kubelua.controller.idle"
local informer_parts = require "kubelua.informer.parts"
local informers = require "kubelua.informer"
local registrations = require "kubelua.registration"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

-- A failed key is tried so often; with the backoff of 0.1 s, doubled each time, that takes about a
-- minute. Events for which map or when raises are tried again for as long.
local TRIES, RETRYING = 10, 60
-- Seconds that an informer may go on failing before its first list, and that a cache may lack a
-- write of this process.
local PATIENCE, LAG = 30, 5
-- Seconds between two looks: for states that wake nothing when they change.
local TICK = 0.05

-- Failures of a first list that do not pass by themselves.
local LASTING = { forbidden = true, unauthorized = true, not_found = true, invalid = true }

---It is over once the first lists are handled, every key was reconciled, and nothing is left to do
---before time passes.
---@class kubelua.Pass
---@field retries boolean failed keys are tried again, and what own writes cause is awaited
---@field problem string? why the pass can never end
---@field since number
---@field failing_since table<kubelua.Informer, number>
---@field lags_since number?
---@field last string? what was left at the last look, before the end of the run
---@field quiet integer how many looks have found nothing left, one after the other
---@field is_done boolean nothing was left at the last look
---@field is_late boolean the time of --for was over first
local Pass = {}
Pass.__index = Pass

local function tell_registrations(informer)
    for registration in pairs(informer_parts.registrations(informer)) do
        if not registrations.is_at_rest(registration) or not registration:has_synced() then
            return "a handler of " .. registrations.name(registration)
                .. " has not handled all its events"
        end
    end
end

-- Gives up an informer that has no first list and fails for too long.
local function judge_unsynced(self, informer, status)
    if not status.error then
        self.failing_since[informer] = nil
        return
    end
    local since = self.failing_since[informer] or core.now()
    self.failing_since[informer] = since
    if LASTING[status.code] or core.now() - since >= PATIENCE then
        self.problem = self.problem or informer_parts.tell(informer) .. ": " .. status.error
    end
end

local function tell_informers(self)
    local left
    for informer in pairs(informers.open) do
        local status = informer:status()
        local is_open = status.state ~= "stopped"
        if is_open and not status.has_synced then
            judge_unsynced(self, informer, status)
            left = informer_parts.tell(informer) .. " has no first list yet"
        elseif is_open then
            left = left or tell_registrations(informer)
                or core.informer_told_version(informer) ~= informer:resource_version()
                and "events of " .. informer_parts.tell(informer) .. " are on their way" or nil
        end
    end
    return left
end

-- True if a task of kubelua.spawn has not ended, or if a handler's or ticker's task is in a call of
-- its function. Runs of controllers are not tasks here: tell_controller looks at their keys.
local function is_working(task)
    return task.is_spawned or task.serves and task.has_begun and not task.is_resting
end

local function tell_tasks()
    local task = running.select(is_working)[1]
    return task and (task.doing and task.doing() or task.what) .. " has not ended" or nil
end

-- With --once, keys in backoff are awaited.
local function tell_retries(self, state)
    for key, failing in pairs(self.retries and state.failing or {}) do
        if failing.attempt < TRIES then
            return key .. " has failed, and is tried again"
        end
    end
    local is_early = self.retries and core.now() - self.since < RETRYING
    if is_early and state.retries:status().delayed > 0 then
        return "events for which map or when raised an error are tried again"
    end
end

-- The events of own writes come back through the caches.
local function tell_writes(self, state)
    if not self.retries or state.writes:are_held() then
        self.lags_since = nil
        return nil
    end
    self.lags_since = self.lags_since or core.now()
    return core.now() - self.lags_since < LAG and "its caches lack what it has written" or nil
end

local function tell_controller(self, state)
    local left = idle.left(state)
    if left or state.is_stopped then
        return left
    elseif not state:may_run() then
        left = state.leader and "it waits for the Lease " .. state.leader.status().lease
            or "it starts"
    elseif state.sharding and not (state.sharding:check_share() and state:is_at_work()) then
        left = "it waits for its share of the ring " .. state.options.shards.name
    elseif state.unhandled_count > 0 then
        left = state.unhandled_count .. " keys wait to be reconciled"
    elseif (state.queue:due_in() or math.huge) <= state.options.delay then
        left = "events are being gathered"
    else
        left = tell_retries(self, state) or tell_writes(self, state)
    end
    return left and state.what .. ": " .. left
end

---Says what is left to do; nil: nothing, before time passes.
---@return string?
function Pass:left()
    local left
    for state in pairs(controllers.started) do
        left = left or tell_controller(self, state)
    end
    local of_informers = tell_informers(self) -- always: it also notes what can never end
    return left or of_informers or fleets.left() or tell_tasks()
        or scheduler.has_ready() and "a task is ready to run" or nil
end

-- True if the pass is over. The loop asks before each wait: two times without anything left, as a
-- timer that is due fires in the round between.
local function is_over(self)
    self.last = self:left()
    self.quiet = self.last and 0 or self.quiet + 1
    self.is_done = self.quiet >= 2
    if self.is_done or self.problem then
        return true
    elseif not self.ticks then
        self.ticks = true
        scheduler.at(core.now() + (self.quiet > 0 and 0 or TICK), function()
            self.ticks = false
        end)
    end
    return false
end

-- The keys that still fail, for a message; nil: none.
local function tell_failing()
    local count, first = 0, nil
    for state in pairs(controllers.started) do
        for key, failing in pairs(state.failing) do
            local text = state.what .. ": " .. state:describe(key) .. ": " .. failing.message
            count, first = count + 1, first and first < text and first or text
        end
        local retries = state.retries:status()
        if retries.delayed + retries.waiting > 0 then
            count, first = count + 1, first or state.what .. ": map or when has raised an error"
        end
    end
    return first and (count > 1 and count .. " keys have failed, such as " or "") .. first
end

---Says why a pass that has ended is a failure; nil: it is a success.
---@param signal integer?
---@param duration number? the seconds of --for
---@return string?
function Pass:failure(signal, duration)
    local left = self.last
    if self.problem then
        return self.problem
    elseif self.is_late then
        return string.format("it is not done within the %g seconds of --for%s", duration,
            left and ": " .. left or "")
    elseif signal then
        return "it was interrupted" .. (left and ": " .. left or "")
    elseif tasks.failures > 0 then
        return "a function of kubelua.spawn has failed"
    elseif deliveries.failures > 0 then
        return "a handler has failed"
    end
    return tell_failing() or fleets.failure()
end

---Notes when the pass has ended. To end what is left takes time, which does not count.
---@param time number
function Pass:close(time)
    self.is_late = not self.is_done and time >= waiting.ends_at
end

---Begins a pass: the loop ends once `is_over()`.
---@param retries boolean failed keys are tried again, and what own writes cause is awaited
---@return kubelua.Pass
---@return fun(): boolean is_over
function Pass.begin(retries)
    local self = setmetatable({ retries = retries, since = core.now(), failing_since = {},
        quiet = 0, is_done = false, is_late = false }, Pass)
    return self, function() return is_over(self) end
end

return Pass
