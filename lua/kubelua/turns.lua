-- A queue of tasks that wait for their turn: a linked list through the field next_turn. Adding a
-- task allocates nothing, so waking a task never fails when memory is short. A task is in one such
-- queue at a time.
---@class kubelua.Turns
---@field first kubelua.Task|false
---@field last kubelua.Task|false
---@field taken kubelua.Task|false it was taken out, and is not known to have begun its turn
local Turns = {}
Turns.__index = Turns

local turns = {}

---@return kubelua.Turns
function turns.new()
    return setmetatable({ first = false, last = false, taken = false }, Turns)
end

---@return boolean
function Turns:is_empty()
    return not self.first
end

---@param task kubelua.Task it has a field next_turn
function Turns:add(task)
    if self.last then
        self.last.next_turn = task
    else
        self.first = task
    end
    self.last = task
end

---Calls `f` with each task that is in the queue now, after taking it out. If `f` raises, the other
---tasks stay in the queue. If memory was short even for that call, the task is `taken`: `f` sets
---that to false once the turn has begun.
---@param f fun(task: kubelua.Task)
function Turns:take(f)
    local last = self.last
    local task = self.first
    while task do
        self.first = task.next_turn
        self.last = self.first and self.last
        task.next_turn, self.taken = false, task
        f(task)
        self.taken = false
        task = task ~= last and self.first
    end
end

return turns
