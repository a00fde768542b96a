-- No two Ingresses have the same host: asked before one is written, with all others at hand.
-- Try it: kubelua test examples/unique-hosts_spec.lua
local kubelua = require "kubelua"

kubelua.admit {
    "ingresses", name = "hosts",
    reads = { { "ingresses", namespace = "*", indexes = { host = "spec.rules[*].host" } } },
    validate = function(ingress, _, request, cluster)
        local key = request.namespace .. "/" .. (request.name or "")
        for _, rule in ipairs(ingress.spec.rules or {}) do
            for _, other in ipairs(cluster:by("ingresses", "host", rule.host or "")) do
                if other.key ~= key then
                    return false, ("the host %s belongs to the Ingress %s"):format(rule.host,
                        other.key)
                end
            end
        end
    end,
}
