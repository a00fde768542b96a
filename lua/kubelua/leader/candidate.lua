-- This process in the election for one Lease: sends the requests that election.lua orders, and
-- tells each member of gain and loss. A task renews the lease; if that fails, a timer ends the
-- leadership.
local core = require "kubelua.core"
local Election = require "kubelua.leader.election"
local log = require "kubelua.log"
local members = require "kubelua.leader.member"
local requests = require "kubelua.requests"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---What a Lease is used for: by a leader, or by a member of a ring (shards.lua).
---@class kubelua.leader.Use
---@field teller fun(options: kubelua.LeaderOptions): kubelua.leader.Teller
---@field describe fun(metadata: table)? sets labels and annotations of the Lease in each write
---@field wants (fun(): boolean, string?)? false: the Lease is released, for that reason, and not
---asked for again before it is wanted; call hurry when that changes

---@class kubelua.Candidate
---@field use kubelua.leader.Use
---@field options kubelua.LeaderOptions
---@field election kubelua.Election
---@field clock kubelua.Clock
---@field members table[] of { client, on_gain, on_loss }
local Candidate = {}
Candidate.__index = Candidate

-- A random number in [0, 1); another process gets other numbers.
local function draw_random()
    return tonumber(core.random(4), 16) / 2 ^ 32
end

---@param options kubelua.LeaderOptions with all defaults
---@param notes { leaves: fun(), left: fun() } called when the last member leaves, and when the
---attempt to release the Lease is over
---@param use kubelua.leader.Use
---@return kubelua.Candidate
function Candidate.new(options, notes, use)
    return setmetatable({
        options = options, notes = notes, members = {}, clock = tasks.clock_here(), use = use,
        teller = use.teller(options),
        election = Election.new { identity = options.identity, lease = options.lease,
            renew = options.renew, retry = options.retry, random = draw_random },
        told_term = 0, is_told = false,
        -- Sets: the writes without a result, and the tasks that wait for them. Weak: the result of
        -- a write whose task is gone never comes.
        writes = setmetatable({}, { __mode = "k" }),
        releasing = setmetatable({}, { __mode = "k" }),
    }, Candidate)
end

---The election's clock: one that stands, or the machine's, which also counts while suspended.
---@return number
function Candidate:now()
    return self.clock.stands and self.clock:now() or core.boottime()
end

-- Converts a time of the election's clock to the clock of timers.
local function to_timer_clock(self, at)
    return self.clock:now() + math.max(0, at - self:now())
end

local function call_all(self, hook)
    for _, member in ipairs({ (table.unpack or unpack)(self.members) }) do
        if member[hook] and not member.has_left then
            local ok, problem = trace.call(member[hook])
            if not ok then
                log("error", "%s: %s failed: %s", self.teller.what, hook, problem)
            end
        end
    end
end

local function tell_loss(self)
    self.is_told = false
    self.timer.cancelled = true
    self.teller:lost(self.is_ending and "info" or "warn", self.election.lost)
    call_all(self, "on_loss")
end

local function tell_gain(self)
    self.is_told, self.told_term = true, self.election.term
    self.since = self.clock:unix()
    self.teller:gained()
    self:watch_time()
    call_all(self, "on_gain")
end

---Looks at the clock, and tells the members what has changed.
---@return boolean leads
function Candidate:look()
    local leads = self.election:check(self:now())
    if self.is_told and (not leads or self.told_term ~= self.election.term) then
        tell_loss(self)
    end
    if leads and not self.is_told then
        tell_gain(self)
    end
    self:show_time()
    return self.election.leading
end

---The seconds until the leadership ends if it is not renewed; nil: this process does not lead.
---@return number?
function Candidate:left()
    return self.election.leading
        and self.election.renewed_at + self.options.renew - self:now() or nil
end

---Tells the members for how long this process leads, if that has changed.
function Candidate:show_time()
    local ends_at = self.election.leading and self.election.renewed_at or nil
    if ends_at ~= self.shown then
        self.shown = ends_at
        for _, member in ipairs(self.members) do
            if member.on_time and not member.has_left then
                member.on_time(self:left())
            end
        end
    end
end

---Ends the leadership when its time is over, even while the task waits for a reply.
function Candidate:watch_time()
    local ends_at = to_timer_clock(self, self.election.renewed_at + self.options.renew)
    self.timer = self.clock:at(ends_at, function()
        if self.is_told and self:look() then
            self:watch_time()
        end
    end)
end

local PATH = "/apis/coordination.k8s.io/v1/namespaces/"
local METHODS = { read = "GET", create = "POST", update = "PUT", release = "PUT" }

