-- A request in flight: it suspends the task that waits for it, and dispatches outside of tasks.
local core = require "kubelua.core"
local loop = require "kubelua.loop"
local run_tag = require "kubelua.run_tag"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local trace = require "kubelua.trace"

---@class kubelua.Flight
---@field id integer of its source, which the poller returns when it has something
---@field name string of the call that waits, for messages
---@field request userdata
---@field task kubelua.Task? that waits
---@field wake fun()
---@field is_closed boolean? the request was given back, or will be
local Flight = {}
Flight.__index = Flight

-- Seconds: the longest that cancelling may take.
local CANCEL = 0.2

-- The set of requests that wait for an answer, and are not known to wait for long.
local pending = {}

---True while one waits for an answer that may come at any moment.
---@return boolean
function Flight.are_pending()
    return next(pending) ~= nil
end

---The requests that wait get no answer: they are not pending any more.
function Flight.forget_pending()
    pending = {}
end

---Sends a request.
---@param client kubelua.Client
---@param call table of core.request_send
---@param name string
---@return kubelua.Flight?, string?, string?
function Flight.begin(client, call, name)
    local task = scheduler.current(name)
    if task and task.is_cancelled then
        return nil, tostring(trace.CANCELED), "canceled"
    end
    local tag = run_tag.value(client, task and task.scope)
    if tag then
        local headers = call.headers
        headers[#headers + 1], headers[#headers + 2] = run_tag.HEADER, tag
    end
    local self = setmetatable({ id = sources.new_id(), name = name }, Flight)
    self.wake = function()
        if self.task then
            scheduler.wake(self.task)
        end
    end
    local message, code
    self.request, message, code = core.request_send(client, call, scheduler.poller, self.id)
    if not self.request then
        return nil, message, code
    end
    return self
end

-- In a task that is cancelled the wait goes on: it is over at once then.
local function wait_in_task(self, is_over)
    local is_cancelled = false
    while not is_over() do
        if is_cancelled then
            scheduler.suspend_anyway()
        elseif scheduler.suspend() then
            is_cancelled = true
            core.request_cancel(self.request)
        end
    end
end

local function wait_outside(self, is_over)
    loop.await(self.name, nil, is_over, function()
        if not is_over() then
            core.request_cancel(self.request)
            core.request_wait(self.request, CANCEL)
        end
    end)
end

---Waits until `is_over()`, which is asked again and again; a run goes on for its sake meanwhile.
---@param is_over fun(): boolean
function Flight:wait(is_over)
    self.task = scheduler.current(self.name)
    sources.add(self.id, self.wake)
    local ok, problem = pcall(self.task and wait_in_task or wait_outside, self, is_over)
    sources.remove(self.id)
    if not ok then
        self:close()
        error(problem, 0)
    end
end

---Waits for the answer; of one that streams, for its head.
---@return kubelua.Reply?, string?, string?
function Flight:answer()
    pending[self] = true
    self:wait(function()
        return core.request_is_complete(self.request)
    end)
    pending[self] = nil
    return core.request_result(self.request)
end

---Gives the request back, in flight or not.
function Flight:close()
    self.is_closed, pending[self] = true, nil
    core.request_free(self.request)
end

return Flight
