-- This process as a member of a ring: holds its Lease, watches those of the others, tells ring.lua
-- what it sees, and announces what that says. Controllers of one process that name the same ring
-- are one member.
local clearing = require "kubelua.shards.clearing"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local leader = require "kubelua.leader"
local leases = require "kubelua.shards.lease"
local log = require "kubelua.log"
local Registry = require "kubelua.shards.registry"
local Ring = require "kubelua.shards.ring"
local tasks = require "kubelua.tasks"
local make_teller = require "kubelua.shards.teller"
local Writes = require "kubelua.shards.writes"

---What a controller tells the membership.
---@class kubelua.shards.User
---@field changed fun(parts: table<integer, true>) the parts that this member may work on are new
---@field lost fun() this process is no member any more: its runs must end
---@field is_busy fun(part: integer): boolean a run of a key in that part has not ended
---@field cancel fun(part: integer) such runs take too long

---@class kubelua.shards.Membership
---@field options table name, namespace, identity, lease, renew, retry, by
---@field ring kubelua.shards.Ring
---@field held kubelua.Leader
---@field informer kubelua.Informer
---@field clock kubelua.Clock
---@field users kubelua.shards.User[]
---@field teller kubelua.leader.Teller
---@field known table<string, { version: string, facts: kubelua.shards.Facts,
---object: kubelua.Object }> by token
---@field writes kubelua.shards.Writes
---@field waits_since number? when what is pending was first held up
local Membership = {}
Membership.__index = Membership

local PARTS = 256

local function tell_deleted(self, token)
    if token == self.ring.token and self.ring.first then
        self.teller:say("deleted", "warn", "the Lease %s of %s was deleted; it is made again",
            leases.name(self.options.name, token), self.options.identity)
    end
end

-- Takes in the Leases as the cache has them, all as of one moment: see rule 1 of ring.lua.
local function read_leases(self, now)
    local name, seen = self.options.name, {}
    self.registry.object = nil
    for _, object in ipairs(self.informer:list() or {}) do
        local token = leases.token_of(name, object.name)
        if object.name == name then
            self.registry.object = object
        elseif token then
            local version, known = object.resource_version, self.known[token]
            if not known or known.version ~= version then
                known = { version = version, facts = leases.facts(object, token),
                    object = object }
                self.known[token] = known
                self.ring:see(known.facts, now)
            end
            seen[token] = true
        end
    end
    for token in pairs(self.known) do
        if not seen[token] then
            self.known[token] = nil
            self.ring:lose(token)
            tell_deleted(self, token)
        end
    end
    if self.registry.object then
        self.ring:register(leases.registered(self.registry.object), now)
    else
        self.ring:unregister()
    end
end

local function is_busy(self, part, now)
    if self.writes:has(part, now) then
        return true
    end
    for _, user in ipairs(self.users) do
        if user.is_busy(part) then
            return true
        end
    end
    return false
end

