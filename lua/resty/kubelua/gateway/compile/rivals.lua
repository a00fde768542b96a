-- HTTPRoutes and GRPCRoutes on one listener must not share a hostname: Gateway API accepts the
-- oldest and refuses the others. A listener with routes of one kind costs nothing; one with both is
-- gone through when one of its routes changes (its routes times the labels of their hosts). Pure.
local precedence = require "resty.kubelua.gateway.compile.precedence"
local sorting = require "resty.kubelua.gateway.compile.sorting"

local Rivals = {}
Rivals.__index = Rivals

local rivals = {}

---@class resty.kubelua.gateway.Claim
---@field hosts string[]
---@field origin { kind: string, namespace: string, name: string, created: string? }

function rivals.new()
    return setmetatable({ claims = {}, listeners = {}, counts = {}, dirty = {}, lost = {} }, Rivals)
end

function Rivals:add(source, listener, claim, sign)
    local claims, counts = self.listeners[listener], self.counts[listener]
    if not claims then
        claims, counts = {}, { HTTPRoute = 0, GRPCRoute = 0 }
        self.listeners[listener], self.counts[listener] = claims, counts
    end
    counts[claim.origin.kind] = counts[claim.origin.kind] + sign
    claims[source] = sign > 0 and claim or nil
    self.dirty[listener] = true
end

---Says which hosts a route claims on which listener, in place of what it claimed before.
---@param source string
---@param claims table<string, resty.kubelua.gateway.Claim>? by listener; nil: none
function Rivals:set(source, claims)
    for listener, claim in pairs(self.claims[source] or {}) do
        self:add(source, listener, claim, -1)
    end
    self.claims[source] = claims
    for listener, claim in pairs(claims or {}) do
        self:add(source, listener, claim, 1)
    end
end

-- The names under which a host is found: all wildcards above it, and itself.
local function above(host)
    local names = { "*" }
    local from = host:sub(1, 2) == "*." and 2 or 1
    local dot = host:find(".", from, true)
    while dot do
        names[#names + 1] = "*" .. host:sub(dot)
        dot = host:find(".", dot + 1, true)
    end
    return names
end

local function take_hosts(taken, hosts)
    for _, host in ipairs(hosts) do
        taken.exact[host] = true
        for _, name in ipairs(above(host)) do
            taken.under[name] = true
        end
    end
end

local function is_taken(taken, hosts)
    for _, host in ipairs(hosts) do
        if taken.exact[host] or taken.under[host] then
            return true
        end
        for _, name in ipairs(above(host)) do
            if taken.exact[name] then
                return true
            end
        end
    end
    return false
end

local OTHER = { HTTPRoute = "GRPCRoute", GRPCRoute = "HTTPRoute" }

local function is_older(a, b)
    return precedence.older(a.claim.origin, b.claim.origin)
end

local function losers_of(claims, pace)
    local list, losers = {}, {}
    for source, claim in pairs(claims) do
        list[#list + 1] = { source = source, claim = claim }
    end
    list = sorting.sort(list, is_older, pace)
    local taken = { HTTPRoute = { exact = {}, under = {} }, GRPCRoute = { exact = {}, under = {} } }
    for _, entry in ipairs(list) do
        pace()
        local kind = entry.claim.origin.kind
        if is_taken(taken[OTHER[kind]], entry.claim.hosts) then
            losers[entry.source] = true
        else
            take_hosts(taken[kind], entry.claim.hosts)
        end
    end
    return losers
end

---Settles the listeners of which a route changed.
---@param pace fun() called between two pieces of work
---@return table<string, true> sources that won or lost a listener
function Rivals:run(pace)
    local changed = {}
    for listener in pairs(self.dirty) do
        local counts, before = self.counts[listener], self.lost[listener] or {}
        local mixed = counts.HTTPRoute > 0 and counts.GRPCRoute > 0
        local losers = mixed and losers_of(self.listeners[listener], pace) or {}
        for source in pairs(before) do
            changed[source] = not losers[source] or changed[source]
        end
        for source in pairs(losers) do
            changed[source] = not before[source] or changed[source]
        end
        self.lost[listener] = next(losers) and losers or nil
        if not next(self.listeners[listener]) then
            self.listeners[listener], self.counts[listener] = nil, nil
        end
    end
    self.dirty = {}
    return changed
end

---@param source string
---@param listener string
---@return boolean the route has lost this listener to an older one of the other kind
function Rivals:has_lost(source, listener)
    local lost = self.lost[listener]
    return lost ~= nil and lost[source] == true
end

return rivals
