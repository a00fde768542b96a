-- Which pods run on which node, and which images are in use? Indexes answer without a scan. An
-- index by path is kept in C, an index by function in Lua.
-- Try it: kubelua run --sim=examples/cluster.yaml examples/index-query.lua
local kubelua = require "kubelua"

local client = assert(kubelua.connect())
local pods = assert(client:informer {
    "pods",
    indexes = {
        node = "spec.nodeName",
        image = "spec.containers[*].image",
        ready = function(pod)
            for _, condition in kubelua.ipairs(pod:get("status.conditions") or {}) do
                if condition.type == "Ready" then
                    return condition.status
                end
            end
            return "Unknown"
        end,
    },
})
assert(pods:wait_synced(10))

for _, node in ipairs(pods:values("node")) do
    local names = {}
    for _, pod in ipairs(pods:by("node", node)) do
        names[#names + 1] = pod.name
    end
    print(node .. ": " .. table.concat(names, ", "))
end
for _, image in ipairs(pods:values("image")) do
    print(string.format("%-24s used by %d", image, #pods:by("image", image)))
end
print(#pods:by("ready", "True") .. " of " .. pods:count() .. " pods are ready")
