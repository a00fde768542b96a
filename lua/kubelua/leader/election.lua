-- The election for a Lease as a state machine: what to do next, and what a reply means. It sends
-- nothing: times and replies come in, orders go out; candidate.lua carries them out.
--
-- Why it is safe (all times are of this machine's own clock, so clocks need not agree):
--   1. The lease of another holder is over once this process has seen its record unchanged for
--      leaseDurationSeconds. The holder counts from an earlier time: when it sent the record.
--   2. This process leads from when its last successful renewal was sent, for `renew` seconds. Its
--      writes end before `lease` seconds have passed: no other process can hold the lease sooner.
--   3. Every write names the resourceVersion that it replaces: of two, one gets a conflict.
--   4. A write without a reply is neither success nor failure: its record is remembered, and the
--      next read decides. A record of this identity that was not sent here is another process's.
--   5. Each renewal is a new record, even if the wall clock stands still: see tell_apart.
local copy_table = require "kubelua.copy_table"
local timestamp = require("kubelua.core").timestamp

-- The record of a Lease (coordination.k8s.io/v1, decoded) is its holder and times. Any value in its
-- fields is accepted.
local MOST_TRANSITIONS = 2147483647

local function read_spec(lease)
    return type(lease.spec) == "table" and lease.spec or {}
end

---A text that differs between two renewals. Metadata does not count: an annotation renews nothing.
---@param lease table
---@return string
local function record_text(lease)
    local spec = read_spec(lease)
    return table.concat({ tostring(spec.holderIdentity), tostring(spec.leaseDurationSeconds),
        tostring(spec.acquireTime), tostring(spec.renewTime), tostring(spec.leaseTransitions) },
        "\n")
end

---@param lease table
---@return string holder "": none
local function holder_of(lease)
    local holder = read_spec(lease).holderIdentity
    return type(holder) == "string" and holder or ""
end

---@param lease table
---@return string?
local function version_of(lease)
    local metadata = lease.metadata
    return type(metadata) == "table" and metadata.resourceVersion or nil
end

---For how many seconds the record is valid.
---@param lease table
---@param otherwise number if the record does not say it
---@return number
local function duration_of(lease, otherwise)
    local seconds = tonumber(read_spec(lease).leaseDurationSeconds)
    return seconds and seconds > 0 and seconds or otherwise
end

---How often the Lease has changed hands; one more if it does now.
---@param lease table
---@param changes boolean
---@return integer
local function count_transitions(lease, changes)
    local count = tonumber(read_spec(lease).leaseTransitions) or 0
    count = count > 0 and count <= MOST_TRANSITIONS and math.floor(count) or 0
    if changes then
        count = count < MOST_TRANSITIONS and count + 1 or 0
    end
    return count
end

---A time for renewTime. Others notice a renewal only if it differs from the last one, so while the
---wall clock stands still, each renewal gets one microsecond more.
---@param times { last: number?, stood: integer? } kept between the calls
---@param unix number by the wall clock
---@return number
local function tell_apart(times, unix)
    times.stood = unix == times.last and times.stood + 1 or 0
    times.last = unix
    return unix + times.stood / 1e6
end

---The Lease with a new record. Other fields are kept.
---@param lease table? nil: it does not exist yet
---@param record { identity: string, lease: number, renewed_at: number, acquired_at: number?,
---changes: boolean } the times are Unix times; without acquired_at that field stays
---@return table
local function write_record(lease, record)
    local result = copy_table(lease or {})
    result.spec = copy_table(read_spec(result))
    local spec = result.spec
    spec.holderIdentity = record.identity
    spec.leaseDurationSeconds = math.ceil(record.lease)
    spec.renewTime = timestamp(record.renewed_at, 6)
    spec.leaseTransitions = lease and count_transitions(lease, record.changes) or 0
    if record.acquired_at then
        spec.acquireTime = timestamp(record.acquired_at, 6)
    end
    return result
end

---@class kubelua.Election
---@field identity string
---@field leading boolean at the time of the last call; see check
---@field term integer how often this process has gained the lease
---@field renewed_at number? when the last successful renewal was sent
---@field holder string? the holder in the Lease as last read; "": none
---@field lost string? why the lease was lost last
---@field problem string? the message of the last request, if it failed
---@field code string? the code of that failure
---@field is_hurried boolean? the next write is due
local Election = {}
Election.__index = Election

---An order: what to do next.
---@class kubelua.Election.Order
---@field what "wait"|"read"|"create"|"update"|"release"
---@field at number? the time to wait for; calling `next` earlier does no harm
---@field timeout number? seconds of the request
---@field lease table? the Lease to write
---@field sent_at number? when a write was sent
---@field record string? the record of a write
---@field epoch integer? the epoch of a write

-- A record that was sent this many lease times ago is forgotten.
local FORGET = 10
local FIRST_PAUSE = 0.1 -- seconds after the second conflict in a row; doubles up to `retry`

-- Replies after which the Lease must be read at once.
local LOOK_AGAIN = { conflict = true, already_exists = true, not_found = true, unknown = true }
-- Replies that show that a write has not happened, and never will.
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
        -- A write must end this many seconds before the lease does.
        margin = (options.lease - options.renew) / 10,
    }, Election)
end

local function is_mine(self)
    return self.object ~= nil and self.sent[self.record] ~= nil
end

local function lose_lease(self, why)
    self.leading, self.lost = false, why
end

---Ends the leadership if its time is over. True if this process leads.
---@param now number
---@return boolean
function Election:check(now)
    if self.leading and now >= self.renewed_at + self.renew then
        lose_lease(self, string.format("the Lease was not renewed for %g seconds%s", self.renew,
            self.problem and ": " .. self.problem or ""))
    end
    return self.leading
