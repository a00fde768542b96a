-- The ConfigMap default/pods counts the pods in each phase; it is written at most once a second.
local kubelua = require "kubelua"

kubelua.controller { name = "pod-summary", delay = 1,
    watches = { { "pods", map = function() return "all" end } },
    reconcile = function(_, run)
        local counts = {}
        for _, pod in ipairs(run:list("pods")) do
            local phase = pod:get("status.phase") or "Unknown"
            counts[phase] = tostring((tonumber(counts[phase]) or 0) + 1)
        end
        return run:apply { apiVersion = "v1", kind = "ConfigMap", data = counts,
            metadata = { name = "pods", namespace = "default" } }
    end }
