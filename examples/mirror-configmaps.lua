-- Copies a ConfigMap with the label example.com/mirror into each namespace, and keeps them equal.
-- Deletes the copies once it is deleted or loses the label, even if this script did not run then.
-- A ConfigMap that is there already, and is no copy, stays as it is.
-- Try it: kubelua run --sim=examples/mirror.yaml examples/mirror-configmaps.lua
local kubelua = require "kubelua"

local ORIGIN = 'metadata.annotations["example.com/origin"]'

kubelua.controller {
    "configmaps", labels = "example.com/mirror", name = "mirror-configmaps",
    watches = {
        { "namespaces", map = function(_, run) return run:list("configmaps") end },
        { "configmaps", as = "copies", labels = "example.com/copy", indexes = { origin = ORIGIN },
            map = function(copy) return (copy:get(ORIGIN) or ""):match("^[^/]+/[^/]+$") end },
    },
    reconcile = function(origin, run)
        local refused
        for _, namespace in ipairs(run:list("namespaces")) do
            local metadata = { name = origin.name, namespace = namespace.name,
                labels = { ["example.com/copy"] = "" },
                annotations = { ["example.com/origin"] = origin.key } }
            if namespace.name ~= origin.namespace and namespace.status.phase == "Active" then
                local copy, message, code = run:apply({ apiVersion = "v1", kind = "ConfigMap",
                    metadata = metadata, data = origin.data }, { owner = false })
                if not copy and code ~= "not_owned" then return nil, message, code end
                refused = refused or message
            end
        end
        if refused then
            run:event("Warning", "NotMirrored", refused)
            return false, refused
        end
    end,
    gone = function(key, run)
        for _, copy in ipairs(run:by("copies", "origin", key)) do assert(run:delete(copy)) end
    end,
}