end

---True if the Lease has the identity of this process, but was written by another, or an earlier,
---one.
---@return boolean
function Election:is_double()
    return self.holder == self.identity and not is_mine(self)
end

---Ends the leadership. Replies to earlier requests are ignored.
---@param why string
function Election:give_up(why)
    lose_lease(self, why)
    self.epoch, self.is_stale = self.epoch + 1, true
end

---The next write comes at once, not at its time. One that is under way does not count.
function Election:hurry()
    self.is_hurried = true
end

---How many seconds a write that is sent now may take, so that it ends before the lease does.
---@param now number
---@return number
function Election:time_for_write(now)
    return self.renewed_at + self.lease - self.margin - now
end

-- Takes in the Lease as it was read, or as a write has left it.
local function take_in_lease(self, now, lease)
    local record = record_text(lease)
    if not self.object or record ~= self.record then
        self.seen_at = now
    end
    local version = version_of(lease)
    if version ~= self.version then
        -- A write that named an older version cannot succeed any more.
        self.sent = { [record] = self.sent[record] }
        self.version = version
    end
    self.object, self.record, self.holder = lease, record, holder_of(lease)
    self.is_stale = false
    if self.leading and not is_mine(self) then
        lose_lease(self, self.holder == "" and "another process has released the Lease"
            or self.holder .. " has taken the Lease")
    elseif self.leading then
        self.renewed_at = math.max(self.renewed_at, self.sent[record])
    end
end

-- The Lease as this process writes it.
local function build_lease(self, unix)
    local goes_on = is_mine(self)
    unix = tell_apart(self.times, unix)
    return write_record(self.object, {
        identity = self.identity, lease = self.lease, renewed_at = unix, changes = not goes_on,
        -- Its last digits are random: processes of the same identity can tell their records apart.
        acquired_at = not (goes_on and self.leading) and unix + self.random() / 1000 or nil,
    })
end

-- How long a request may take: there must be time for another attempt.
local function request_timeout(self, now)
    local most = self.renew / 2
    return self.leading and math.min(most, self.renewed_at + self.renew - now) or most
end

local function order_write(self, now, what, lease)
    for record, sent_at in pairs(self.sent) do
        if sent_at < now - FORGET * self.lease then
            self.sent[record] = nil
        end
    end
    local record = record_text(lease)
    self.sent[record], self.is_hurried = now, false
    return { what = what, lease = lease, record = record, sent_at = now, epoch = self.epoch,
        timeout = request_timeout(self, now) }
end

local function order_wait(self, now, at)
    self.next_at = at
    if self.leading then
        at = math.min(at, self.renewed_at + self.renew)
    end
    return { what = "wait", at = math.max(at, now) }
end

---What to do next. The caller passes the result to `answer`.
---@param now number
---@param unix number the time that is written into the Lease
---@return kubelua.Election.Order
function Election:next(now, unix)
    self:check(now)
    if now < self.next_at and not (self.is_hurried and self.leading) then
        return order_wait(self, now, self.next_at)
    elseif self.is_stale then
        return { what = "read", timeout = request_timeout(self, now) }
    elseif not self.object then
        return order_write(self, now, "create", build_lease(self, unix))
    elseif is_mine(self) or self.holder == "" then
        return order_write(self, now, "update", build_lease(self, unix))
    end
    local ends_at = self.seen_at + duration_of(self.object, self.lease)
    if now >= ends_at then
        return order_write(self, now, "update", build_lease(self, unix))
    end
    self.is_stale = true
    return order_wait(self, now, math.min(now + self.retry * (1 + self.random() / 5),
        ends_at + self.retry * self.random() / 20))
end

-- After a failure: sets when to ask again.
local function handle_failure(self, now, order, message, code)
    self.is_stale = true
    self.problem, self.code = message, code
    if order.record and REFUSED[code] then
        self.sent[order.record] = nil
    end
    if order.what ~= "read" and LOOK_AGAIN[code] and not (order.what == "create"
        and code == "not_found") then -- the namespace does not exist: no hurry
        self.troubles = self.troubles + 1
        self.next_at = self.troubles == 1 and now
            or now + math.min(self.retry, FIRST_PAUSE * 2 ^ (self.troubles - 2))
    else
        self.next_at = now + self.retry * (1 + self.random() / 5)
    end
end

---Takes in the reply to an order: the Lease as the server has it, or nil, a message and a code.
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
        handle_failure(self, now, order, message, code)
        return
    elseif order.record then
        local is_own = holder_of(lease) == self.identity
        self.sent[record_text(lease)] = is_own and order.sent_at or nil
    elseif not self.leading then
        self.problem, self.code = nil, nil
    end
    take_in_lease(self, now, lease)
    self.next_at = now
    if order.record and is_mine(self) then
        self.renewed_at, self.problem, self.code, self.troubles = order.sent_at, nil, nil, 0
        self.next_at = math.max(now, order.sent_at + self.retry)
        if now >= self.renewed_at + self.renew then
            self.next_at = now -- it took too long: no leadership follows
        elseif not self.leading then
            self.leading, self.term = true, self.term + 1
        end
    end
end

---The Lease without a holder, to be written once all work is over and this process has given up;
---nil if it does not hold the Lease.
---@param unix number
---@return kubelua.Election.Order?
function Election:release(unix)
    if not is_mine(self) then
        return nil
    end
    local lease = write_record(self.object, { identity = "", lease = 1, renewed_at = unix,
        changes = false })
    return { what = "release", lease = lease, timeout = self.renew / 2 }
end

return Election
