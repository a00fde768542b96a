-- service.lua - measures calls of a kube.service with 1,000 endpoints, in the map that shared.c has
-- left in a file, as a script in nginx makes them. Usage: luajit bench/shared/service.lua BUILD MAP
local build, path = assert(arg[1], "which build folder?"), assert(arg[2], "which map?")
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = build .. "/lua/5.1/?.so;" .. package.cpath
local kube = require "resty.kubelua"
assert(kube.init { path = path })

local ROUNDS = 21
local service, weighted = kube.service("large/service:http"), kube.service("large/weighted:http")

local function least(name, calls, call)
    local best = math.huge
    for _ = 1, ROUNDS do
        local begun = os.clock()
        for _ = 1, calls do
            call()
        end
        best = math.min(best, (os.clock() - begun) / calls * 1e6)
    end
    print(string.format("%-44s %9.2f us", name, best))
end

local tried = {}
for i = 1, 17 do
    tried[i] = "10.9.0." .. i
end
local first = { exclude = { tried[1] } }
local sum = 0

local function pick(from, options)
    return function()
        local _, port = from:pick(options)
        sum = sum + port
    end
end

least("service:pick of 1,000, 1 excluded", 500, pick(service, first))
least("service:pick of 1,000, 17 excluded", 500, pick(service, { exclude = tried }))
least("service:pick of 1,000 with weights, 1 excluded", 500, pick(weighted, first))
least("service:pick of 1,000 by hash, 1 excluded", 500,
    pick(service, { hash = "key", exclude = tried[1] }))
least("service:endpoints of 1,000", 20, function() sum = sum + #service:endpoints() end)
least("service:endpoints of 1,000, the first time", 1, function()
    sum = sum + #kube.service("large/service:http"):endpoints()
end)
assert(sum > 0)
