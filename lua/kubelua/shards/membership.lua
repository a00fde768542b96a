-- This process as a member of a ring: holds its Lease, watches those of the others, tells ring.lua
-- what it sees, and announces what that says. Controllers of one process that name the same ring
-- are one member.
local clearing = require "kubelua.shards.clearing"
local core = require "kubelua.core"
local leader = require "kubelua.leader"
local leases = require "kubelua.shards.lease"
local log = require "kubelua.log"
local Registry = require "kubelua.shards.registry"
local Ring = require "kubelua.shards.ring"
local Sight = require "kubelua.shards.sight"
local tasks = require "kubelua.tasks"
local make_teller = require "kubelua.shards.teller"
local Writes = require "kubelua.shards.writes"

---What a controller tells the membership.
---@class kubelua.shards.User
---@field client kubelua.Client
---@field held kubelua.Leader? the Lease of this member, for this user
---@field changed fun(parts: table<integer, true>) the parts that this member may work on are new
---@field lost fun() this process is no member any more: its runs must end
---@field is_busy fun(part: integer): boolean a run of a key in that part has not ended
---@field cancel fun(part: integer) such runs take too long

---@class kubelua.shards.Membership
---@field options table name, namespace, identity, lease, renew, retry, by
---@field ring kubelua.shards.Ring
---@field held kubelua.Leader of one of the users
---@field clock kubelua.Clock
---@field users kubelua.shards.User[]
---@field teller kubelua.leader.Teller
---@field sight kubelua.shards.Sight
---@field watches_for kubelua.shards.User whose client the watch uses
---@field writes kubelua.shards.Writes
---@field waits_since number? when what is pending was first held up
local Membership = {}
Membership.__index = Membership

local PARTS = 256

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
    local count, members = 0, #self.sight:members()
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
        local known = older and self.sight.known[older]
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
    local object = self.sight:read(now)
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
            remains[#remains + 1] = self.sight.known[token] and self.sight.known[token].object
        end
        self.registry:update(object, clearing.registration(self.ring), remains)
    else
        self.registry:update(nil, nil, {})
    end
    arm(self, at, now)
end

---Looks at the Leases and at the clock, and does what follows.
function Membership:look()
    self.is_due = true
    if self.is_looking or self.has_left or not self.sight.is_synced then
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
    if not self.ring.first then
        return -- another user has told it
    end
    self.ring:stop()
    self.waits_since = nil
    for _, user in ipairs(self.users) do
        user.lost()
    end
    tell_changes(self) -- now: a look may have to wait until the watch is there again
    self:look()
end

---@param options table
---@return kubelua.shards.Membership
function Membership.new(options)
    local teller = make_teller(options, options.namespace .. "/" .. options.name)
    local self = setmetatable({ options = options, teller = teller, users = {}, told = {},
        clock = tasks.clock_here(), ring = Ring.new { token = leases.token(options.identity),
            by = options.by, lease = options.lease, prefix = core.random(4) } }, Membership)
    self.registry = Registry.new(options, teller)
    self.sight = Sight.new(options, teller, self.ring, function() self:look() end)
    return self
end

-- Holds the Lease of this member also for a user: it needs one client that is open.
local function hold(self, client)
    local options, ring = self.options, self.ring
    local held = leader.hold(client, { name = leases.name(options.name, ring.token),
        namespace = options.namespace, identity = options.identity, lease = options.lease,
        renew = options.renew, retry = options.retry }, {
        teller = function() return self.teller end,
        describe = function(metadata)
            if not ring.first and not self:is_working() and not self.writes:are_open() then
                ring:rest()
            end
            leases.describe(metadata, options.name, ring:announcement())
        end,
    })
    self.held = self.held or held
    self.writes = self.writes or Writes.new(options.lease, held.now, function() self:look() end)
    held.on_loss(function() lose(self) end)
    held.while_busy(function() return self:is_working() end)
    held.on_gain(function() self:look() end)
    return held
end

-- Watches the ring with the client of a user.
local function watch(self, user)
    self.watches_for, self.registry.client = user, user.client
    return self.sight:open(user.client)
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

---True once this member may work on all parts of its share.
---@return boolean
function Membership:has_share()
    return self.ring:has_share() and self.held.is_leader()
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
---@return true?, string?, string?
function Membership:join(user)
    if #self.users == 0 then
        local ok, message, code = watch(self, user)
        if not ok then
            return nil, message, code
        end
    end
    table.insert(self.users, user)
    user.held = hold(self, user.client)
    user.changed(self.told)
    return true
end

local function remove(self, user)
    for i, other in ipairs(self.users) do
        if other == user then
            table.remove(self.users, i)
        end
    end
end

---A controller has ended; the last one leaves the ring.
---@param user kubelua.shards.User
---@return boolean is_last
function Membership:leave(user)
    remove(self, user)
    local heir = self.users[1]
    if not heir then
        self.has_left = true
        arm(self, nil, 0)
        self.sight:close()
    else
        self.held = heir.held
        if self.watches_for == user then
            watch(self, heir)
        end
    end
    user.held.release()
    return heir == nil
end

---@class kubelua.ShardsStatus
---@field ring string "namespace/name"
---@field identity string of this member
---@field by string how it shares out
---@field working boolean it has announced what it works on
---@field members string[] the identities of all members that it sees, sorted
---@field parts integer how many of the 256 parts it may work on
---@field stands_by_for string? the identity of an older member that shares out otherwise
---@field problem string? of its Lease, or of the watch of the others
---@field code string?

---@return kubelua.ShardsStatus
function Membership:status()
    local held, options, parts = self.held.status(), self.options, 0
    for _ in pairs(self.ring.allowed) do
        parts = parts + 1
    end
    local problem, code = self.sight:problem()
    local older = self.ring.stands_by and self.sight.known[self.ring.stands_by]
    return { ring = options.namespace .. "/" .. options.name, identity = options.identity,
        by = options.by, working = self:is_at_work(), members = self.sight:members(), parts = parts,
        stands_by_for = older and older.facts.holder, problem = held.problem or problem,
        code = held.problem and held.code or code }
end

return Membership
