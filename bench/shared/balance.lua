-- balance.lua - measures a pick and its end of each balancer of the gateway, beside service:pick(),
-- of 3 and of 1,000 endpoints in the map that shared.c has left in a file; then the first pick
-- after a change. Exit status 1: a pick takes longer than it may.
-- Usage: luajit bench/shared/balance.lua BUILD MAP
local build, path = assert(arg[1], "which build folder?"), assert(arg[2], "which map?")
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = build .. "/lua/5.1/?.so;" .. package.cpath
local kube = require "resty.kubelua"
local balance = require "resty.kubelua.gateway.balance"
assert(kube.init { path = path })
assert(balance.init { endpoints = 8192, workers = 4 })

local ROUNDS, PICKS = 31, 5000
local MOST = 250 -- ns: what a pick may cost at 1,000 endpoints
local SERVICES = { { "of 3", "namespace-1/service-1:http" }, { "of 1,000", "large/service:http" },
    { "of 1,000 with weights", "large/weighted:http" } }
local keys = {}
for i = 1, 256 do
    keys[i] = { vars = { remote_addr = "192.0.2." .. i } }
end

local exceeded = false

-- The least nanoseconds of a call in all rounds.
local function least(call)
    local best = math.huge
    for _ = 1, ROUNDS do
        local begun = os.clock()
        for i = 1, PICKS do
            call(i)
        end
        best = math.min(best, (os.clock() - begun) / PICKS * 1e9)
    end
    return best
end

local sum = 0

local function measure(label, service)
    local usual = least(function()
        local _, port = service:pick()
        sum = sum + port
    end)
    print(string.format("%-52s %8.1f ns", "service:pick() " .. label, usual))
    local _, _, _, cookie = balance.pick(service, { by = "sticky" }, keys[1])
    local session = { vars = { cookie_kubelua = cookie } }
    for _, by in ipairs { "round_robin", "hash", "sticky", "least_conn", "ewma" } do
        local settings, tokens = { by = by }, {}
        for i = 1, PICKS do -- all averages and winners are known
            tokens[i] = select(3, balance.pick(service, settings, keys[i % 256 + 1]))
        end
        for i = 1, PICKS do
            balance.done(tokens[i], "ok", 0.01)
        end
        local pick = least(function(i)
            local _, port, token = balance.pick(service, settings,
                by == "sticky" and session or keys[i % 256 + 1])
            sum = sum + port
            tokens[i] = token
            if i == PICKS then
                for k = 1, PICKS do
                    balance.done(tokens[k], "cancelled")
                end
            end
        end)
        local whole = least(function(i)
            local _, port, token = balance.pick(service, settings,
                by == "sticky" and session or keys[i % 256 + 1])
            balance.done(token, "ok", 0.01)
            sum = sum + port
        end)
        exceeded = exceeded or pick > MOST and label == "of 1,000"
        print(string.format("%-52s %8.1f ns  %5.2f of service:pick(); with its answer %.1f ns",
            "balance.pick, " .. by .. ", " .. label, pick, pick / usual, whole))
    end
end

for _, one in ipairs(SERVICES) do
    measure(one[1], kube.service(one[2]))
end
-- A service that this worker has not seen has to be read as one that has changed.
local function first_pick(label, name, by)
    local best = math.huge
    for _ = 1, ROUNDS do
        local service = kube.service(name)
        local begun = os.clock()
        local _, _, token = balance.pick(service, { by = by }, keys[1])
        best = math.min(best, os.clock() - begun)
        balance.done(token, "cancelled")
    end
    print(string.format("%-52s %8.1f us", "the first pick after a change, " .. label, best * 1e6))
end

first_pick("of 3", SERVICES[1][2], "ewma")
first_pick("of 1,000", SERVICES[2][2], "ewma")
assert(sum > 0)
if exceeded then
    print("a pick of 1,000 endpoints takes more than " .. MOST .. " ns")
    os.exit(1)
end
