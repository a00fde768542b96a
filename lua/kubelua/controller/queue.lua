-- A workqueue (lua/src/queue.c) that goes by a clock: the machine's, or that of a test, which
-- stands until it is moved. It wakes a task when a key waits, or is due.
local core = require "kubelua.core"

---@class kubelua.controller.Queue
---@field raw userdata
---@field clock kubelua.Clock
---@field wake fun() called after whatever may have made a key wait
local Queue = {}
Queue.__index = Queue

local function milliseconds(seconds)
    return math.floor(seconds * 1000 + 0.5)
end

---@param clock kubelua.Clock
---@param delay number seconds within which events are gathered
---@param wake fun()
---@return kubelua.controller.Queue?, string?, string?
function Queue.new(clock, delay, wake)
    local raw, message, code = core.queue { delay = delay, stands = clock.stands or false }
    if not raw then
        return nil, message, code
    end
    return setmetatable({ raw = raw, clock = clock, wake = wake,
        at = clock.stands and milliseconds(clock:now()) }, Queue)
end

-- A clock that stands has moved since the last call, perhaps: so has the queue.
local function follow(self)
    if self.at then
        local now = milliseconds(self.clock:now())
        if now > self.at then
            self.raw:advance((now - self.at) / 1000)
            self.at = now
        end
    end
    return self.raw
end

---An event of what the key stands for.
---@param key string
---@param is_rear boolean? behind all others
---@return true?, string?, string?
function Queue:add(key, is_rear)
    local ok, message, code = follow(self):add(key, is_rear)
    self.wake()
    return ok, message, code
end

---An event of something else: a backoff goes on.
---@param key string
---@param is_rear boolean?
---@return true?, string?, string?
function Queue:add_related(key, is_rear)
    local ok, message, code = follow(self):add_related(key, is_rear)
    self.wake()
    return ok, message, code
end

---@param key string
---@param seconds number
---@return true?, string?, string?
function Queue:add_after(key, seconds)
    local ok, message, code = follow(self):add_after(key, seconds)
    self.wake()
    return ok, message, code
end

---See queue:next of the binding.
---@return string? key, boolean is_rear, integer attempt, number waited, number? due
function Queue:next()
    return follow(self):next()
end

---@param key string
---@param result "done"|"after"|"paced"|"failed"
---@param seconds number?
---@return number? again in so many seconds
function Queue:done(key, result, seconds)
    local again = follow(self):done(key, result, seconds)
    self.wake()
    return again
end

---Has the clock wake it when the next key is due.
function Queue:arm()
    if self.timer then
        self.timer.cancelled = true
        self.timer = nil
    end
    local seconds = follow(self):due_in()
    if seconds and seconds > 0 then
        self.timer = self.clock:at(self.at and self.at / 1000 + seconds
            or self.clock:now() + seconds, self.wake)
    end
end

---Seconds until the next key is due; nil: none is delayed.
---@return number?
function Queue:due_in()
    return follow(self):due_in()
end

---No key is handed out any more, and no timer is left.
function Queue:close()
    self.raw:shut_down()
    self:arm()
end

---@return table
function Queue:status()
    return follow(self):status()
end

return Queue
