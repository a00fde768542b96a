-- What the tasks of one piece of work have in common, such as a run of a controller: they end
-- together, and their writes are seen. A task inherits the scope of the task that makes it.
local scheduler = require "kubelua.scheduler"

---Around each write of its tasks, a verb calls `before_write` and `wrote`, where they are set.
---@class kubelua.Scope
---@field tasks table<kubelua.Task, true> what is in it; weak
---@field is_cancelled boolean
---@field before_write (fun(write: table): true?, string?, string?)? nil, message, code: the write
---is not sent; it may lower write.timeout
---@field wrote fun(write: table)? after the answer, or the lack of one
local Scope = {}
Scope.__index = Scope

local scope = {}

---@return kubelua.Scope
function scope.new()
    return setmetatable({ tasks = setmetatable({}, { __mode = "k" }), is_cancelled = false }, Scope)
end

---Cancels its tasks, and those that these will make.
function Scope:cancel()
    self.is_cancelled = true
    -- What a cancelled task does comes later, in its own turn: nothing joins meanwhile.
    for task in pairs(self.tasks) do
        scheduler.cancel(task)
    end
end

return scope
