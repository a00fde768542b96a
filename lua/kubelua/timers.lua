-- The timers of the loop: a binary heap, the earliest first. Timers of the same time keep the order
-- in which they were added. scheduler.lua fires them.
local timers = {}
timers.__index = timers

---A timer in a heap. A cancelled one is skipped when its time comes.
---@class kubelua.Timer
---@field at number
---@field sequence integer
---@field fire fun()
---@field cancelled boolean?

local function is_earlier(a, b)
    if a.at ~= b.at then
        return a.at < b.at
    end
    return a.sequence < b.sequence
end

-- Cancelled timers are looked for only once there are this many.
local FEW = 64

function timers.new()
    return setmetatable({ sequence = 0, full = FEW }, timers)
end

---Removes cancelled timers, so that at most half of a large heap is cancelled. It allocates
---nothing. A sorted array is a valid heap.
function timers:drop_cancelled()
    local count, left = #self, 0
    for i = 1, count do
        if not self[i].cancelled then
            left = left + 1
            self[left] = self[i]
        end
    end
    for i = count, left + 1, -1 do
        self[i] = nil
    end
    table.sort(self, is_earlier)
    self.full = math.max(FEW, 2 * left)
end

---Puts a timer where it belongs. Of one that was due it allocates nothing: its place is free.
---@param timer kubelua.Timer
function timers:put(timer)
    local i = #self + 1
    while i > 1 do
        local parent = math.floor(i / 2)
        if not is_earlier(timer, self[parent]) then
            break
        end
        self[i] = self[parent]
        i = parent
    end
    self[i] = timer
end

---Adds a timer, and returns it, so that the caller can cancel it.
---@param at number seconds on the clock of kubelua.core.now
---@param fire fun()
---@return kubelua.Timer
function timers:add(at, fire)
    if #self >= self.full then
        self:drop_cancelled()
    end
    self.sequence = self.sequence + 1
    local timer = { at = at, sequence = self.sequence, fire = fire }
    self:put(timer)
    return timer
end

local function remove_first(self)
    local last = table.remove(self)
    local count = #self
    if count == 0 then
        return
    end
    local i = 1
    while 2 * i <= count do
        local child = 2 * i
        if child < count and is_earlier(self[child + 1], self[child]) then
            child = child + 1
        end
        if not is_earlier(self[child], last) then
            break
        end
        self[i] = self[child]
        i = child
    end
    self[i] = last
end

---The first timer that is not cancelled, or nil.
---@return kubelua.Timer?
function timers:first()
    while self[1] and self[1].cancelled do
        remove_first(self)
    end
    return self[1]
end

---Removes and returns the first timer if its time has come.
---@param now number
---@return kubelua.Timer?
function timers:due(now)
    local first = self:first()
    if first and first.at <= now then
        remove_first(self)
        return first
    end
    return nil
end

return timers
