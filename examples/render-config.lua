-- Writes an upstream block for each Service, with the ready addresses of its EndpointSlices: once
-- both caches are synced, then after changes, at most twice a second. It prints them, or writes the
-- file that it is given, which is replaced in one step, so no program reads half of it.
-- Try it: kubelua run --sim=examples/cluster.yaml examples/render-config.lua [FILE]
local kubelua = require "kubelua"

local path = arg[1]
local client = assert(kubelua.connect())
local services = assert(client:informer { "services" })
local slices = assert(client:informer {
    "endpointslices.discovery.k8s.io",
    indexes = {
        service = function(slice)
            local labels = slice:get("metadata.labels")
            local service = labels and labels["kubernetes.io/service-name"]
            return service and slice.namespace .. "/" .. service
        end,
    },
})

local function upstream(service)
    local lines = { "upstream " .. service.namespace .. "-" .. service.name .. " {" }
    for _, slice in ipairs(slices:by("service", service.key)) do
        local port = slice:get("ports[1].port") or 80
        for _, endpoint in kubelua.ipairs(slice.endpoints or {}) do
            if kubelua.get(endpoint, "conditions.ready") ~= false then
                lines[#lines + 1] = "    server " .. endpoint.addresses[1] .. ":" .. port .. ";"
            end
        end
    end
    lines[#lines + 1] = #lines == 1 and "    server 127.0.0.1:1 down;\n}" or "}"
    return table.concat(lines, "\n")
end

local function render()
    local blocks = {}
    for _, service in ipairs(services:list()) do
        blocks[#blocks + 1] = upstream(service)
    end
    if not path then
        return print(table.concat(blocks, "\n"))
    end
    local file = assert(io.open(path .. ".new", "w"))
    file:write(table.concat(blocks, "\n"), "\n")
    file:close()
    assert(os.rename(path .. ".new", path))
    kubelua.log("info", "%s: %d services", path, #blocks)
end

local dirty = false
local function changed() dirty = true end
local function added(_, initial) dirty = dirty or not initial end
assert(services:wait_synced(30))
assert(slices:wait_synced(30))
render()
services:on { add = added, update = changed, delete = changed }
slices:on { add = added, update = changed, delete = changed }
kubelua.every(0.5, function()
    if dirty then
        dirty = false
        render()
    end
end)
