-- Tasks that wait for their turn, in order. Adding one makes nothing, so that nobody who is to be
-- woken stays asleep for want of memory; a task is in one such queue at a time.
local turns = {}
turns.__index = turns

function turns.new()
    return setmetatable({ first = false, last = false }, turns)
end

---@return boolean
function turns:is_empty()
    return not self.first
end

---@param task kubelua.Task with a field next_turn
function turns:add(task)
    if self.last then
        self.last.next_turn = task
    else
        self.first = task
    end
    self.last = task
end

---Calls `f` with each that is there now, taken out before. Where that raises, the others keep their
---turn.
---@param f fun(task: kubelua.Task)
function turns:take(f)
    local last = self.last
    local task = self.first
    while task do
        self.first = task.next_turn
        self.last = self.first and self.last
        task.next_turn = false
        f(task)
        task = task ~= last and self.first
    end
end

return turns
