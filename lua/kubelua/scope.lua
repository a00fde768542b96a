-- A scope: tasks that do one piece of work together, such as one run of a controller. They are
-- cancelled together, and each write of theirs is checked and recorded. A task inherits the scope
-- of the task that makes it.
local core = require "kubelua.core"

---Verbs call `before_write` and `wrote`, if set, around each write of a task in the scope.
---@class kubelua.Scope
---@field first kubelua.Task? its task; most scopes have one
---@field others table<kubelua.Task, true>? all other tasks, a weak set
---@field is_cancelled boolean
---@field before_write (fun(write: table, scope: kubelua.Scope): true?, string?, string?)? nil,
---message, code: the write is not sent; it may lower write.timeout
---@field wrote fun(write: table, scope: kubelua.Scope)? called after the reply, or the failure
---@field record kubelua.controller.Record? of the run of a controller
---@field run kubelua.RunTag? the run of a controller
---@field run_numbers table? used by run_tag
---@field failed fun(failure: kubelua.Failure, scope: kubelua.Scope)? called after each failure of a
---call of the script
---@field failures table? used by failures.lua
---@field line string? the line of the script that has read a method of a run, until a call has
---returned: a tail call, such as `return run:apply { ... }`, leaves no line on the stack
---@field within function? the function of the script that runs
local Scope = {}
Scope.__index = Scope

local scope = {}

---The scope of the task that runs; nil outside of any. tasks.lua, which knows that task, sets it.
---@return kubelua.Scope?
function scope.here()
    return nil
end

---The line of the script that makes the current call: "foo.lua:12: ", or "". Of a tail call, for
---which there is no other: that of the function that made it.
---@return string
function scope.script_line()
    local line, here = core.script_line(), scope.here()
    if line ~= "" or not here then
        return line
    end
    return here.line or here.within and core.where(here.within) .. ": " or ""
end

local WEAK = { __mode = "k" }

---@return kubelua.Scope
function scope.new()
    return setmetatable({ first = nil, is_cancelled = false, before_write = nil, wrote = nil,
        failed = nil, record = nil, run = nil, within = nil }, Scope)
end

---Takes a task out of its scope, if it has one.
---@param task kubelua.Task
function scope.leave(task)
    local left = task.scope
    if left and left.first == task then
        left.first = nil
    elseif left and left.others then
        left.others[task] = nil
    end
    task.scope = nil
end

---Moves a task from its scope into another, or out of any.
---@param task kubelua.Task
---@param joined kubelua.Scope?
function scope.join(task, joined)
    scope.leave(task)
    if joined then
        task.scope = joined
        if not joined.first then
            joined.first = task
        else
            joined.others = joined.others or setmetatable({}, WEAK)
            joined.others[task] = true
        end
        task.is_cancelled = task.is_cancelled or joined.is_cancelled
    end
end

-- This many runs are remembered; the cluster remembers 1,000 requests.
local MOST = 2000

-- Tells a simulated cluster in this process which run of a controller sends a request, for
-- cluster:requests. The request has a number in this header, which no other server gets; this file
-- keeps what the number means.
scope.RUN_HEADER = "Kubelua-Run"

---Identifies a run of a controller.
---@class kubelua.RunTag
---@field controller string
---@field key string
---@field attempt integer

---The value of the header for a request of a client; nil: the request has no header.
---@param client kubelua.Client
---@return string?
function Scope:run_tag(client)
    local run = self.run
    local cluster = run and core.state(client, "kubelua.client").sim
    if not cluster then
        return nil
    end
    local state = package.loaded["kubelua.simcore"].state(cluster)
    local runs = state.runs or { count = 0, by_number = {} }
    state.runs = runs
    self.run_numbers = self.run_numbers or setmetatable({}, { __mode = "k" })
    local number = self.run_numbers[cluster]
    if not number then
        number = runs.count + 1
        runs.count, runs.by_number[number] = number, run
        runs.by_number[number - MOST] = nil
        self.run_numbers[cluster] = number
    end
    return tostring(number)
end

---True if it has no task.
---@return boolean
function Scope:is_empty()
    return not self.first and next(self.others or {}) == nil
end

---Cancels its tasks, and every task that they will make.
function Scope:cancel()
    self.is_cancelled = true
    -- A cancelled task runs later, in its own turn, so the set does not change during this loop.
    if self.first then
        self.first:cancel()
    end
    for task in pairs(self.others or {}) do
        task:cancel()
    end
end

return scope
