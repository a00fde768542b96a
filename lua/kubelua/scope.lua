-- A scope: tasks that do one piece of work together, such as one run of a controller. They are
-- cancelled together, and each write of theirs is checked and recorded. A task inherits the scope
-- of the task that makes it.

---Verbs call `before_write` and `wrote`, if set, around each write of a task in the scope.
---@class kubelua.Scope
---@field tasks table<kubelua.Task, true> its tasks, a weak set
---@field is_cancelled boolean
---@field before_write (fun(write: table): true?, string?, string?)? nil, message, code: the write
---is not sent; it may lower write.timeout
---@field wrote fun(write: table)? called after the answer, or after the failure
---@field run kubelua.RunTag? the run of a controller
---@field run_numbers table? used by run_tag.lua
local Scope = {}
Scope.__index = Scope

local scope = {}

---@return kubelua.Scope
function scope.new()
    return setmetatable({ tasks = setmetatable({}, { __mode = "k" }), is_cancelled = false }, Scope)
end

---Takes a task out of its scope, if it has one.
---@param task kubelua.Task
function scope.leave(task)
    if task.scope then
        task.scope.tasks[task] = nil
        task.scope = nil
    end
end

---Moves a task from its scope into another, or out of any.
---@param task kubelua.Task
---@param joined kubelua.Scope?
function scope.join(task, joined)
    scope.leave(task)
    if joined then
        task.scope = joined
        joined.tasks[task] = true
        task.is_cancelled = task.is_cancelled or joined.is_cancelled
    end
end

---Cancels its tasks, and every task that they will make.
function Scope:cancel()
    self.is_cancelled = true
    -- A cancelled task runs later, in its own turn, so the set does not change during this loop.
    for task in pairs(self.tasks) do
        task:cancel()
    end
end

return scope
