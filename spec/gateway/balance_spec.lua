-- Which endpoint each balancer of the gateway picks, under simulated load with fixed seeds.
package.path = "spec/gateway/?.lua;" .. package.path
local world = require "balance_world"

-- The fewest and the most requests that one of the endpoints had.
local function extremes(counts, group)
    local least, most = math.huge, 0
    for i = 1, group.count do
        local count = counts[group.names[i]] or 0
        least, most = math.min(least, count), math.max(most, count)
    end
    return least, most
end

local function clients(i)
    return { remote_addr = "client-" .. i }
end

local BALANCERS = {
    round_robin = { least = 0.98, most = 1.02 },
    hash = { least = 0.4, most = 1.7, settings = { bound = 0 }, vars = clients },
    sticky = { least = 0.98, most = 1.02, vars = clients }, -- each client is new
    least_conn = { least = 0.65, most = 1.35, settings = { slow_start = 10 } },
    ewma = { least = 0.5, most = 1.6, settings = { slow_start = 10 } },
}

describe("balancer", function()
    -- Each of so many endpoints has its share of the requests.
    local function assert_shares(by, balancer, scene, number)
        local group = scene:set(number)
        local pause = 50 / number / 3 -- three requests an endpoint are in flight
        scene:send(10 * number, pause, balancer.vars)
        scene.now = scene.now + 10000 -- new endpoints are no longer new
        scene:send(10 * number, pause, balancer.vars)
        local least, most = extremes(scene:send(60 * number, pause, balancer.vars), group)
        local claim = string.format("%s, %d endpoints: %d to %d of 60", by, number, least, most)
        assert.is_true(least >= 60 * balancer.least and most <= 60 * balancer.most, claim)
    end

    for by, balancer in pairs(BALANCERS) do
        it("gives each of 1 to 50 endpoints and back its share: " .. by, function()
            local scene = world.new(by, balancer.settings)
            for number = 1, 50 do
                assert_shares(by, balancer, scene, number)
            end
            for number = 49, 1, -1 do
                assert_shares(by, balancer, scene, number)
            end
        end)

        it("gives a new endpoint at most twice its share in its first ten seconds: " .. by,
            function()
                for seed = 1, 5 do
                    local scene = world.new(by, balancer.settings, seed)
                    scene:set(9)
                    scene:send(4000, 1, balancer.vars)
                    local group = scene:set(10)
                    scene.rows[group.names[10]].answers = 1e-6 -- it looks best all the time
                    for second = 1, 10 do
                        local counts = scene:send(1000, 1, balancer.vars)
                        local count = counts[group.names[10]] or 0
                        assert.is_true(count <= 200, string.format(
                            "seed %d, second %d: %d of 1,000", seed, second, count))
                    end
                end
            end)

        it("passes over endpoints that are out, and never over the last one: " .. by, function()
            local scene = world.new(by, balancer.settings)
            local group = scene:set(4)
            for i = 1, 3 do
                local row = scene.rows[group.names[i]]
                row.fails, row.failed = 1, scene.now
            end
            local counts = scene:send(100, 1, balancer.vars)
            assert.same({ [group.names[4]] = 100 }, counts)
            local last = scene.rows[group.names[4]]
            last.fails, last.failed = 1, scene.now
            counts = scene:send(400, 1, balancer.vars)
            for i = 1, 4 do
                assert.is_true(counts[group.names[i]] > 20)
            end
        end)

        it("tries an endpoint once, and each of them: " .. by, function()
            local scene = world.new(by, balancer.settings)
            local group = scene:set(50)
            local tried = {}
            for i = 1, 50 do
                local index = assert(scene:pick(clients(1), tried))
                for _, name in ipairs(tried) do
                    assert.not_equal(name, group.names[index])
                end
                tried[i] = group.names[index]
            end
            assert.is_nil((scene:pick(clients(1), tried)))
        end)
    end

    for _, by in ipairs { "round_robin", "least_conn", "ewma" } do
        it("gives endpoints requests by their weights: " .. by, function()
            local scene = world.new(by, {})
            local group = scene:set {
                { weight = 9 }, { weight = 1 }, { weight = 0 }, { weight = 2 } }
            assert.equal(3, group.count)
            local counts = scene:send(24000, 0.5)
            assert.is_nil(counts["10.0.0.3:80"])
            for number, weight in pairs { [1] = 9, [2] = 1, [4] = 2 } do
                local share = counts["10.0.0." .. number .. ":80"] / 2000 / weight
                assert.is_true(share > 0.8 and share < 1.25, number .. ": " .. share)
            end
        end)
    end

    it("spreads turns evenly, by weights: round_robin", function()
        local scene = world.new("round_robin", {})
        scene:set { { weight = 9 }, { weight = 1 }, { weight = 2 } }
        for _ = 1, 50 do
            local counts = scene:send(24, 1)
            for number, weight in pairs { 9, 1, 2 } do
                local count = counts["10.0.0." .. number .. ":80"] or 0
                assert.is_true(math.abs(count - 2 * weight) <= 1, number .. ": " .. count)
            end
        end
    end)

    it("compares each endpoint with each other one: two choices", function()
        local scene = world.new("least_conn")
        scene:set(5)
        local pair, pairs_seen, kinds = {}, {}, 0
        scene.ask.load.in_flight = function(row)
            pair[#pair + 1] = row
            return 0
        end
        for _ = 1, 400 do
            pair = {}
            scene:pick()
            assert.not_equal(pair[1], pair[2])
            local text = pair[1] .. " " .. pair[2]
            kinds = kinds + (pairs_seen[text] and 0 or 1)
            pairs_seen[text] = true
        end
        assert.equal(20, kinds)
    end)

    it("grows what a new endpoint gets by slow start, also by turns", function()
        local scene = world.new("round_robin", { slow_start = 10 })
        scene:set(9)
        scene:send(100, 1)
        local group = scene:set(10)
        local first = scene:send(1000, 1)[group.names[10]]
        scene:send(7000, 1)
        local ninth = scene:send(1000, 1)[group.names[10]]
        scene:send(1500, 1)
        local after = scene:send(1000, 1)[group.names[10]]
        assert.is_true(first < 40 and ninth > 50 and ninth < 90, first .. ", " .. ninth)
        assert.is_true(after >= 99 and after <= 101, after)
    end)

    it("holds no endpoint back when all of them are new", function()
        local scene = world.new("least_conn", { slow_start = 10 })
        local group = scene:set(5)
        for i = 1, 5 do
            scene.rows[group.names[i]].arrived = scene.now
        end
        local least, most = extremes(scene:send(1000, 1), group)
        assert.is_true(least > 150 and most < 250, least .. " to " .. most)
    end)
end)

describe("least_conn", function()
    it("spares an endpoint that is slow", function()
        local scene = world.new("least_conn")
        local group = scene:set(4)
        scene.rows[group.names[1]].answers = 1
        local counts = scene:send(4000, 5)
        assert.is_true(counts[group.names[1]] < 400, counts[group.names[1]])
    end)
end)

describe("ewma", function()
    it("prefers endpoints that answer faster, and tries a slow one again", function()
        local scene = world.new("ewma")
        local group = scene:set(4)
        local slow = scene.rows[group.names[1]]
        slow.answers = 1
        scene:send(1000, 20)
        local counts = scene:send(1000, 20)
        assert.is_true(counts[group.names[1]] < 100 and counts[group.names[1]] > 0,
            counts[group.names[1]])
        slow.answers = 0.05
        scene:send(4000, 20)
        counts = scene:send(1000, 20)
        assert.is_true(counts[group.names[1]] > 150, counts[group.names[1]])
    end)

    it("takes an endpoint without an answer for one like the others", function()
        local scene = world.new("ewma")
        local group = scene:set(10)
        scene:send(1000, 5)
        local fresh, count = scene.rows[group.names[1]], 0
        for _ = 1, 400 do
            fresh.latency = nil
            count = count + (scene:send(1, 5)[group.names[1]] or 0)
        end
        assert.is_true(count > 20 and count < 60, count)
    end)
end)

describe("hash", function()
    local function choices(scene, settings)
        local found = {}
        for i = 1, 400 do
            local index = scene:pick(settings or clients(i))
            found[i] = scene.ask.group.names[index]
        end
        return found
    end

    it("keeps a key at its endpoint, and moves only keys of the one that went", function()
        local scene = world.new("hash", { bound = 0 })
        scene:set(20)
        local before = choices(scene)
        assert.same(before, choices(scene))
        local rest, moved = {}, 0
        for i = 1, 20 do
            rest[#rest + 1] = i ~= 7 and { number = i } or nil
        end
        scene:set(rest)
        for i, name in ipairs(choices(scene)) do
            if before[i] == "10.0.0.7:80" then
                moved = moved + 1
            else
                assert.equal(before[i], name)
            end
        end
        assert.is_true(moved > 5 and moved < 50, moved)
        scene:set(20)
        assert.same(before, choices(scene))
    end)

    it("gives no endpoint more than its bound of the requests in flight", function()
        for _, bound in ipairs { 1.25, 1 } do -- 1: in each tenth pick, one endpoint is left
            local scene = world.new("hash", { bound = bound })
            local group = scene:set(10)
            for i = 1, 2000 do
                local index = scene:pick { remote_addr = i % 3 == 0 and "hot" or "client-" .. i }
                local row = scene.rows[group.names[index]]
                assert.is_true(row.in_flight <= math.ceil(bound * i / 10))
            end
        end
    end)

    it("gives what an endpoint cannot take to all others", function()
        local scene = world.new("hash", { bound = 0 })
        local group = scene:set(10)
        local seconds, kinds = {}, 0
        for i = 1, 400 do
            local first = scene:pick(clients(i))
            if first == 3 then
                local second = scene:pick(clients(i), { group.names[3] })
                kinds = kinds + (seconds[second] and 0 or 1)
                seconds[second] = true
            end
        end
        assert.is_true(kinds >= 8, kinds)
    end)

    it("gives the rest of a hot key to the same second endpoint", function()
        local scene = world.new("hash", { bound = 2 })
        scene:set(10)
        local first, second = scene:pick { remote_addr = "hot" }, nil
        for _ = 1, 5 do
            local index = scene:pick { remote_addr = "hot" }
            second = second or index ~= first and index or nil
        end
        scene.now = scene.now + 100000
        scene:send(0, 1)
        for name in pairs(scene.rows) do
            scene.rows[name].in_flight = 0
        end
        assert.equal(first, (scene:pick { remote_addr = "hot" }))
        local tried = { scene.ask.group.names[first] }
        assert.equal(second, (scene:pick({ remote_addr = "hot" }, tried)))
    end)

    it("hashes a text of several variables, and takes turns where all are empty", function()
        local scene = world.new("hash", { hash_by = "${uri}-$http_x_user", bound = 0 })
        scene:set(20)
        local seen, kinds = {}, 0
        for i = 1, 60 do
            local index = scene:pick { uri = "/a", http_x_user = "user-" .. i }
            assert.equal(index, (scene:pick { uri = "/a", http_x_user = "user-" .. i }))
            kinds = kinds + (seen[index] and 0 or 1)
            seen[index] = true
        end
        assert.is_true(kinds > 10, kinds)
        local first = scene:pick {}
        assert.equal(first % 20 + 1, (scene:pick {}))
    end)
end)

describe("sticky", function()
    local scene, group

    before_each(function()
        scene = world.new("sticky", { cookie = { name = "s" } })
        group = scene:set(5)
    end)

    it("names a pod in a cookie, without its name, and goes back to it", function()
        local index, cookie = scene:pick {}
        assert.match("^%x%x%x%x%x%x%x%x%x%x%x%x%x%x$", cookie)
        for _ = 1, 10 do
            assert.same({ index }, { scene:pick { cookie_s = cookie } })
        end
        local _, other = scene:pick {}
        assert.not_equal(cookie, other)
    end)

    it("keeps sessions of a pod that terminates, and sends no new ones there", function()
        local index, cookie = scene:pick {}
        local name = group.names[index]
        local list = {}
        for i = 1, 5 do
            list[i] = i == index and { ready = false, terminating = true } or {}
        end
        group = scene:set(list)
        local again = scene:pick { cookie_s = cookie }
        assert.equal(name, group.names[again])
        for _ = 1, 20 do
            assert.not_equal(name, group.names[(scene:pick {})])
        end
    end)

    it("gives a new cookie when the pod is gone, or was never there", function()
        local _, cookie = scene:pick {}
        scene:set { { number = 8 }, { number = 9 } }
        local index, fresh = scene:pick { cookie_s = cookie }
        assert.equal(fresh, scene.ask.group.ids[index])
        assert.not_equal(cookie, fresh)
        assert.equal("string", type(select(2, scene:pick { cookie_s = "no such thing" })))
    end)

    it("finds a pod under its new address", function()
        local index, cookie = scene:pick {}
        local pod = string.format("pod-%d", index)
        scene:set { { number = 8, pod = "other" }, { number = 9, pod = pod } }
        assert.same({ 2 }, { scene:pick { cookie_s = cookie } })
    end)

    it("goes elsewhere while the pod is out, and keeps the cookie unless told", function()
        local index, cookie = scene:pick {}
        local row = scene.rows[group.names[index]]
        row.fails, row.failed = 1, scene.now
        local other, fresh = scene:pick { cookie_s = cookie }
        assert.not_equal(index, other)
        assert.is_nil(fresh)
        scene.ask.settings.cookie.change_on_failure = true
        other, fresh = scene:pick { cookie_s = cookie }
        assert.equal(group.ids[other], fresh)
    end)
end)
