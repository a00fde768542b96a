-- The table gateway.hosts: merges what routes and Ingresses give for one host of a listener, the
-- oldest first, and keeps the limits. Only hosts of which a source changed are made anew; the cost
-- of one is its matches (at most 1,000) times their logarithm. Pure.
local owners = require "resty.kubelua.gateway.compile.owners"
local precedence = require "resty.kubelua.gateway.compile.precedence"
local shares = require "resty.kubelua.gateway.compile.shares"
local sorting = require "resty.kubelua.gateway.compile.sorting"

local Hosts = {}
Hosts.__index = Hosts

local hosts = {}

---@class resty.kubelua.gateway.HostItem what one source gives for one host
---@field rules table[] RULE
---@field matches table[] MATCH
---@field size integer bytes as JSON
---@field origin { kind: string, namespace: string, name: string, created: string? }

-- Bytes of an entry in the map beside its value and twice its name.
local OVERHEAD = 64

---@param limits { matches: integer, bytes: integer, room: integer, patterns: integer, pace: fun() }
function hosts.new(limits)
    return setmetatable({ limits = limits, owners = limits.owned and owners.new() or nil,
        shares = shares.new(limits),
        patterns = shares.new { room = limits.patterns, pace = limits.pace }, items = {},
        keys_of = {}, namespace_of = {}, dirty = {},
        refused = {}, refused_changed = {} }, Hosts)
end

---@param entry string
---@param listener string
---@param host string
---@return string
function hosts.key(entry, listener, host)
    return entry .. " " .. listener .. " " .. host
end

local function has_pattern(conditions)
    for _, condition in ipairs(conditions or {}) do
        if condition[3] == "regex" then
            return true
        end
    end
    return false
end

-- The matches with a regular expression, about as many as there are expressions.
local function count_patterns(matches)
    local count = 0
    for _, match in ipairs(matches) do
        if match.kind == "regex" or has_pattern(match.headers) or has_pattern(match.queries) then
            count = count + 1
        end
    end
    return count
end

-- Counts the bytes and patterns of a source. A source never changes its namespace.
function Hosts:count(source, items)
    local bytes, patterns, seen, origin = 0, 0, {}, nil
    for key, item in pairs(items) do
        bytes, origin = bytes + item.size + 2 * #key + OVERHEAD, item.origin
        if not seen[item.matches] then
            seen[item.matches] = true
            patterns = patterns + count_patterns(item.matches)
        end
    end
    local namespace = origin and origin.namespace or self.namespace_of[source]
    self.namespace_of[source] = origin and namespace
    if namespace then
        self.shares:set(source, namespace, origin and { bytes = bytes, origin = origin })
        self.patterns:set(source, namespace, patterns > 0 and { bytes = patterns,
            origin = origin } or nil)
    end
end

-- Why a source has no place at all; nil: it has.
function Hosts:without_place(source, namespace)
    if not self.shares:has_place(source, namespace) then
        return "the namespace has no more room in the shared map"
    elseif not self.patterns:has_place(source, namespace) then
        return ("the namespace has no more room among the %d regular expressions of all")
            :format(self.limits.patterns)
    end
end

---Says what a source gives now, in place of what it gave before.
---@param source string "HTTPRoute web/shop"
---@param items table<string, resty.kubelua.gateway.HostItem>? by key of the host; nil: nothing
function Hosts:set(source, items)
    local function mark(key)
        self.dirty[key] = true
    end
    for key in pairs(self.keys_of[source] or {}) do
        self.items[key][source] = nil
        self.dirty[key] = true
        if self.owners then
            self.owners:set(source, key, nil, mark)
        end
    end
    self.keys_of[source] = items and next(items) and items or nil
    self:count(source, items or {})
    for key, item in pairs(items or {}) do
        local those = self.items[key]
        if not those then
            those = {}
            self.items[key] = those
        end
        those[source] = item
        self.dirty[key] = true
        if self.owners then
            self.owners:set(source, key, item.origin, mark)
        end
    end
    local refused = self.refused[source]
    for key in pairs(refused or {}) do
        if not (items and items[key]) then
            refused[key] = nil
        end
    end
    if refused and not next(refused) then
        self.refused[source] = nil
    end