-- Ends the work on the parts that leave. True once it has ended.
local function has_ended(self, now)
    local busy = {}
    for part = 1, PARTS do
        if self.ring:leaves(part) and is_busy(self, part, now) then
            busy[#busy + 1] = part
        end
    end
    if #busy == 0 then
        self.waits_since = nil
        return true
    end
    self.waits_since = self.waits_since or now
    if now >= self.waits_since + self.options.renew then
        for _, part in ipairs(busy) do
            for _, user in ipairs(self.users) do
                user.cancel(part)
            end
        end
    end
    return false
end

local function is_equal(a, b)
    for part = 1, PARTS do
        if a[part] ~= b[part] then
            return false
        end
    end
    return true
end

-- Says what this member has, once nothing is about to change.
local function log_share(self)
    local count, members = 0, #self:members()
    for _ in pairs(self.ring.allowed) do
        count = count + 1
    end
    if count ~= self.logged and self.ring:has_place() and not self.ring.pending
        and (count > 0 or members > 1) then
        self.logged = count
        log("info", "%s: %s has %d of %d parts, beside %d other member%s", self.teller.what,
            self.options.identity, count, PARTS, members - 1, members == 2 and "" or "s")
    end
end

local function tell_changes(self)
    local parts = self.ring.allowed
    log_share(self)
    if is_equal(parts, self.told) then
        return
    end
    self.told = parts
    for _, user in ipairs(self.users) do
        user.changed(parts)
    end
end

local function tell_older(self)
    local older = self.ring.stands_by
    if older ~= self.told_older then
        self.told_older = older
        local known = older and self.known[older]
        if known then
            self.teller:say("older", "warn", "%s shares out by %s, and this process by %s: it "
                .. "works on nothing until all members of before have left",
                known.facts.holder, known.facts.by, self.options.by)
        end
    end
end

local function arm(self, at, now)
    if self.timer then
        self.timer.cancelled = true
        self.timer = nil
    end
    if self.waits_since then -- a run, or a write whose result is not known
        at = math.min(at or math.huge, now + math.max(0.05, math.min(1,
            self.waits_since + self.options.renew - now)))
    end
    if at and not self.has_left then
        self.timer = self.clock:at(self.clock:now() + math.max(0, at - now), function()
            self:look()
        end)
    end
end

-- One look; see Membership:look.
local function look_once(self)
    local now = self.held.now()
    read_leases(self, now)
    local holds = self.held.is_leader()
    if holds and not self.ring.first then
        self.ring:begin()
    end
    local at = self.ring:look(now)
    if self.ring.pending and has_ended(self, now) then
        self.ring:announce()
        at = self.ring:look(now)
        self.held.hurry()
    elseif not self.ring.pending then
        self.waits_since = nil
    end
    tell_older(self)
    tell_changes(self)
    if holds then
        local remains = {}
        for _, token in ipairs(clearing.remains(self.ring)) do
            remains[#remains + 1] = self.known[token] and self.known[token].object
        end
        self.registry:update(clearing.registration(self.ring), remains)
    end
    arm(self, at, now)
end

---Looks at the Leases and at the clock, and does what follows.
function Membership:look()
    self.is_due = true
    if self.is_looking or self.has_left or not self.is_synced then
        return
    end
    self.is_looking = true
    while self.is_due do
        self.is_due = false
        local ok, problem = pcall(look_once, self)
        if not ok then
            self.teller:say("problem", "error", "%s", tostring(problem))
        end
    end
    self.is_looking = false
end

local function lose(self)
    self.ring:stop()
    self.waits_since = nil
    for _, user in ipairs(self.users) do
        user.lost()
    end
    self:look()
end

local function watch(self, client)
    local options = self.options
    local message, code
    self.informer, message, code = clients.informer(client, { "leases",
        namespace = options.namespace, labels = leases.LABEL .. "=" .. options.name })
    if not self.informer then
        return nil, message, code
    end
    local function look()
        self:look()
    end
    return self.informer:on { name = self.teller.what, add = look, update = look, delete = look,
        synced = function()
            self.is_synced = true
            self:look()
        end,
        error = function(problem)
            self.teller:say("problem", "warn", "the watch of its Leases has failed, and is "
                .. "tried again: %s", problem)
        end }
end

---@param client kubelua.Client
---@param options table
---@return kubelua.shards.Membership?, string?, string?
function Membership.new(client, options)
    local self
    local teller = make_teller(options, options.namespace .. "/" .. options.name)
    local token = leases.token(options.identity)
    local ring = Ring.new { token = token, by = options.by, lease = options.lease,
        prefix = core.random(4) }
    self = setmetatable({ options = options, ring = ring, teller = teller, users = {}, known = {},
        told = {}, clock = tasks.clock_here(),
        registry = Registry.new(client, options, teller) }, Membership)
    local registered, message, code = watch(self, client)
    if not registered then
        return nil, message, code
    end
    self.held = leader.hold(client, { name = leases.name(options.name, token),
        namespace = options.namespace, identity = options.identity, lease = options.lease,
        renew = options.renew, retry = options.retry }, {
        teller = function() return teller end,
        describe = function(metadata)
            leases.describe(metadata, options.name, ring:announcement())
        end,
    })
    self.writes = Writes.new(options.lease, self.held.now, function() self:look() end)
    self.held.on_loss(function() lose(self) end)
    self.held.on_gain(function() self:look() end)
    self.held.while_busy(function() return self:is_working() end)
    return self
end

---True while a run of any part has not ended.
---@return boolean
function Membership:is_working()
    for part = 1, PARTS do
        for _, user in ipairs(self.users) do
            if user.is_busy(part) then
                return true
            end
        end
    end
    return false
end

---True while this process may work on a part.
---@param part integer
---@return boolean
function Membership:may_work(part)
    return self.ring.allowed[part] == true and self.held.is_leader()
end

---True once this member has its place in the ring, with any number of parts.
---@return boolean
function Membership:is_at_work()
    return self.ring:has_place() and self.held.is_leader()
end

---A before_write for scopes, which allows writes for a key of a part as long as this member has it.
---@param part integer
---@return fun(write: kubelua.Write): true?, string?, string?
function Membership:guard(part)
    local guard, first = self.held.guard(), self.ring.first
    return function(write)
        local ok, message, code = guard(write)
        if not ok then
            return nil, message, code
        elseif first ~= self.ring.first or not self.ring:holds(part) then
            return nil, self.teller.what .. ": the key is another member's by now; the write was "
                .. "not sent", "not_leader"
        end
        self.writes:follow(part, write)
        return true
    end
end

---Adds a controller of this process.
---@param user kubelua.shards.User
function Membership:join(user)
    table.insert(self.users, user)
    user.changed(self.told)
end

---A controller has ended; the last one leaves the ring.
---@param user kubelua.shards.User
---@return boolean is_last
function Membership:leave(user)
    for i, other in ipairs(self.users) do
        if other == user then
            table.remove(self.users, i)
        end
    end
    if #self.users > 0 or self.has_left then
        return false
    end
    self.has_left = true
    arm(self, nil, 0)
    self.informer:stop()
    self.held.release()
    return true
end

---@class kubelua.ShardsStatus
---@field ring string "namespace/name"
---@field identity string of this member
---@field by string how it shares out
---@field working boolean it has announced what it works on
---@field members string[] the identities of all members that it sees, sorted
---@field parts integer how many of the 256 parts it may work on
---@field stands_by_for string? the identity of an older member that shares out otherwise
---@field problem string? of its Lease
---@field code string?

---@return kubelua.ShardsStatus
function Membership:status()
    local held, options, parts = self.held.status(), self.options, 0
    for _ in pairs(self.ring.allowed) do
        parts = parts + 1
    end
    local older = self.ring.stands_by and self.known[self.ring.stands_by]
    return { ring = options.namespace .. "/" .. options.name, identity = options.identity,
        by = options.by, working = self:is_at_work(), members = self:members(), parts = parts,
        stands_by_for = older and older.facts.holder, problem = held.problem, code = held.code }
end

---The identities of the members whose Leases hold, sorted.
---@return string[]
function Membership:members()
    local names = {}
    for token, known in pairs(self.known) do
        local other = self.ring.others[token]
        if known.facts.holder ~= "" and not (other and other.dead_after) then
            names[#names + 1] = known.facts.holder
        end
    end
    table.sort(names)
    return names
end

return Membership
