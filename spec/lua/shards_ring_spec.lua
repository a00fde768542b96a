-- The rules of a ring, with Leases in a store of this spec: members join, leave, are suspended,
-- lose replies, and hear of each other late, by chance. No two may ever work on one part.
local clearing = require "kubelua.shards.clearing"
local Election = require "kubelua.leader.election"
local deep_copy = require "deep_copy"
local lease_store = require "lease_store"
local Ring = require "kubelua.shards.ring"

local LEASE, RENEW, RETRY = 15, 10, 2
local PARTS = 256

local function facts_of(token, lease)
    local notes, spec = lease.metadata.annotations or {}, lease.spec
    return { token = token, holder = spec.holderIdentity, acquired = spec.acquireTime or "",
        record = tostring(spec.renewTime) .. tostring(spec.acquireTime) .. spec.holderIdentity,
        duration = spec.leaseDurationSeconds, claims = notes.claims or "", by = notes.by or "",
        number = notes.number or "" }
end

-- A process. `busy` has the parts that it works on, and until when.
local Member = {}
Member.__index = Member

local function new_member(world, token, by)
    local self = setmetatable({ world = world, token = token, seen = 0, known = {}, busy = {},
        suspended = 0, requests = {}, ill_until = 0,
        election = Election.new { identity = token, lease = LEASE, renew = RENEW, retry = RETRY,
            random = function() return world.random:unit() end },
        ring = Ring.new { token = token, by = by or "key", lease = LEASE,
            prefix = token .. world.random:below(1000000) } }, Member)
    world.members[#world.members + 1] = self
    return self
end

-- Hears of changes, some of them or all, as of one moment.
function Member:hear()
    local log = self.world.store.log
    if self.is_deaf or self.seen == #log then
        return
    end
    local upto = self.seen + 1 + self.world.random:below(#log - self.seen)
    local changed, registry = {}, nil
    for i = self.seen + 1, upto do
        local entry = log[i]
        if entry.token == "" then
            registry = entry
        else
            changed[entry.token] = entry
        end
    end
    self.seen = upto
    for token, entry in pairs(changed) do
        if entry.lease then
            self.ring:see(facts_of(token, entry.lease), self.world.now)
        else
            self.ring:lose(token)
        end
    end
    if registry then
        self.ring:register(registry.lease and registry.lease.tokens or {}, self.world.now)
        if not registry.lease then
            self.ring:unregister()
        end
    end
end

-- True if the work that must end has ended.
function Member:has_ended()
    for part, ends_at in pairs(self.busy) do
        if self.ring:leaves(part) and ends_at > self.world.now then
            return false
        end
    end
    return true
end

local function announce(lease, said)
    lease.metadata = lease.metadata or {}
    lease.metadata.annotations = said
end

-- Opens its watch anew, at another server perhaps, which is behind the one of before.
function Member:reopen()
    local store, behind = self.world.store, {}
    self.ring:reopen()
    self.seen = self.world.random:below(self.seen + 1)
    for i = 1, self.seen do
        behind[store.log[i].token] = store.log[i]
    end
    for token in pairs(self.ring.others) do
        if not behind[token] or not behind[token].lease then
            self.ring:lose(token)
        end
    end
    for token, entry in pairs(behind) do
        if token ~= "" and entry.lease then
            self.ring:see(facts_of(token, entry.lease), self.world.now)
        end
    end
    local registry = behind[""] and behind[""].lease
    if registry then
        self.ring:register(registry.tokens, self.world.now)
    else
        self.ring:unregister()
    end
end

-- Gives its Lease back once its work has ended, and asks for no other one meanwhile.
function Member:resign()
    local world = self.world
    if not self.ring.resigns then
        self.ring:resign(true)
    end
    for _, ends_at in pairs(self.busy) do
        if ends_at > world.now then
            return
        end
    end
    self.election:give_up("it cannot work")
    self.ring:stop()
    self.ring:rest()
    self.rests = true
    local order = self.election:release(world.now)
    if order and not self.request then
        self:send(order)
        world.resigned = world.resigned + 1
    end
end

-- Sends what the election orders: the store gets it after a while, or never, and so does this
-- member the reply.
function Member:send(order)
    local random, world = self.world.random, self.world
    if order.record then
        announce(order.lease, deep_copy(self.ring:announcement()))
    end
    local slow = random:chance(world.is_calm and 0 or 0.05) and 8 or 0.2
    self.request = { order = order, token = self.token,
        is_lost = random:chance(world.is_calm and 0 or 0.03),
        arrives = world.now + random:unit() * slow }
    self.request.ends = math.min(self.request.arrives + random:unit() * slow,
        world.now + order.timeout)
    self.request.is_late = self.request.ends < self.request.arrives
    world.requests[#world.requests + 1] = self.request
end

function Member:receive()
    local request, now = self.request, self.world.now
    self.request = nil
    local result = request.result
    if not result or request.is_late or request.is_lost then
        self.election:answer(request.order, now, nil, "no reply", "unknown")
    else
        self.election:answer(request.order, now, result[1], result[2], result[3])
    end
end

function Member:register()
    local tokens = clearing.registration(self.ring)
    local store = self.world.store
    local current = store.leases[""]
    if tokens and self.world.random:chance(0.5) and self.seen == #store.log then
        store:put("", { metadata = {}, tokens = tokens,
            was = current and current.metadata.resourceVersion })
    end
    for _, token in ipairs(clearing.remains(self.ring)) do
        if store.leases[token] and self.seen == #store.log then
            store:put(token, nil)
            self.world.swept = self.world.swept + 1
        end
    end
end

-- Looks around, as membership.lua does.
function Member:look()
    local now, ring = self.world.now, self.ring
    local leads = self.election:check(now)
    if (not leads or self.term ~= self.election.term) and ring.first then
        ring:stop()
        self.busy = {} -- the writes of these runs are fenced
    end
    if leads and not ring.first and not self.is_deaf and now >= self.ill_until then
        self.term = self.election.term
        ring:begin()
    end
    if now < self.ill_until and not self.rests then
        self:resign()
    elseif now >= self.ill_until and (self.rests or ring.resigns) then
        self.rests = false
        ring:resign(false)
    end
    ring:look(now)
    if ring.pending and self:has_ended() then
        ring:announce()
        ring:look(now)
        self.election:hurry()
    end
    if leads then
        self:register()
    end
end

function Member:may_work(part)
    return self.world.now >= self.suspended and self.election:check(self.world.now)
        and self.ring.allowed[part] == true
end

-- True while its writes may still reach the server.
function Member:is_working(part)
    return (self.busy[part] or 0) > self.world.now and self.election.leading
        and self.world.now < self.election.renewed_at + LEASE
end

function Member:work()
    local random, world = self.world.random, self.world
    for _ = 1, 20 do
        local part = 1 + random:below(PARTS)
        if self:may_work(part) and not self:is_working(part) then
            for _, other in ipairs(world.members) do
                if other ~= self and other:is_working(part) then
                    error(("seed %d, %.2f s: %s and %s work on part %d"):format(world.seed,
                        world.now, self.token, other.token, part))
                end
            end
            self.busy[part] = world.now + random:unit() * 3
            world.worked = world.worked + 1
        end
    end
end

function Member:step()
    if self.world.now < self.suspended then
        return
    end
    self:hear()
    if self.request and self.world.now >= self.request.ends then
        self:receive()
    end
    self:look()
    if not self.request and not self.rests then
        local order = self.election:next(self.world.now, self.world.now)
        if order.what ~= "wait" then
            self:send(order)
        end
    end
    self:look()
    self:work()
end

local function new_world(seed)
    return { seed = seed, now = 0, random = lease_store.random(seed), members = {},
        store = lease_store.new(), requests = {}, worked = 0, swept = 0, resigned = 0 }
end

local function deliver(world)
    for i = #world.requests, 1, -1 do
        local request = world.requests[i]
        if world.now >= request.arrives then
            table.remove(world.requests, i)
            local result = { world.store:answer(request.token, request.order) }
            request.result = result
        end
    end
end

local function step(world, seconds)
    world.now = world.now + seconds
    deliver(world)
    for _, member in ipairs(world.members) do
        member:step()
    end
end

-- What can happen to a ring, each with its chance in a step.
local TROUBLE = {
    { 0.006, function(world, member) -- a process is suspended, and goes on
        member.suspended = world.now + world.random:unit() * 40
    end },
    { 0.004, function(world, member) -- a watch stalls, and goes on
        member.is_deaf = not member.is_deaf
        if not member.is_deaf then
            member.seen = math.min(member.seen, #world.store.log)
        end
    end },
    { 0.004, function(world, member) -- its watch is opened anew
        member:reopen()
    end },
    { 0.004, function(world, member) -- its caches fail for a while
        member.ill_until = world.now + world.random:unit() * 30
    end },
    { 0.003, function(world, member) -- a user deletes a Lease
        if world.store.leases[member.token] then
            world.store:put(member.token, nil)
        end
    end },
    { 0.002, function(world) -- and that of the ring
        if world.store.leases[""] then
            world.store:put("", nil)
        end
    end },
    { 0.004, function(world) -- a process comes
        if #world.members < 7 then
            new_member(world, "m" .. #world.members + 1)
        end
    end },
    { 0.002, function(world, member) -- a process dies, and another one gets its identity
        if #world.members > 2 then
            for i, other in ipairs(world.members) do
                if other == member then
                    table.remove(world.members, i)
                end
            end
            new_member(world, world.random:chance(0.5) and member.token
                or "n" .. world.random:below(1000))
        end
    end },
}

local function cause_trouble(world)
    local random = world.random
    for _, trouble in ipairs(TROUBLE) do
        if random:chance(trouble[1]) then
            trouble[2](world, world.members[1 + random:below(#world.members)])
        end
    end
end

-- The members that work on each part; fails if a part has none or several.
local function assert_shared(world)
    for part = 1, PARTS do
        local workers = {}
        for _, member in ipairs(world.members) do
            if member:may_work(part) then
                workers[#workers + 1] = member.token
            end
        end
        assert.equal(1, #workers, ("seed %d: part %d has %s"):format(world.seed, part,
            table.concat(workers, ", ")))
    end
end

local function calm_down(world)
    world.is_calm = true
    for _, member in ipairs(world.members) do
        member.is_deaf, member.suspended, member.ill_until = false, 0, 0
    end
    for _ = 1, 400 do
        step(world, 0.1)
    end
end

describe("a ring", function()
    it("gives each part to one member, whatever happens", function()
        local swept, resigned = 0, 0
        for seed = 1, tonumber(os.getenv("KUBELUA_SEEDS") or 6) do
            local world = new_world(seed)
            new_member(world, "m1")
            new_member(world, "m2")
            for _ = 1, 1200 do
                cause_trouble(world)
                step(world, world.random:unit() * 0.4)
            end
            assert.is_true(world.worked > 1000, "seed " .. seed .. ": hardly any work")
            calm_down(world)
            assert_shared(world)
            swept, resigned = swept + world.swept, resigned + world.resigned
        end
        assert.is_true(swept > 0 and resigned > 0)
    end)
end)