end

local function is_older(a, b)
    return precedence.older(a.item.origin, b.item.origin)
end

local function by_age(items, pace)
    local list = {}
    for source, item in pairs(items) do
        list[#list + 1] = { source = source, item = item }
    end
    return sorting.sort(list, is_older, pace)
end

-- Notes that a source has no place on a host (message), or has one (nil).
function Hosts:refuse(source, key, message, reason)
    local refused = self.refused[source]
    if (refused and refused[key] and refused[key].message) == message then
        return
    end
    self.refused[source] = refused or {}
    self.refused[source][key] = message and { message = message, reason = reason } or nil
    self.refused_changed[source] = true
end

-- The sources that fit. One that does not is left out whole, so that a tenant's thousands of rules
-- cost that tenant only; later ones may fit.
function Hosts:fitting(key)
    local limits, fitting, count, bytes = self.limits, {}, 0, 0
    for _, entry in ipairs(by_age(self.items[key], limits.pace)) do
        local item = entry.item
        local message = self:without_place(entry.source, item.origin.namespace)
        local reason = "LimitExceeded"
        local owner = self.owners and self.owners:of(key)
        if owner and owner.namespace ~= item.origin.namespace then
            reason, message = "HostnameConflict", ("the host belongs to the namespace %s, whose "
                .. "%s %s is older"):format(owner.namespace, owner.kind, owner.name)
        elseif not message and count + #item.matches > limits.matches then
            message = ("%d matches more would be over the limit of %d on this host"):format(
                #item.matches, limits.matches)
        elseif not message and bytes + item.size > limits.bytes then
            message = ("its rules of %d bytes would be over the limit of %d on this host"):format(
                item.size, limits.bytes)
        end
        if not message then
            fitting[#fitting + 1] = item
            count, bytes = count + #item.matches, bytes + item.size
        end
        self:refuse(entry.source, key, message, reason)
        limits.pace()
    end
    return fitting
end

local function copy_match(match, first)
    return { path = match.path, kind = match.kind, method = match.method, headers = match.headers,
        queries = match.queries, rule = first + match.rule }
end

local function merge(items)
    local rules, ranked = {}, {}
    for source, item in ipairs(items) do
        local first = #rules
        for i, rule in ipairs(item.rules) do
            rules[first + i] = rule
        end
        for place, match in ipairs(item.matches) do
            ranked[#ranked + 1] = precedence.rank(copy_match(match, first), source, place)
        end
    end
    table.sort(ranked, precedence.before)
    local matches = {}
    for i, entry in ipairs(ranked) do
        matches[i] = entry.match
    end
    return { rules = rules, matches = matches }
end

---Makes the hosts of which a source changed.
---@return table<string, table|false> changed HOST by key; false: nothing is left
function Hosts:run()
    local changed = {}
    for _, settled in ipairs { self.shares:settle(), self.patterns:settle() } do
        for _, source in ipairs(settled) do
            for key in pairs(self.keys_of[source] or {}) do
                self.dirty[key] = true
            end
        end
    end
    for key in pairs(self.dirty) do
        if next(self.items[key]) then
            local fitting = self:fitting(key)
            changed[key] = #fitting > 0 and merge(fitting) or false
        else
            self.items[key] = nil
            changed[key] = false
        end
        self.limits.pace()
    end
    self.dirty = {}
    return changed
end

---The sources whose places changed in the last runs.
---@return table<string, true>
function Hosts:take_refused()
    local changed = self.refused_changed
    self.refused_changed = {}
    return changed
end

---On how many of its hosts a source has a place, and why not on the others.
---@param source string
---@return integer places
---@return { reason: string, message: string }[] refused "host: why", sorted
function Hosts:places(source)
    local places, list = 0, {}
    for key in pairs(self.keys_of[source] or {}) do
        local refused = (self.refused[source] or {})[key]
        if refused then
            list[#list + 1] = { reason = refused.reason, message = key .. ": " .. refused.message }
        else
            places = places + 1
        end
    end
    table.sort(list, function(a, b)
        return a.message < b.message
    end)
    return places, list
end

return hosts
