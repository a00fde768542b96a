-- Measures what it costs to find the rule for a request: 1,000 hosts with 10 paths each, and one
-- host with 10 and with 1,000 paths. Tables are read from Lua tables here, so the figures are those
-- of match.lua alone. Least of 20 rounds, CPU time.
--   LUA_PATH="lua/?.lua" luajit bench/gateway/match.lua
local match = require "resty.kubelua.gateway.match"

local REQUESTS = 200000 -- a round

local function host_of(count)
    local host = { rules = {}, matches = {} }
    for i = 1, count do
        host.rules[i] = { source = "HTTPRoute web/shop " .. i }
        host.matches[i] = { path = ("/service-%04d/v1"):format(i), kind = "prefix", rule = i }
    end
    return host
end

local function matcher_of(hosts)
    local entry = { id = "*:80", listeners = { ["*"] = {} } }
    return match.new {
        entry = function(key) return key == "*:80" and entry or nil end,
        host = function(key) return hosts[key] end,
        read = function(value) return value end,
        regex = function() return false end,
    }
end

-- Requests as nginx hands them over: for one path of each of the hosts, in turn.
local function requests_to(hosts, paths)
    local requests = {}
    for i = 1, 1000 do
        requests[i] = { address = "10.0.0.1", port = 80, scheme = "http", method = "GET",
            host = ("h%d.example.com"):format(i % hosts),
            path = ("/service-%04d/v1/items/%d"):format(i % paths + 1, i) }
    end
    return requests
end

local function measure(what, hosts, paths)
    local tables = {}
    for i = 0, hosts - 1 do
        tables[("*:80 * h%d.example.com"):format(i)] = host_of(paths)
    end
    local matcher, requests = matcher_of(tables), requests_to(hosts, paths)
    local least = math.huge
    for _ = 1, 20 do
        local since = os.clock()
        for i = 1, REQUESTS do
            assert(matcher:find(requests[i % 1000 + 1]))
        end
        least = math.min(least, (os.clock() - since) / REQUESTS)
    end
    print(("%-34s %6.0f ns"):format(what, least * 1e9))
end

measure("1,000 hosts, 10 paths each", 1000, 10)
measure("one host, 10 paths", 1, 10)
measure("one host, 1,000 paths", 1, 1000)
