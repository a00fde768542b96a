-- The webhook of bench/admission: no two ConfigMaps of the namespace "asked" have the same owner.
local kubelua = require "kubelua"

assert(kubelua.admit { "configmaps", name = "owner", namespaces = { "asked" },
    reads = { { "configmaps", namespace = "asked", indexes = { owner = "data.owner" } } },
    validate = function(object, _, request, cluster)
        for _, other in ipairs(cluster:by("configmaps", "owner", object.data.owner)) do
            if other.name ~= request.name then
                return false, "it is that of " .. other.name
            end
        end
    end })