-- Carries out an order, any but "wait": the Lease, decoded; or nil, message, code.
local function ask_server(self, client, order)
    local options, path = self.options, PATH .. self.options.namespace .. "/leases"
    if order.what == "create" then
        order.lease.apiVersion, order.lease.kind = "coordination.k8s.io/v1", "Lease"
        order.lease.metadata = { name = options.name, namespace = options.namespace }
    else
        path = path .. "/" .. options.name
    end
    if order.record and self.use.describe then
        self.use.describe(order.lease.metadata)
    end
    local reply, message, code = requests.send(client, {
        method = METHODS[order.what], path = path, body = order.lease, timeout = order.timeout,
    }, self.teller.what)
    if not reply then
        return nil, message, code
    elseif reply.status >= 400 then
        message, code = core.status_error(reply.status, reply.body)
        return nil, message, code
    end
    local found = core.decode(reply.body)
    if type(found) ~= "table" or found.kind ~= "Lease" then
        return nil, "the answer is no Lease, but " .. reply.body:sub(1, 60), "unknown"
    end
    return found
end

-- A client that is not closed.
local function find_open_client(self)
    for _, member in ipairs(self.members) do
        if not core.state(member.client, "kubelua.client").is_closed then
            return member.client
        end
    end
end

-- Sends the request of an order, and tells the election the reply.
local function send_order(self, order)
    local client = find_open_client(self)
    if not client then
        return nil, "its client is closed", "closed"
    end
    self.asks = order.what
    local lease, message, code = ask_server(self, client, order)
    tasks.end_if_cancelled() -- the server may still carry it out: see member.lua
    self.asks = nil
    self.election:answer(order, self:now(), lease, message, code)
    return lease, message, code
end

local function sleep_till(self, at)
    local timer = self.clock:at(to_timer_clock(self, at), function()
        tasks.wake(self.task)
    end)
    self.sleeps = true
    tasks.suspend()
    self.sleeps, timer.cancelled = false, true
    tasks.end_if_cancelled()
end

-- True while a member still runs something that needs the Lease.
local function is_busy(self)
    for _, member in ipairs(self.members) do
        if member.is_busy and not member.has_left and member.is_busy() then
            return true
        end
    end
    return false
end

-- Releases the Lease, if it is held, and sleeps until hurry is called. Work that was cancelled may
-- still have to end: the Lease is not released before.
local function rest(self, why)
    self.election:give_up(why)
    self:look()
    while is_busy(self) and not self.use.wants() do
        waiting.sleep(0.05)
    end
    if not is_busy(self) then
        members.release(self, send_order)
    end
    if not self.use.wants() then
        self.sleeps = true
        tasks.suspend()
        self.sleeps = false
        tasks.end_if_cancelled()
    end
end

local function carry_out_next(self)
    local order = self.election:next(self:now(), self.clock:unix())
    self:look()
    if order.what == "wait" then
        sleep_till(self, order.at)
        self:look()
    else
        local _, message, code = send_order(self, order)
        self:look()
        self.teller:answered(self.election, order, message, code)
    end
end

-- The task of the election, until it is cancelled.
local function compete(self)
    while find_open_client(self) do
        local wants, why = true, nil
        if self.use.wants then
            wants, why = self.use.wants()
        end
        if wants then
            carry_out_next(self)
        else
            rest(self, why or "it is not wanted")
        end
    end
    self.election:give_up("its client is closed")
    self:look()
end

-- Runs outside of every scope: hooks for a controller's writes are not for Leases.
local function start_task(self, f)
    local task = tasks.task(self.teller.what, function()
        local ok, problem = trace.call(f, self)
        if not ok and problem ~= trace.CANCELED then
            log("error", "%s failed: %s", self.teller.what, problem)
        end
    end)
    tasks.leave_scope(task)
    tasks.leave_script(task)
    task.clock = self.clock
    return task
end

---Renews the Lease now.
function Candidate:hurry()
    self.election:hurry()
    if self.sleeps then
        tasks.wake(self.task)
    end
end

---At the end of a run of the loop: releases the Lease once nothing runs that needs it. Called in a
---task of that end.
function Candidate:end_run()
    while self:look() and is_busy(self) do
        waiting.sleep(0.01)
    end
    if not self:look() then
        return
    end
    self.is_ending = true
    self.election:give_up("the run has ended")
    self:look()
    self.is_ending = false
    members.release(self, send_order)
end

---A member no longer needs the Lease; the last member releases it.
---@param member table
function Candidate:leave(member)
    if member.has_left then
        return
    end
    member.has_left = true
    for i, other in ipairs(self.members) do
        if other == member and #self.members > 1 then
            table.remove(self.members, i)
            return
        end
    end
    self.notes.leaves()
    self.election:give_up("the Lease was released")
    if self.is_told then
        self.is_told, self.timer.cancelled = false, true
        self.teller:left()
    end
    self.task:cancel()
    self.task = start_task(self, function()
        local ok, problem = pcall(members.release, self, send_order)
        self.notes.left()
        if not ok then
            error(problem, 0)
        end
    end)
    self.task.at_end = true -- if the run ends now, the end of the run does not hold this task back
end

---Adds a member: one more user of the Lease in this process.
---@param client kubelua.Client
---@return kubelua.Leader
function Candidate:join(client)
    local member = { client = client }
    self.members[#self.members + 1] = member
    if not self.task then
        self.task = start_task(self, compete)
        self.task.outlasts = true -- the end of a run does not cancel it: see end_run
    end
    return members.new(self, member)
end

return Candidate
