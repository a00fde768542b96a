-- This process as a member of a ring: holds its Lease, watches those of the others, tells ring.lua
-- what it sees, and announces what that says. Controllers of one process that name the same ring
-- are one member.
local clearing = require "kubelua.shards.clearing"
local core = require "kubelua.core"
local has_ended = require "kubelua.shards.has_ended"
local Figures = require "kubelua.shards.figures"
local leader = require "kubelua.leader"
local leases = require "kubelua.shards.lease"
local News = require "kubelua.shards.news"
local parts_of = require "kubelua.shards.parts"
local Readiness = require "kubelua.shards.readiness"
local Resignation = require "kubelua.shards.resignation"
local Registry = require "kubelua.shards.registry"
local Ring = require "kubelua.shards.ring"
local Sight = require "kubelua.shards.sight"
local tasks = require "kubelua.tasks"
local make_status = require "kubelua.shards.status"
local make_teller = require "kubelua.shards.teller"
local Writes = require "kubelua.shards.writes"

---What a controller tells the membership.
---@class kubelua.shards.User
---@field client kubelua.Client
---@field held kubelua.Leader? the Lease of this member, for this user
---@field share fun(parts: table<integer, true>) those that it has announced, or is about to
---@field changed fun(parts: table<integer, true>) the parts that this member may work on are new
---@field lost fun() this process is no member any more: its runs must end
---@field is_busy fun(part: integer): boolean a run of a key in that part has not ended
---@field cancel fun(part: integer) such runs take too long
---@field problem (fun(): string?, string?, boolean?)? why it cannot work, if so: the message, the
---code, and true if its caches were listed before; nil: it always can

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
---@field readiness kubelua.shards.Readiness
---@field resignation kubelua.shards.Resignation
local Membership = {}
Membership.__index = Membership

local PARTS = parts_of.COUNT
local RETRY = 1 -- seconds after a look that has failed

local function tell_changes(self)
    local parts = self.ring.allowed
    self.news:tell_share(self.ring, #self.sight:members())
    local share = self.ring:share()
    if not parts_of.are_equal(share, self.share) then
        self.share = share
        for _, user in ipairs(self.users) do
            user.share(share)
        end
    end
    if parts_of.are_equal(parts, self.told) then
        return
    end
    self.told = parts
    self.figures:show(parts)
    for _, user in ipairs(self.users) do
        user.changed(parts)
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

local function look_once(self)
    local now = self.held.now()
    local object = self.sight:read(now)
    local holds = self.held.is_leader()
    if holds and self.readiness.is_ready and not self.ring.first then
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
    local older = self.ring.stands_by
    local known = older and self.sight.known[older]
    self.news:tell_older(older, known and known.facts)
    tell_changes(self)
    if holds then
        self.registry:update(object, clearing.registration(self.ring),
            self.sight:objects(clearing.remains(self.ring)))
    else
        self.registry:update(nil, nil, {})
    end
    arm(self, at, now)
end

local function resign(self)
    local is_working = self:is_working() or self.writes:are_open()
    if self.resignation:go_on(self.users, is_working, self.held.now()) then
        self.held.hurry()
    end
end

---Looks if this member can do its work, and should hold its Lease.
function Membership:check()
    if self.has_left then
        return
    end
    local now, holds, readiness = self.held.now(), self.ring.first ~= nil, self.readiness
    local has_changed = readiness:update(self.users, self.sight, now, holds)
    if readiness:must_reopen(self.sight, now, holds) then
        self:watch(self.watches_for)
    end
    if has_changed then
        self.ring:resign(not readiness.is_ready)
        if holds and not readiness.is_ready then
            self.resignation:begin(now)
        else
            self.resignation:cancel()
        end
        tell_changes(self)
        self.held.hurry()
    end
    self:look()
end

local function arm_check(self)
    self.check_timer = self.clock:at(self.clock:now() + self.options.retry, function()
        if not self.has_left then
            arm_check(self)
            self:check()
        end
    end)
end

---A run or a write has ended: what waits for it can go on.
function Membership:work_ended()
    if self.ring.pending or self.resignation.since then
        self:look()
    end
end

---Looks at the Leases and at the clock, and does what follows.
function Membership:look()
    if self.resignation.since and not self.has_left then
        resign(self)
    end
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
            arm(self, self.held.now() + RETRY, self.held.now())
        end
    end
    self.is_looking = false
end

local function lose(self)
    if not self.ring.first then
        return -- another user has told it
    end
    self.ring:stop()
    self.resignation:cancel()
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
        share = {},
        clock = tasks.clock_here(), readiness = Readiness.new(options, teller),
        resignation = Resignation.new(options.renew), figures = Figures.new(options),
        news = News.new(options, teller), ring = Ring.new { token = leases.token(options.identity),
            by = options.by, lease = options.lease, prefix = core.random(4) } }, Membership)
    self.registry = Registry.new(options, teller)
    self.sight = Sight.new(options, teller, self.ring, {
        look = function()
            if self.readiness.is_ready then
                self:look()
            else
                self:check()
            end
        end,
        now = function() return self.held and self.held.now() or 0 end,
    })
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
        wants = function()
            local readiness = self.readiness
            return readiness.is_ready or ring.first ~= nil and not self.resignation.is_over,
                readiness.why
        end,
    })
    self.held = self.held or held
    self.writes = self.writes or Writes.new(options.lease, held.now, function()
        self:work_ended()
    end)
    held.on_loss(function() lose(self) end)
    held.while_busy(function() return self:is_working() end)
    held.on_gain(function()
        self.sight.heard_at = held.now() -- the watch is to bring its own Lease now
        self:look()
    end)
    return held
end

---Watches the ring with the client of a user.
---@param user kubelua.shards.User
---@return true?, string?, string?
function Membership:watch(user)
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

---True while this process has its Lease, and has not lost it.
---@return boolean
function Membership:is_member()
    return self.ring.first ~= nil
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
        local ok, message, code = self:watch(user)
        if not ok then
            return nil, message, code
        end
    end
    table.insert(self.users, user)
    user.held = hold(self, user.client)
    if #self.users == 1 then
        arm_check(self)
    end
    user.share(self.share)
    user.changed(self.told)
    self:check()
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
        self.check_timer.cancelled = true
        self.sight:close()
        self.figures:remove()
    else
        self.held = heir.held
        if self.watches_for == user then
            self:watch(heir)
        end
    end
    user.held.release()
    return heir == nil
end

---@return kubelua.ShardsStatus
function Membership:status()
    return make_status(self)
end

return Membership
