-- What the tasks of one piece of work have in common, such as a run of a controller: they end
-- together, and their writes are seen. A task inherits the scope of the task that makes it.

---Around each write of its tasks, a verb calls `before_write` and `wrote`, where they are set.
---@class kubelua.Scope
---@field tasks table<kubelua.Task, true> what is in it; weak
---@field is_cancelled boolean
---@field before_write (fun(write: table): true?, string?, string?)? nil, message, code: the write
---is not sent; it may lower write.timeout
---@field wrote fun(write: table)? after the answer, or the lack of one
---@field run kubelua.RunTag? of a controller
---@field run_numbers table? of run_tag.lua
local Scope = {}
Scope.__index = Scope

local scope = {}

---@return kubelua.Scope
function scope.new()
    return setmetatable({ tasks = setmetatable({}, { __mode = "k" }), is_cancelled = false }, Scope)
end

---Takes a task out of the scope that it is in, if it is in one.
---@param task kubelua.Task
function scope.leave(task)
    if task.scope then
        task.scope.tasks[task] = nil
        task.scope = nil
    end
end

---Puts a task into a scope, if there is one, and out of the one that it is in.
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
    -- What a cancelled task does comes later, in its own turn: none joins or ends meanwhile.
    for task in pairs(self.tasks) do
        task:cancel()
    end
end

return scope
