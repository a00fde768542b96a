-- With `hosts = "owned"`: a host on an address belongs to the namespace of the oldest route or
-- Ingress that names it; others of that host are refused. Not asked: hosts of a listener that has a
-- hostname (its Gateway says which namespaces may attach), and "*", which no object names. Pure.
local precedence = require "resty.kubelua.gateway.compile.precedence"

local Owners = {}
Owners.__index = Owners

local owners = {}

---@class resty.kubelua.gateway.Owners
---@field hosts table<string, table<string, table<string, table>>> by "ADDRESS HOST" and source: the
---origin at each key of gateway.hosts
---@return resty.kubelua.gateway.Owners
function owners.new()
    return setmetatable({ hosts = {} }, Owners)
end

-- "* a.com" for "*:443 * a.com", so that one namespace has a host on all ports. nil: not asked.
local function name_of(key)
    local address, listener, host = key:match("^(.-):%d+ (%S+) (%S+)$")
    return listener == "*" and host ~= "*" and address .. " " .. host or nil
end

---Says that a source has a place at a key, or that it has none any more (nil).
---@param source string
---@param key string of gateway.hosts
---@param origin { namespace: string, name: string, kind: string, created: string? }?
---@param mark fun(key: string) called with each key whose owner may be another one now
function Owners:set(source, key, origin, mark)
    local name = name_of(key)
    if not name then
        return
    end
    local sources = self.hosts[name] or {}
    local keys = sources[source] or {}
    keys[key] = origin
    sources[source] = next(keys) and keys or nil
    self.hosts[name] = next(sources) and sources or nil
    for _, of in pairs(sources) do
        for each in pairs(of) do
            mark(each)
        end
    end
end

---The oldest origin at the host of a key.
---@param key string
---@return { namespace: string, name: string, kind: string }?
function Owners:of(key)
    local oldest
    for _, keys in pairs(self.hosts[name_of(key) or ""] or {}) do
        local _, origin = next(keys)
        if not oldest or precedence.older(origin, oldest) then
            oldest = origin
        end
    end
    return oldest
end

return owners
