-- An OrderedSet has the pods name-0, name-1, ...: each is created once the pods before it are
-- ready, and the last one is deleted first. Try it with --sim=examples/ordered-sets.yaml.
local kubelua = require "kubelua"

local function ordinal(pod) return tonumber(pod.name:match("%d+$")) end

kubelua.controller {
    "orderedsets.example.com", name = "ordered-set", owns = { "pods" },
    reconcile = function(set, run)
        local pods, wanted, ready, by_ordinal = run:owned("pods"), set.spec.replicas, 0, {}
        local last
        for _, pod in ipairs(pods) do
            by_ordinal[ordinal(pod)] = pod
            last = last and ordinal(last) > ordinal(pod) and last or pod
        end
        while (kubelua.condition(by_ordinal[ready] or {}, "Ready") or {}).status == "True" do
            ready = ready + 1
        end
        if last and ordinal(last) >= wanted then
            assert(run:delete(last))
        elseif ready < wanted and not by_ordinal[ready] then
            assert(run:create { apiVersion = "v1", kind = "Pod", spec = set.spec.template,
                metadata = { name = set.name .. "-" .. ready, labels = { set = set.name } } })
        end
        return run:status { replicas = #pods, readyReplicas = math.min(ready, wanted) }
    end,
}
