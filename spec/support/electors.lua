-- Electors for specs of the state machine: one that draws no random numbers and gets its answers
-- from the spec, and several that compete for one Lease in a simulation.
local Election = require "kubelua.leader.election"
local deep_copy = require "deep_copy"

local rig = {}

---@param identity string?
function rig.elector(identity)
    return Election.new { identity = identity or "me", lease = 15, renew = 10, retry = 2,
        random = function() return 0 end }
end

---A Lease as a server stores it.
function rig.lease_of(version, spec)
    return { metadata = { name = "l", resourceVersion = version }, spec = spec }
end

---The Lease of a holder; `renewed` makes one renewal differ from another.
function rig.held_by(holder, version, renewed)
    return rig.lease_of(version, { holderIdentity = holder, leaseDurationSeconds = 15,
        acquireTime = "2026-01-01T00:00:00.000000Z", renewTime = renewed or version,
        leaseTransitions = 3 })
end

---What a server answers to a write.
function rig.stored(order, version)
    order.lease.metadata = order.lease.metadata or { name = "l" }
    order.lease.metadata.resourceVersion = version
    return order.lease
end

---Asks for the next order, expects this one, and returns it.
function rig.expect(election, now, what)
    local order = election:next(now, 1767225600 + now)
    if order.what ~= what then
        error("the order is to " .. order.what .. ", not to " .. what, 2)
    end
    return order
end

---An elector that has led since `now`.
function rig.leading(now)
    local election = rig.elector()
    election:answer(rig.expect(election, now, "read"), now, nil, "no such Lease", "not_found")
    local order = rig.expect(election, now, "create")
    election:answer(order, now, rig.stored(order, "1"))
    assert(election.leading)
    return election
end

-- A simulation: clocks disagree, processes are stopped for a while, requests and answers are lost
-- or late. Choices are pseudo-random: a seed names a world.
local World = {}
rig.World = World
World.__index = World

-- The minimal standard generator (Park and Miller), the same in every Lua.
local function generator(seed)
    local state = seed * 7919 % 2147483647 + 1
    return function()
        state = state * 16807 % 2147483647
        return state / 2147483647
    end
end

---@param seed integer
---@param options { electors: integer, faults: number, identity: string? } faults: how likely each
---@return table
function World.new(seed, options)
    local self = setmetatable({ time = 0, events = {}, draw = generator(seed), version = 0,
        faults = options.faults, electors = {}, gains = 0, takeovers = {} }, World)
    for i = 1, options.electors do
        local elector = {
            number = i, skew = math.floor(self.draw() * 1e6), stands_till = 0,
            election = Election.new { identity = options.identity or "e" .. i, lease = 15,
                renew = 10, retry = 2, random = self.draw },
        }
        self.electors[i] = elector
        self:at(self.draw() * 5, function() self:go_on(elector) end)
    end
    return self
end

function World:at(time, f)
    local events = self.events
    local i = #events + 1
    while i > 1 and events[i - 1].time > time do
        events[i] = events[i - 1]
        i = i - 1
    end
    events[i] = { time = time, f = f }
end

function World:happens()
    return self.draw() < self.faults
end

local function store(self, lease)
    self.version = self.version + 1
    self.lease = deep_copy(lease)
    self.lease.metadata = self.lease.metadata or {}
    self.lease.metadata.resourceVersion = tostring(self.version)
    return deep_copy(self.lease)
end

-- The server's answer to a request, at this moment.
local function serve(self, order)
    if self:happens() then
        return nil, "etcdserver: request timed out", "internal"
    elseif order.what == "read" then
        if not self.lease then
            return nil, "not found", "not_found"
        end
        return deep_copy(self.lease)
    elseif order.what == "create" then
        if self.lease then
            return nil, "there is one", "already_exists"
        end
    elseif not self.lease then
        return nil, "not found", "not_found"
    elseif order.lease.metadata.resourceVersion ~= self.lease.metadata.resourceVersion then
        return nil, "changed", "conflict"
    end
    local lease = store(self, order.lease)
    if self:happens() then
        -- but the server has made the change
        return nil, "etcdserver: request timed out", "internal"
    end
    return lease
end

-- Calls `f` once the process runs again, if it is stopped.
local function when_it_runs(self, elector, f)
    if self.time < elector.stands_till then
        self:at(elector.stands_till, function() when_it_runs(self, elector, f) end)
    else
        f()
    end
end

local function request(self, elector, order)
    local sent_at, lost = self.time, self:happens()
    -- a late request is also carried out late
    local way = self.draw() * (self:happens() and 40 or 0.2)
    local back = self.draw() * (self:happens() and 40 or 0.2)
    local is_answered = false
    local function answer(...)
        if not is_answered then
            is_answered = true
            elector.election:answer(order, self.time + elector.skew, ...)
            self:go_on(elector)
        end
    end
    if not lost then
        self:at(sent_at + way, function()
            local lease, message, code = serve(self, order)
            self:at(self.time + back, function()
                when_it_runs(self, elector, function() answer(lease, message, code) end)
            end)
        end)
    end
    self:at(sent_at + order.timeout, function()
        when_it_runs(self, elector, function() answer(nil, "no answer", "unknown") end)
    end)
end

---Makes an elector take its next step, if its process runs.
function World:go_on(elector)
    when_it_runs(self, elector, function()
        if self:happens() and self:happens() then
            elector.stands_till = self.time + self.draw() * 60 -- stopped, as by SIGSTOP
        end
        when_it_runs(self, elector, function()
            local order = elector.election:next(self.time + elector.skew, 1.7e9 + self.time)
            if order.what ~= "wait" then
                request(self, elector, order)
                return
            end
            self:at(math.max(order.at - elector.skew, self.time), function()
                self:go_on(elector)
            end)
        end)
    end)
end

-- Returns the time until which the server may still carry out a write of this elector. The elector
-- gives its writes a timeout that ends before its lease does.
local function writes_end_at(elector)
    local election = elector.election
    return election.renewed_at + election:time_for_write(election.renewed_at) - elector.skew
end

-- Raises if two electors lead at once, or one leads while another's writes can still be carried
-- out.
local function look(self)
    for _, elector in ipairs(self.electors) do
        local election = elector.election
        -- True if the process would find that it leads if it read its clock now.
        local leads = election.leading
            and self.time + elector.skew < election.renewed_at + election.renew
        if leads then
            if elector ~= self.leader then
                self.gains = self.gains + 1
                assert(self.time >= (self.busy_till or 0) or elector == self.last,
                    "one leads while writes of another go on")
            end
            assert(not self.leader or self.leader == elector, "two lead")
            self.leader, self.last = elector, elector
            self.busy_till = writes_end_at(elector)
        elseif self.leader == elector then
            self.leader = nil
        end
    end
end

---Lets time pass, and checks after each event.
---@param till number
function World:run(till)
    while self.events[1] and self.events[1].time <= till do
        local event = table.remove(self.events, 1)
        self.time = event.time
        if self.leader then -- its lease may have expired meanwhile
            look(self)
        end
        event.f()
        look(self)
    end
    self.time = till
end

return rig
