-- A request in flight: from core.request_send to its answer. In a task, waiting for it suspends the
-- task; outside of tasks, it dispatches events meanwhile. requests.lua makes flights.
local core = require "kubelua.core"
local run_tag = require "kubelua.run_tag"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---@class kubelua.Flight
---@field id integer of its source: the poller returns it when the request has news
---@field name string of the call that waits, for messages
---@field client kubelua.Client
---@field request userdata
---@field has_lost_client boolean? its client was closed in this state only
---@field task kubelua.Task? the task that waits for it
---@field wake fun()
---@field is_closed boolean? the request was freed, or will be
---@field may_finish boolean? the end of a run does not cancel it at once: see FINISH
local Flight = {}
Flight.__index = Flight

-- Seconds: cancelling a request may take this long at most.
local CANCEL = 0.2

-- Seconds: at the end of a run, a write of a leader that was sent may take this long to be
-- answered. Then the Lease can be released after it. The end of a run takes 0.8 s at most, and the
-- release needs some of it. Specs change it.
Flight.FINISH = 0.5

-- The set of requests that wait for an answer. Streams whose head has arrived are not in it.
local pending = {}

-- The set of requests that were not freed.
local open = setmetatable({}, { __mode = "k" })

---Ends the requests of a client that other Lua states share, as its close does for others.
---@param client kubelua.Client
function Flight.end_all(client)
    for flight in pairs(open) do
        if flight.client == client then
            flight.has_lost_client = true
            core.request_cancel(flight.request)
        end
    end
end

---True while a request waits for an answer that may come at any moment.
---@return boolean
function Flight.are_pending()
    return next(pending) ~= nil
end

---Forgets the requests that wait: they will get no answer.
function Flight.forget_pending()
    pending = {}
end

---Sends a request.
---@param client kubelua.Client
---@param call table of core.request_send
---@param name string
---@return kubelua.Flight?, string?, string?
function Flight.begin(client, call, name)
    local task = tasks.current(name)
    if task and task.is_cancelled then
        return nil, tostring(trace.CANCELED), "canceled"
    end
    local tag = run_tag.value(client, task and task.scope)
    if tag then
        local headers = call.headers
        headers[#headers + 1], headers[#headers + 2] = run_tag.HEADER, tag
    end
    local self = setmetatable({ id = sources.new_id(), name = name, client = client,
        may_finish = call.may_finish }, Flight)
    self.wake = function()
        if self.task then
            tasks.wake(self.task)
        end
    end
    local message, code
    self.request, message, code = core.request_send(client, call, tasks.poller, self.id)
    if not self.request then
        return nil, message, code
    end
    open[self] = true
    return self
end

-- Cancels the request of a cancelled task: at once, or later. Returns the timer if it is later.
local function cancel_request(self)
    if self.may_finish and self.task.is_ended then
        return scheduler.at(core.now() + Flight.FINISH, function()
            core.request_cancel(self.request)
        end)
    end
    core.request_cancel(self.request)
    return nil
end

-- If the task is cancelled, so is the request: it is then complete almost at once.
local function wait_in_task(self, is_over)
    local is_cancelled, timer = false, nil
    while not is_over() do
        if is_cancelled then
            tasks.suspend_anyway()
        elseif tasks.suspend() then
            is_cancelled = true
            timer = cancel_request(self)
        end
    end
    if timer then
        timer.cancelled = true
    end
end

local function wait_outside(self, is_over)
    waiting.await(self.name, nil, is_over, function()
        if not is_over() then
            core.request_cancel(self.request)
            core.request_wait(self.request, CANCEL)
        end
    end)
end

---Waits until `is_over()` is true. `is_over` is called again after each event. While a request
---waits, the loop is not idle: see scheduler.is_idle.
---@param is_over fun(): boolean
function Flight:wait(is_over)
    self.task = tasks.current(self.name)
    sources.add(self.id, self.wake)
    local ok, problem = pcall(self.task and wait_in_task or wait_outside, self, is_over)
    sources.remove(self.id)
    if not ok then
        self:close()
        error(problem, 0)
    end
end

---Waits for the answer; if it is a stream, for its head only.
---@return kubelua.Reply?, string?, string?
function Flight:answer()
    pending[self] = true
    self:wait(function()
        return core.request_is_complete(self.request)
    end)
    pending[self] = nil
    return self:outcome(core.request_result(self.request))
end

---The results of a call of core on the request: a request that its client's end has cancelled is
---"closed".
---@param result any
---@return any, string?, string?
function Flight:outcome(result, message, code)
    if code == "canceled" and self.has_lost_client then
        return nil, "the client was closed", "closed"
    end
    return result, message, code
end

---Frees the request; cancels it if it is in flight.
function Flight:close()
    self.is_closed, pending[self], open[self] = true, nil, nil
    core.request_free(self.request)
end

return Flight
