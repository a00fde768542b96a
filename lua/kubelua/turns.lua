-- A queue of tasks that wait for their turn: a linked list through the field next_turn. Adding a
-- task allocates nothing, so waking a task never fails when memory is short. A task is in one such
-- queue at a time.
---@class kubelua.Turns
local Turns = {}
Turns.__index = Turns

local turns = {}

-- Calls itself with many arguments: so Lua has the memory for that many nested calls.
local function reserve(levels)
    if levels == 0 then
        return 0
    end
    return 1 + reserve(levels - 1, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
        nil, nil, nil)
end

-- Levels of calls between a round of the loop and what it wakes or resumes.
local LEVELS = 10

---Call before something is taken out of a queue: if memory is short for the calls that follow, this
---raises while it is still in there.
function turns.reserve()
    reserve(LEVELS)
end

---@return kubelua.Turns
function turns.new()
    return setmetatable({ first = false, last = false }, Turns)
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
---tasks stay in the queue.
---@param f fun(task: kubelua.Task)
function Turns:take(f)
    local last = self.last
    local task = self.first
    while task do
        turns.reserve()
        self.first = task.next_turn
        self.last = self.first and self.last
        task.next_turn = false
        f(task)
        task = task ~= last and self.first
    end
end

return turns
