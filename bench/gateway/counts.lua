-- Measures what it costs to count a request: by its route and by its Service, as the log phase
-- does; then how long it takes to make the text of 4,096 series. Least of 30 rounds, CPU time. Exit
-- status 1: a request costs more than it may.
--   luajit bench/gateway/counts.lua BUILD
local build = assert(arg[1], "which build folder?")
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = build .. "/lua/5.1/?.so;" .. package.cpath
local counts = require "resty.kubelua.gateway.counts"
local series = require "resty.kubelua.gateway.series"

local REQUESTS, MOST = 100000, 300 -- in a round; ns for a request

assert(counts.open { workers = 4 })
local rules, backends = {}, {}
for i = 1, 1000 do
    rules[i] = { source = ("HTTPRoute web/route-%d 1"):format(i) }
    backends[i] = { name = ("web/service-%d:80"):format(i) }
end

local function least(rounds, call)
    local best = math.huge
    for _ = 1, rounds do
        local began = os.clock()
        call()
        best = math.min(best, os.clock() - began)
    end
    return best
end

local function measure(what, number)
    local ns = least(30, function()
        for i = 1, REQUESTS do
            local at = i % number + 1
            counts.try(backends[at], "ok", 0.012)
            counts.request(rules[at], 200, 0.013)
        end
    end) / REQUESTS * 1e9
    print(("%-46s %8.1f ns"):format(what, ns))
    return ns
end

local one = measure("a request, of one route", 1)
local many = measure("a request, of 1,000 routes", 1000)
for i = 1, 2100 do
    counts.request({ source = ("HTTPRoute db/route-%d 1"):format(i) }, 200, 0.01)
end
print(("%-46s %8.1f ms"):format(("the text of %d series"):format(4100),
    least(5, series.text) * 1e3))
os.exit(math.max(one, many) <= MOST and 0 or 1)
