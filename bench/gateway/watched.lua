-- A gateway whose workers note how long they stand still (probe.lua), with one route that takes
-- every host; and requests for it, in turns with nginx's own proxy_pass. For the benchmarks here.
local copies = require "nginx_copies"
local gateway_world = require "gateway_world"
local nginx = require "nginx"
local traffic = require "nginx_traffic"

local watched = {}

watched.OWN = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: own, namespace: web}
spec:
  parentRefs: [{name: main}]
  rules: [{backendRefs: [{name: two, port: 80}]}]
---
]]

---Starts it. Ends the process if there is no nginx.
---@param load string objects
---@param options string fields of gateway.init
---@return spec.GatewayWorld
function watched.start(load, options)
    local missing = nginx.missing()
    if missing then
        print("no nginx: " .. missing)
        os.exit(77)
    end
    return gateway_world.start {
        load = load .. watched.OWN, options = options,
        http = "lua_shared_dict stalls 1m;",
        init_worker = ("package.path = '%s/bench/gateway/?.lua;' .. package.path "
            .. "require('probe').watch() "):format(copies.shell("pwd")),
        server = "location = /stalls { content_by_lua_block { require('probe').tell() } } ",
    }
end

---The longest time of all workers, in ms, by name: "turn", "round". Begins anew.
---@param world spec.GatewayWorld
---@return table<string, number>
function watched.read(world)
    local _, body = world:ask("any.example.com", "/stalls")
    local longest = {}
    for name, ms in body:gmatch("(%a+) %d+ ([%d.]+)") do
        longest[name] = math.max(longest[name] or 0, tonumber(ms))
    end
    return longest
end

---Sends requests while `work` runs. Returns what was counted, and the longest times.
---@param world spec.GatewayWorld
---@param work fun()
---@return spec.Tally gateway, spec.Tally static, table<string, number> longest
function watched.measure(world, work)
    watched.read(world)
    local flow = traffic.start(world.one, { gateway = "/gateway", static = "/static" })
    work()
    local tallies = flow:stop()
    return tallies.gateway, tallies.static, watched.read(world)
end

return watched
