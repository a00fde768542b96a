-- No two Ingresses have the same host: asked before one is written, with all others at hand.
-- Try it: kubelua test examples/unique-hosts_spec.lua
local kubelua = require "kubelua"

-- The cache knows an Ingress only after it was written. What was allowed a moment ago is kept here,
-- so that of two with the same host that come together one is denied: host -> { key, till }.
local REMEMBERED = 10 -- seconds, more than the cache and the API server ever need
local allowed = {}

local function forget_old()
    for host, one in pairs(allowed) do
        if one.till <= kubelua.now() then
            allowed[host] = nil
        end
    end
end

local function find_owner(cluster, host, key)
    for _, other in ipairs(cluster:by("ingresses", "host", host)) do
        if other.key ~= key then
            return other.key
        end
    end
    local last = allowed[host]
    return last and last.key ~= key and last.key or nil
end

kubelua.admit {
    "ingresses", name = "hosts",
    reads = { { "ingresses", namespace = "*", indexes = { host = "spec.rules[*].host" } } },
    validate = function(ingress, _, request, cluster)
        -- With generateName there is no name yet, but each request has a uid.
        local key = request.namespace .. "/" .. (request.name or request.uid)
        forget_old()
        for _, rule in ipairs(ingress.spec.rules or {}) do
            local owner = rule.host and find_owner(cluster, rule.host, key)
            if owner then
                return false, ("the host %s belongs to the Ingress %s"):format(rule.host, owner)
            end
        end
        for _, rule in ipairs(not request.dryRun and ingress.spec.rules or {}) do
            if rule.host then
                allowed[rule.host] = { key = key, till = kubelua.now() + REMEMBERED }
            end
        end
    end,
}
