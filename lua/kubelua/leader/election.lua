-- A holder of a Lease as a state machine: what to ask next, and what an answer means. It does
-- nothing by itself: times and answers come in, orders go out; leader.lua carries them out.
--
-- What makes it safe (every time is of this machine's own clock, so machines need not agree):
--   1. Another holder's lease is over when its record has not changed for leaseDurationSeconds
--      after this process saw it. The holder counts from an earlier moment: when it sent it.
--   2. Own leadership counts from when the last successful renewal was sent, and ends after
--      `renew` seconds. Writes end before `lease` seconds: no other process can hold it sooner.
--   3. Every write names the resourceVersion that it replaces: of two, one is a conflict.
--   4. A write without an answer is neither success nor failure: its record is remembered, and
--      the next read tells. A record with this identity that was not sent here is another's.
--   5. Each renewal is another record, even where the wall clock stands still: see record.lua.
local records = require "kubelua.leader.record"

---@class kubelua.Election
---@field identity string
---@field leading boolean as of the last call; see check
---@field term integer how often it has gained the lease
---@field renewed_at number? when the last successful renewal was sent
---@field holder string? of the Lease as last seen; "": none
---@field lost string? why it lost the lease last
---@field problem string? of the last request, where it failed
---@field code string? of that failure
local Election = {}
Election.__index = Election

---What is to be done next.
---@class kubelua.Election.Order
---@field what "wait"|"read"|"create"|"update"|"release"
---@field at number? until when to wait; an earlier look does no harm
---@field timeout number? seconds, of a request
---@field lease table? what to write
---@field sent_at number? of a write
---@field record string? of a write
---@field epoch integer? of a write

-- A record that was sent so many leases ago is not waited for any more.
local FORGET = 10
local FIRST_PAUSE = 0.1 -- seconds after the second conflict in a row; doubles up to `retry`

-- Answers after which the lease has to be read at once.
local LOOK_AGAIN = { conflict = true, already_exists = true, not_found = true, unknown = true }
-- Answers that say that a write has not happened, and never will.
local REFUSED = { forbidden = true, unauthorized = true, invalid = true, bad_request = true,
    not_found = true }

---@param options { identity: string, lease: number, renew: number, retry: number,
---random: fun(): number } random: in [0, 1)
---@return kubelua.Election
function Election.new(options)
    return setmetatable({
        identity = options.identity, lease = options.lease, renew = options.renew,
        retry = options.retry, random = options.random, leading = false, term = 0, next_at = -1,
        is_stale = true, sent = {}, times = {}, troubles = 0, epoch = 0,
        -- No write may end later than this before the lease does.
        margin = (options.lease - options.renew) / 10,
    }, Election)
end

local function is_mine(self)
    return self.object ~= nil and self.sent[self.record] ~= nil
end

local function lose(self, why)
    self.leading, self.lost = false, why
end

---Ends a leadership whose time is over. Returns true if this process leads.
---@param now number
---@return boolean
function Election:check(now)
    if self.leading and now >= self.renewed_at + self.renew then
        lose(self, string.format("it was not renewed for %g seconds%s", self.renew,
            self.problem and ": " .. self.problem or ""))
    end
    return self.leading
end

---Another process holds the Lease under the identity of this one, or an earlier one did.
---@return boolean
function Election:is_double()
    return self.holder == self.identity and not is_mine(self)
end

---Ends a leadership. Answers to what was asked before count no more.
---@param why string
function Election:give_up(why)
    lose(self, why)
    self.epoch, self.is_stale = self.epoch + 1, true
end

---How many seconds a write that is sent now may take: it has to end before the lease does.
---@param now number
---@return number
function Election:time_for_write(now)
    return self.renewed_at + self.lease - self.margin - now
end

-- The Lease as it was read, or as a write has left it.
local function observe(self, now, lease)
    local record = records.text(lease)
    if not self.object or record ~= self.record then
        self.seen_at = now
    end
    local version = records.version(lease)
    if version ~= self.version then
        -- What was sent for an older version cannot take effect any more.
        self.sent = { [record] = self.sent[record] }
        self.version = version
    end
    self.object, self.record, self.holder = lease, record, records.holder(lease)
    self.is_stale = false
    if self.leading and not is_mine(self) then
        lose(self, self.holder == "" and "another has released it"
            or self.holder .. " has taken it")
    elseif self.leading then
        self.renewed_at = math.max(self.renewed_at, self.sent[record])
    end
end

-- The Lease as this process wants it.
local function wanted(self, unix)
    local goes_on = is_mine(self)
    unix = records.tell_apart(self.times, unix)
    return records.written(self.object, {
        identity = self.identity, lease = self.lease, renewed_at = unix, changes = not goes_on,
        -- Its last digits are random: two processes of one identity tell their records apart by it.
        acquired_at = not (goes_on and self.leading) and unix + self.random() / 1000 or nil,
    })
end

-- The time that a request may take: there is to be time for another one.
local function timeout_of(self, now)
    local most = self.renew / 2
    return self.leading and math.min(most, self.renewed_at + self.renew - now) or most
end

local function write(self, now, what, lease)
    for record, sent_at in pairs(self.sent) do
        if sent_at < now - FORGET * self.lease then
            self.sent[record] = nil
        end
    end
    local record = records.text(lease)
    self.sent[record] = now
    return { what = what, lease = lease, record = record, sent_at = now, epoch = self.epoch,
        timeout = timeout_of(self, now) }
end

local function wait_till(self, now, at)
    self.next_at = at
    if self.leading then
        at = math.min(at, self.renewed_at + self.renew)
    end
    return { what = "wait", at = math.max(at, now) }
end

---What to do next; its answer is told by `answer`.
---@param now number
---@param unix number the time that is written into the Lease, for people to read
---@return kubelua.Election.Order
function Election:next(now, unix)
    self:check(now)
    if now < self.next_at then
        return wait_till(self, now, self.next_at)
    elseif self.is_stale then
        return { what = "read", timeout = timeout_of(self, now) }
    elseif not self.object then
        return write(self, now, "create", wanted(self, unix))
    elseif is_mine(self) or self.holder == "" then
        return write(self, now, "update", wanted(self, unix))
    end
    local ends_at = self.seen_at + records.duration(self.object, self.lease)
    if now >= ends_at then
        return write(self, now, "update", wanted(self, unix))
    end
    self.is_stale = true
    return wait_till(self, now, math.min(now + self.retry * (1 + self.random() / 5),
        ends_at + self.retry * self.random() / 20))
end

-- A failure: when to ask again.
local function fail(self, now, order, message, code)
    self.is_stale = true
    self.problem, self.code = message, code
    if order.record and REFUSED[code] then
        self.sent[order.record] = nil
    end
    if order.what ~= "read" and LOOK_AGAIN[code] and not (order.what == "create"
        and code == "not_found") then -- without its namespace it never will be
        self.troubles = self.troubles + 1
        self.next_at = self.troubles == 1 and now
            or now + math.min(self.retry, FIRST_PAUSE * 2 ^ (self.troubles - 2))
    else
        self.next_at = now + self.retry * (1 + self.random() / 5)
    end
end

---What came of an order: the Lease as the server has it, or nil, a message and a code.
---@param order kubelua.Election.Order
---@param now number
---@param lease table?
---@param message string?
---@param code string?
function Election:answer(order, now, lease, message, code)
    self:check(now)
    if order.epoch and order.epoch ~= self.epoch then
        self.is_stale, self.next_at = true, now
        return
    elseif order.what == "read" and code == "not_found" then
        self.object, self.record, self.version, self.holder = nil, nil, nil, nil
        self.is_stale, self.next_at = false, now
        return
    elseif not lease then
        fail(self, now, order, message, code)
        return
    elseif order.record then
        local is_own = records.holder(lease) == self.identity
        self.sent[records.text(lease)] = is_own and order.sent_at or nil
    elseif not self.leading then
        self.problem, self.code = nil, nil
    end
    observe(self, now, lease)
    self.next_at = now
    if order.record and is_mine(self) then
        self.renewed_at, self.problem, self.code, self.troubles = order.sent_at, nil, nil, 0
        self.next_at = math.max(now, order.sent_at + self.retry)
        if now >= self.renewed_at + self.renew then
            self.next_at = now -- it took too long: nothing is led by it
        elseif not self.leading then
            self.leading, self.term = true, self.term + 1
        end
    end
end

---The Lease without a holder, to be written when all work is over and this process has given up;
---nil where it is not held.
---@param unix number
---@return kubelua.Election.Order?
function Election:release(unix)
    if not is_mine(self) then
        return nil
    end
    local lease = records.written(self.object, { identity = "", lease = 1, renewed_at = unix,
        changes = false })
    return { what = "release", lease = lease, timeout = self.renew / 2 }
end

return Election
