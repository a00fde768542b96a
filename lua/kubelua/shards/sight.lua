-- What a member sees of its ring: the Leases, by a watch of its own.
local clients = require "kubelua.client"
local leases = require "kubelua.shards.lease"

---@class kubelua.shards.Sight
---@field options table
---@field teller kubelua.leader.Teller
---@field ring kubelua.shards.Ring
---@field look fun() called when something has changed
---@field informer kubelua.Informer?
---@field is_synced boolean the first list is there
---@field known table<string, { version: string, facts: kubelua.shards.Facts,
---object: kubelua.Object }> by token
local Sight = {}
Sight.__index = Sight

---@param options table
---@param teller kubelua.leader.Teller
---@param ring kubelua.shards.Ring
---@param look fun()
---@return kubelua.shards.Sight
function Sight.new(options, teller, ring, look)
    return setmetatable({ options = options, teller = teller, ring = ring, look = look,
        is_synced = false, known = {} }, Sight)
end

---Begins to watch, with a client; a watch with another client ends.
---@param client kubelua.Client
---@return true?, string?, string?
function Sight:open(client)
    self:close()
    local informer, message, code = clients.informer(client, { "leases",
        namespace = self.options.namespace, labels = leases.LABEL .. "=" .. self.options.name })
    if not informer then
        return nil, message, code
    end
    local registered
    registered, message, code = informer:on { name = self.teller.what, add = self.look,
        update = self.look, delete = self.look,
        synced = function()
            self.is_synced = true
            self.look()
        end,
        error = function(problem)
            self.teller:say("problem", "warn", "the watch of its Leases has failed, and is "
                .. "tried again: %s", problem)
        end }
    self.informer = informer
    return registered and true, message, code
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

-- Takes in the Lease of a member, if it has changed.
local function read_member(self, object, token, now)
    local version, known = object.resource_version, self.known[token]
    if not known or known.version ~= version then
        known = { version = version, facts = leases.facts(object, token), object = object }
        self.known[token] = known
        self.ring:see(known.facts, now)
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
    for _, object in ipairs(self.informer:list() or {}) do
        local token = leases.token_of(name, object.name)
        if object.name == name then
            registry = object
        elseif token then
            seen[token] = true
            read_member(self, object, token, now)
        end
    end
    lose_others(self, seen)
    if registry then
        self.ring:register(leases.registered(registry), now)
    else
        self.ring:unregister()
    end
    return registry
end

---Why the watch does not work, if it does not.
---@return string? message, string? code
function Sight:problem()
    local status = self.informer and self.informer:status() or {}
    return status.error, status.code
end

---The identities of the members whose Leases hold, sorted.
---@return string[]
function Sight:members()
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

return Sight
