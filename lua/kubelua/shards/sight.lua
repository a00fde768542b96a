-- What a member sees of its ring: the Leases, by a watch of its own.
local clients = require "kubelua.client"
local leases = require "kubelua.shards.lease"

---@class kubelua.shards.Sight
---@field options table
---@field teller kubelua.leader.Teller
---@field ring kubelua.shards.Ring
---@field look fun()
---@field now fun(): number
---@field informer kubelua.Informer?
---@field is_synced boolean the first list is there
---@field heard_at number? when the watch has brought something last, by the ring's clock
---@field known table<string, { version: string, facts: kubelua.shards.Facts?,
---object: kubelua.Object? }> by token; without facts: it has never been readable
local Sight = {}
Sight.__index = Sight

---@param options table
---@param teller kubelua.leader.Teller
---@param ring kubelua.shards.Ring
---@param hooks { look: fun(), now: fun(): number } look: called when something has come
---@return kubelua.shards.Sight
function Sight.new(options, teller, ring, hooks)
    return setmetatable({ options = options, teller = teller, ring = ring, look = hooks.look,
        now = hooks.now, is_synced = false, known = {} }, Sight)
end

---Begins to watch, with a client; the watch of before ends. The new one may begin with an older
---state: what counts until then, see Ring:reopen.
---@param client kubelua.Client
---@return true?, string?, string?
function Sight:open(client)
    self:close()
    self.ring:reopen()
    local informer, message, code = clients.informer(client, { "leases",
        namespace = self.options.namespace, labels = leases.LABEL .. "=" .. self.options.name })
    if not informer then
        return nil, message, code
    end
    local registered
    local function hear()
        self.heard_at = self.now()
        self.look()
    end
    registered, message, code = informer:on { name = self.teller.what, add = hear, update = hear,
        delete = hear,
        synced = function()
            self.is_synced = true
            hear()
        end,
        error = function(problem, problem_code)
            self.teller:say("problem", "warn", "the watch of its Leases has failed, and is "
                .. "tried again: %s%s", problem,
                leases.remedy(problem_code, self.options.namespace))
        end }
    if not registered then
        informer:stop()
        return nil, message, code
    end
    self.informer = informer
    return true
end

---Ends the watch. What was seen stays.
function Sight:close()
    if self.informer then
        self.informer:stop()
        self.informer, self.is_synced = nil, false
    end
end

local function tell_deleted(self, token)
    if token == self.ring.token and self.ring.first then
        self.teller:say("deleted", "warn", "the Lease %s of %s was deleted; it is made again",
            leases.name(self.options.name, token), self.options.identity)
    end
end

-- A Lease that cannot be read is no renewal, but its member may be at work.
local function suspect_member(self, token, now)
    self.ring:suspect(token, now)
    self.teller:say("unreadable", "warn", "the Lease %s cannot be read, or has no holder: it "
        .. "counts as held until it has run out; delete it, unless its member writes it anew",
        leases.name(self.options.name, token))
end

-- Takes in the Lease of a member, if it has changed.
local function read_member(self, object, token, now)
    local version, known = object.resource_version, self.known[token]
    if known and known.version == version then
        return
    end
    local facts = leases.facts(object, token)
    self.known[token] = { version = version, object = object,
        facts = facts or known and known.facts or nil }
    if facts then
        self.ring:see(facts, now)
    else
        suspect_member(self, token, now)
    end
end

-- The Leases that the cache does not have because their JSON cannot be read.
local function read_unreadable(self, seen, now)
    local status = self.informer:status()
    for _, each in ipairs(status.unreadable or {}) do
        local token = leases.token_of(self.options.name, each.key:match("[^/]+$") or "")
        local known = token and self.known[token]
        if token and not each.cached then
            seen[token] = true
            if not known or known.version ~= each.why then
                self.known[token] = { version = each.why, facts = known and known.facts }
                suspect_member(self, token, now)
            end
        end
    end
end

-- Forgets the members whose Leases are gone.
local function lose_others(self, seen)
    for token in pairs(self.known) do
        if not seen[token] then
            self.known[token] = nil
            self.ring:lose(token)
            tell_deleted(self, token)
        end
    end
end

---Hands the Leases to the ring as the cache has them, all as of one moment: see rule 1 of ring.lua.
---@param now number
---@return kubelua.Object? registry the ring's own Lease
function Sight:read(now)
    local name, seen, registry = self.options.name, {}, nil
    local list, message = self.informer:list()
    if not list then
        error(message, 0) -- short of memory: that is no empty ring
    end
    for _, object in ipairs(list) do
        local token = leases.token_of(name, object.name)
        if object.name == name then
            registry = object
        elseif token then
            seen[token] = true
            read_member(self, object, token, now)
        end
    end
    read_unreadable(self, seen, now)
    lose_others(self, seen)
    if registry then
        self.ring:register(leases.registered(registry), now)
    else
        self.ring:unregister()
    end
    return registry
end

---The Leases of members, as far as they could be read.
---@param tokens string[]
---@return kubelua.Object[]
function Sight:objects(tokens)
    local objects = {}
    for _, token in ipairs(tokens) do
        objects[#objects + 1] = self.known[token] and self.known[token].object
    end
    return objects
end

---Why the watch does not work, if it does not.
---@return string? message, string? code
function Sight:problem()
    local status = self.informer and self.informer:status() or {}
    return status.error and status.error .. leases.remedy(status.code, self.options.namespace),
        status.code
end

---The identities of the members whose Leases hold, sorted.
---@return string[]
function Sight:members()
    local names = {}
    for token, known in pairs(self.known) do
        local other = self.ring.others[token]
        if known.facts and known.facts.holder ~= "" and not (other and other.dead_after) then
            names[#names + 1] = known.facts.holder
        end
    end
    table.sort(names)
    return names
end

return Sight
