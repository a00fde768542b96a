-- The workqueue of a controller (lua/src/queue.c), with a clock: the machine's, or that of a test,
-- which stands until the test moves it. It wakes the controller's task when a key waits or is due.
local core = require "kubelua.core"

---@class kubelua.controller.Queue
---@field raw userdata
---@field clock kubelua.Clock
---@field wake fun() called after every call that may have put a key into the queue
local Queue = {}
Queue.__index = Queue

local function to_milliseconds(seconds)
    return math.floor(seconds * 1000 + 0.5)
end

---@param clock kubelua.Clock
---@param delay number seconds in which the events of a key are gathered
---@param wake fun()
---@return kubelua.controller.Queue?, string?, string?
function Queue.new(clock, delay, wake)
    local raw, message, code = core.queue { delay = delay, stands = clock.stands or false }
    if not raw then
        return nil, message, code
    end
    return setmetatable({ raw = raw, clock = clock, wake = wake,
        at = clock.stands and to_milliseconds(clock:now()) }, Queue)
end

-- Moves the queue's clock, if a clock that stands has been moved since the last call.
local function sync_clock(self)
    if self.at then
        local now = to_milliseconds(self.clock:now())
        if now > self.at then
            self.raw:advance((now - self.at) / 1000)
            self.at = now
        end
    end
    return self.raw
end

---Adds a key after an event of its own object.
---@param key string
---@param is_rear boolean? in the rear lane: after all other keys
---@return true?, string?, string?
function Queue:add(key, is_rear)
    local ok, message, code = sync_clock(self):add(key, is_rear)
    self.wake()
    return ok, message, code
end

---Adds a key after an event of another object: a backoff of the key goes on.
---@param key string
---@param is_rear boolean?
---@return true?, string?, string?
function Queue:add_related(key, is_rear)
    local ok, message, code = sync_clock(self):add_related(key, is_rear)
    self.wake()
    return ok, message, code
end

---@param key string
---@param seconds number
---@return true?, string?, string?
function Queue:add_after(key, seconds)
    local ok, message, code = sync_clock(self):add_after(key, seconds)
    self.wake()
    return ok, message, code
end

---See queue:next in lua/src/queue.c.
---@return string? key, boolean? is_rear, integer? attempt, number? waited, number? due
function Queue:next()
    return sync_clock(self):next()
end

---@param key string
---@param result "done"|"after"|"paced"|"failed"
---@param seconds number?
---@return number? again in so many seconds
function Queue:done(key, result, seconds)
    local again = sync_clock(self):done(key, result, seconds)
    self.wake()
    return again
end

---Sets the timer that wakes the task when the next key is due.
function Queue:arm()
    if self.timer then
        self.timer.cancelled = true
        self.timer = nil
    end
    local seconds = sync_clock(self):due_in()
    if seconds and seconds > 0 then
        self.timer = self.clock:at(self.at and self.at / 1000 + seconds
            or self.clock:now() + seconds, self.wake)
    end
end

---Seconds until `next` has a key; 0: it has one now; nil: only after a key is added or done.
---@return number?
function Queue:due_in()
    return sync_clock(self):due_in()
end

-- A queue's clock is moved so many seconds at a time at most.
local LEAP = 1e6

-- Takes out the keys that are due `ahead` seconds from now. Those that an event has woken, or a
-- backoff, are due now; those for which a later run was asked, at that time.
local function take_due(raw, ahead, keys)
    local key, _, _, _, due = raw:next()
    while key do
        keys[key] = due and due <= 0 and math.max(0, ahead + due) or 0
        key, _, _, _, due = raw:next()
    end
end

---Takes out all keys, also those that wait for their time. The queue is of no use then.
---@return table<string, number> seconds until each is due, by key
function Queue:take_all()
    local raw, ahead, keys = sync_clock(self), 0, {}
    take_due(raw, ahead, keys)
    local seconds = raw:due_in()
    while seconds do
        seconds = math.min(seconds, LEAP)
        raw:advance(seconds + 0.001) -- never rounded to less
        ahead = ahead + seconds + 0.001
        take_due(raw, ahead, keys)
        seconds = raw:due_in()
    end
    return keys
end

---Shows the controller in the report of this Lua state.
---@param name string
---@param workers integer
---@param lease string?
---@param cluster string? of a fleet
---@return true?, string?, string?
function Queue:show(name, workers, lease, cluster)
    return self.raw:show(name, workers, lease, cluster)
end

---The controller has ended.
function Queue:hide()
    self.raw:hide()
end

---The caches of the controller hold their first lists.
function Queue:set_listed()
    self.raw:set_listed()
end

---The controller leads for so many seconds, unless this is called again; nil: it does not.
---@param seconds number?
function Queue:lead(seconds)
    self.raw:lead(seconds)
end

---No key is handed out after this, and no timer is left.
function Queue:close()
    self.raw:shut_down()
    self:arm()
end

---@return table
function Queue:status()
    return sync_clock(self):status()
end

return Queue
