-- A small controller: every pod gets the label team, that of its namespace, or "nobody".
-- Try it: kubelua run --sim=examples/cluster.yaml examples/label-pods.lua
-- examples/label-pods_spec.lua tests it.
local kubelua = require "kubelua"

local client = assert(kubelua.connect())
local namespaces = assert(client:informer { "namespaces" })
local pods = assert(client:informer { "pods", indexes = { namespace = "metadata.namespace" } })

local function team_of(object)
    return (object.metadata.labels or {}).team
end

local function label(pod)
    local namespace = namespaces:get(pod.namespace)
    local team = namespace and team_of(namespace) or "nobody"
    if team_of(pod) == team then
        return
    end
    local ok, message, code = client:patch(pod, { metadata = { labels = { team = team } } })
    if ok then
        print(pod, "belongs to " .. team)
    elseif code ~= "not_found" then
        kubelua.log("warn", "%s: %s", tostring(pod), message)
        kubelua.spawn(function()
            kubelua.sleep(1)
            label(pods:get(pod.key) or pod)
        end)
    end
end

namespaces:on { update = function(_, namespace)
    for _, pod in ipairs(pods:by("namespace", namespace.name)) do
        label(pod)
    end
end }

kubelua.spawn(function()
    assert(namespaces:wait_synced())
    pods:on { add = label, update = function(_, pod) label(pod) end }
end)
