-- The gateway's balancers over a real map, and over loads in shared memory.
package.path = "spec/resty/?.lua;" .. package.path
local world = require "world"

local NAME = "web/shop:http"

describe("balance", function()
    local kube, balance, service

    setup(function()
        world.write({ "endpoints", NAME, "10.0.0.1" })
        kube = world.open()
        balance = require "resty.kubelua.gateway.balance"
        assert(balance.init { endpoints = 4096, workers = 2 })
    end)

    teardown(world.close)

    -- Each spec has endpoints of its own: what is known of them stays.
    local network = 0
    local function endpoints(...)
        world.write({ "endpoints", NAME, ... })
        service = kube.service(NAME)
    end

    local function hosts(count, more)
        network = network + 1
        local list = {}
        for i = 1, count do
            list[i] = string.format("10.%d.%d.%d%s", network, math.floor(i / 250), i % 250,
                more or "")
        end
        return list
    end

    local function tally(picks, settings, facts)
        local counts = {}
        for i = 1, picks do
            local host, _, token = balance.pick(service, settings, facts and facts(i))
            counts[host] = (counts[host] or 0) + 1
            balance.done(token, "ok", 0.01)
        end
        return counts
    end

    local function by(name)
        return { by = name }
    end

    it("has columns for more workers after a reload, and for more endpoints", function()
        local load = require "resty.kubelua.gateway.balance.load"
        assert.equal(32, load.status().processes)
        assert(balance.init { endpoints = 4096, workers = 10 })
        assert.equal(32, load.status().processes) -- the same area, with all that it knows
        assert(balance.init { endpoints = 4096, workers = 20 })
        assert.equal(62, load.status().processes)
        assert(balance.init { endpoints = 8192, workers = 2 })
        assert.equal(8192, load.status().endpoints)
        assert(balance.init { endpoints = 4096, workers = -1 }) -- as nginx.conf says none
    end)

    it("says why there is no endpoint", function()
        assert.same({ nil, "not_synced" }, { balance.pick(kube.service("web/none:http")) })
        world.write({ "heard" }, { "synced" })
        assert.same({ nil, "unknown" }, { balance.pick(kube.service("web/none:http")) })
        endpoints()
        assert.same({ nil, "empty" }, { balance.pick(service) })
        local list = hosts(1)
        endpoints(world.unpack(list))
        assert.same({ nil, "empty" }, { balance.pick(service, nil, nil, { list[1] .. ":80" }) })
    end)

    it("takes turns, by weights, and follows a change", function()
        local list = hosts(3)
        endpoints(world.unpack(list))
        assert.same({ [list[1]] = 20, [list[2]] = 20, [list[3]] = 20 }, tally(60))
        world.write({ "endpoints", NAME, list[1] .. ",80,3", list[2] .. ",80,1" })
        local counts = tally(400)
        assert.is_true(math.abs(counts[list[1]] - 300) < 5, counts[list[1]])
    end)

    it("counts requests until they are done", function()
        endpoints(world.unpack(hosts(2)))
        local tokens = {}
        for i = 1, 10 do
            tokens[i] = select(3, balance.pick(service, by "least_conn"))
        end
        local status = balance.status(service)
        assert.equal(10, status[1].in_flight + status[2].in_flight)
        assert.is_true(math.abs(status[1].in_flight - 5) <= 1)
        for i = 1, 10 do
            balance.done(tokens[i], "cancelled")
        end
        status = balance.status(service)
        assert.same({ 0, 0, 0 }, { status[1].in_flight, status[2].in_flight, status[1].fails })
        assert.is_nil(status[1].latency)
    end)

    it("takes an endpoint out that fails, but not the last one", function()
        local list = hosts(3)
        endpoints(world.unpack(list))
        for _ = 1, 3 do
            local host, _, token = balance.pick(service)
            balance.done(token, host == list[2] and "failed" or "ok", 0.01)
        end
        for _, name in ipairs { "round_robin", "least_conn", "ewma" } do
            assert.is_nil(tally(20, by(name))[list[2]])
        end
        assert.is_true(tally(60, { max_fails = 0 })[list[2]] == 20)
        for _, state in ipairs(balance.status(service)) do
            assert.equal(state.host == list[2], state.out)
        end
        endpoints(list[2])
        assert.same({ [list[2]] = 5 }, tally(5))
    end)

    it("prefers what answers faster (ewma)", function()
        local list = hosts(2)
        endpoints(world.unpack(list))
        for _ = 1, 50 do
            local host, _, token = balance.pick(service)
            balance.done(token, "ok", host == list[1] and 0.5 or 0.01)
        end
        local counts = {}
        for _ = 1, 50 do
            local host, _, token = balance.pick(service, by "ewma")
            counts[host] = (counts[host] or 0) + 1
            balance.done(token, "ok", host == list[1] and 0.5 or 0.01)
        end
        assert.is_true((counts[list[1]] or 0) < 5, counts[list[1]])
        for _, state in ipairs(balance.status(service)) do
            assert.is_true(math.abs(state.latency - (state.host == list[1] and 0.5 or 0.01)) < 0.1)
        end
    end)

    it("lets an endpoint that came start slowly, at the mean of the others", function()
        local list = hosts(5)
        endpoints(world.unpack(list, 1, 4))
        tally(100, by "ewma")
        endpoints(world.unpack(list))
        local counts = tally(500, by "ewma")
        assert.is_true((counts[list[5]] or 0) < 60, counts[list[5]])
        for _, state in ipairs(balance.status(service)) do
            assert.is_true(state.latency > 0.005, state.latency)
            assert.equal(state.host == list[5], state.age ~= nil)
        end
    end)

    it("keeps keys where they are, through changes of many endpoints (hash)", function()
        local settings = { by = "hash", bound = 0, hash_by = "$http_x_user" }
        local function choices()
            local found = {}
            for i = 1, 2000 do
                local host, _, token = balance.pick(service, settings,
                    { vars = { http_x_user = "user-" .. i } })
                found[i] = host
                balance.done(token, "ok")
            end
            return found
        end
        local list = hosts(300)
        endpoints(world.unpack(list))
        local before = choices()
        local rest, gone, moved = {}, {}, 0
        for i = 1, 300 do
            if i % 30 == 0 then
                gone[list[i]] = true
            else
                rest[#rest + 1] = list[i]
            end
        end
        local same = service -- which has learned who has which keys
        endpoints(world.unpack(rest))
        service = same
        for i, host in ipairs(choices()) do
            if gone[before[i]] then
                moved = moved + 1
            else
                assert.equal(before[i], host)
            end
        end
        assert.is_true(moved > 20 and moved < 140, moved)
        local learned = choices()
        service = kube.service(NAME) -- which has learned nothing
        assert.same(learned, choices())
        service = same
        world.write({ "endpoints", NAME, world.unpack(list) })
        assert.same(before, choices())
    end)

    it("spreads a hot key when its endpoint has more than its share (hash)", function()
        endpoints(world.unpack(hosts(4)))
        local counts, tokens, facts = {}, {}, { vars = { remote_addr = "192.0.2.7" } }
        for i = 1, 100 do
            local host, _, token = balance.pick(service, by "hash", facts)
            counts[host], tokens[i] = (counts[host] or 0) + 1, token
        end
        for _, count in pairs(counts) do
            assert.is_true(count <= 32, count)
        end
        for i = 1, 100 do
            balance.done(tokens[i], "ok")
        end
    end)

    it("keeps sessions of a pod that terminates (sticky)", function()
        local list = hosts(2)
        endpoints(list[1] .. ",80,1,3,,,pod-1", list[2] .. ",80,1,3,,,pod-2")
        local host, _, token, cookie = balance.pick(service, by "sticky", { vars = {} })
        balance.done(token, "ok")
        local facts = { vars = { cookie_kubelua = cookie } }
        local number = host == list[1] and 1 or 2
        local other = 3 - number
        endpoints(list[number] .. ",80,1,6,,,pod-" .. number,
            list[other] .. ",80,1,3,,,pod-" .. other)
        local again, _, _, fresh = balance.pick(service, by "sticky", facts)
        assert.same({ host }, { again, fresh })
        assert.equal(list[other], (balance.pick(service, by "sticky", { vars = {} })))
        endpoints(list[other] .. ",80,1,3,,,pod-" .. other)
        again, _, _, fresh = balance.pick(service, by "sticky", facts)
        assert.equal(list[other], again)
        assert.not_equal(cookie, fresh)
        assert.match("^kubelua=" .. fresh .. "; Path=/", balance.set_cookie(by "sticky", fresh))
    end)

    it("puts IPv6 addresses in brackets, and knows those that were tried", function()
        endpoints("fd00::1,8080", "fd00::2,8080")
        local host, port = balance.pick(service)
        assert.match("^%[fd00::[12]%]$", host)
        local other = balance.pick(service, nil, nil, { host .. ":" .. port })
        assert.not_equal(host, other)
    end)

    it("says that a host is a name, which is to be resolved", function()
        endpoints("shop.example.com,443,1,11")
        assert.is_true((select(5, balance.pick(service))))
    end)
end)
