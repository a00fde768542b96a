-- Gives every pod the label team: that of its namespace, or "nobody". See label-pods_spec.lua.
local kubelua = require "kubelua"
kubelua.controller { "pods", name = "label-pods",
    watches = { { "namespaces", map = function(namespace, run)
        return run:list("pods", { namespace = namespace.name })
    end } },
    reconcile = function(pod, run)
        local namespace = run:get("namespaces", pod.namespace)
        local team = namespace and namespace:get("metadata.labels.team") or "nobody"
        return pod:get("metadata.labels.team") == team
            or assert(run:patch { metadata = { labels = { team = team } } })
    end }
