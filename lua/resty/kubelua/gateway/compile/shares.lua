-- The room of the shared map among namespaces: one that needs less than an equal share has all that
-- it needs, the others share what is left. A namespace that needs more keeps its oldest routes and
-- Ingresses; the others of it are told, and have no place until there is room. So a tenant with any
-- number of routes leaves no other without room. Pure.
local precedence = require "resty.kubelua.gateway.compile.precedence"
local sorting = require "resty.kubelua.gateway.compile.sorting"

local Shares = {}
Shares.__index = Shares

local shares = {}

---@class resty.kubelua.gateway.Shares
---@field total integer bytes of all sources
---@field needs table<string, integer> bytes by namespace
---@field sources table<string, table<string, { bytes: integer, origin: table }>> by namespace
---@field without table<string, table<string, true>> sources without a place, by namespace
---@field changed table<string, true> namespaces since the last settlement

---@param limits { room: integer, pace: fun() }
---@return resty.kubelua.gateway.Shares
function shares.new(limits)
    return setmetatable({ limits = limits, total = 0, needs = {}, sources = {}, without = {},
        changed = {} }, Shares)
end

---Says how many bytes a source needs now.
---@param source string
---@param namespace string
---@param need { bytes: integer, origin: table }? nil: nothing
function Shares:set(source, namespace, need)
    local of = self.sources[namespace] or {}
    local before = of[source] and of[source].bytes or 0
    local after = need and need.bytes or 0
    of[source] = need
    self.sources[namespace] = next(of) and of or nil
    self.needs[namespace] = (self.needs[namespace] or 0) + after - before
    self.total = self.total + after - before
    if self.needs[namespace] == 0 then
        self.needs[namespace] = nil
    end
    self.changed[namespace] = true
end

-- The most that a namespace may have, so that all fit.
local function level_of(self)
    if self.total <= self.limits.room then
        return math.huge
    end
    local list, left = {}, self.limits.room
    for _, bytes in pairs(self.needs) do
        list[#list + 1] = bytes
    end
    list = sorting.sort(list, nil, self.limits.pace)
    for i, bytes in ipairs(list) do
        local share = left / (#list - i + 1)
        if bytes > share then
            return share
        end
        left = left - bytes
    end
    return math.huge
end

local function is_older(a, b)
    return precedence.older(a.origin, b.origin)
end

-- The sources of a namespace that find no place on this level: from the first on that does not fit.
local function beyond(self, namespace, level)
    local list, without, bytes = {}, {}, 0
    if (self.needs[namespace] or 0) <= level then
        return without
    end
    for source, need in pairs(self.sources[namespace]) do
        list[#list + 1] = { source = source, bytes = need.bytes, origin = need.origin }
    end
    for _, one in ipairs(sorting.sort(list, is_older, self.limits.pace)) do
        bytes = bytes + one.bytes
        without[one.source] = bytes > level or nil
    end
    return without
end

---Finds the sources that lose or find their place.
---@return string[]
function Shares:settle()
    local flips, level, asked = {}, level_of(self), {}
    for namespace in pairs(self.needs) do
        asked[namespace] = self.changed[namespace] or level ~= self.level or nil
    end
    for namespace in pairs(self.without) do
        asked[namespace] = true
    end
    for namespace in pairs(asked) do
        local before, after = self.without[namespace] or {}, beyond(self, namespace, level)
        for source in pairs(before) do
            flips[#flips + 1] = not after[source] and source or nil
        end
        for source in pairs(after) do
            flips[#flips + 1] = not before[source] and source or nil
        end
        self.without[namespace] = next(after) and after or nil
        self.limits.pace()
    end
    self.level, self.changed = level, {}
    return flips
end

---@param source string
---@param namespace string
---@return boolean
function Shares:has_place(source, namespace)
    local without = self.without[namespace]
    return not (without and without[source])
end

return shares
