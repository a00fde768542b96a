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
    local status, body = client:call {
        method = "PATCH",
        target = "/api/v1/namespaces/" .. pod.namespace .. "/pods/" .. pod.name,
        type = "application/merge-patch+json",
        body = kubelua.json { metadata = { labels = { team = team } } },
    }
    if status == 200 then
        print(pod, "belongs to " .. team)
    elseif status ~= 404 then
        kubelua.log("warn", "%s: %s", tostring(pod), tostring(body))
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
