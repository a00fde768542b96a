-- Picks of a service: the state of the map in shared memory, and how a kube.service follows it.
package.path = "spec/resty/?.lua;" .. package.path
local world = require "world"

local NAME = "web/shop:http"

describe("pick", function()
    local kube, service

    setup(function()
        world.write({ "endpoints", NAME, "10.0.0.1" })
        kube = world.open()
    end)

    teardown(world.close)

    local function endpoints(...)
        world.write({ "endpoints", NAME, ... })
        service = kube.service(NAME)
    end

    -- How often each host was picked in so many picks.
    local function tally(picks, options)
        local counts = {}
        for _ = 1, picks do
            local host = assert(service:pick(options))
            counts[host] = (counts[host] or 0) + 1
        end
        return counts
    end

    it("is not_synced before the first list, then unknown", function()
        assert.same({ nil, "not_synced" }, { kube.pick("web/none:http") })
        assert.is_false(kube.synced())
        assert.is_nil(kube.age())
        world.write({ "heard" }, { "synced" })
        assert.is_true(kube.synced())
        assert.is_true(kube.age() < 10)
        assert.same({ nil, "unknown" }, { kube.pick("web/none:http") })
        assert.same({ nil, "unknown" }, { kube.service("web/none:http"):pick() })
    end)

    it("returns host, port and version", function()
        endpoints("10.0.0.7,8080")
        local host, port, version = service:pick()
        assert.same({ "10.0.0.7", 8080, "number" }, { host, port, type(version) })
        assert.same({ "10.0.0.7", 8080, version }, { kube.pick(NAME) })
    end)

    it("picks the endpoints in turn (round robin)", function()
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3")
        assert.same({ ["10.0.0.1"] = 20, ["10.0.0.2"] = 20, ["10.0.0.3"] = 20 }, tally(60))
        assert.same({ ["10.0.0.1"] = 20, ["10.0.0.2"] = 20, ["10.0.0.3"] = 20 }, tally(60, {}))
    end)

    it("follows a change, and returns another version", function()
        endpoints("10.0.0.1")
        local _, _, before = service:pick()
        world.write({ "endpoints", NAME, "10.0.0.2", "10.0.0.3" })
        assert.same({ ["10.0.0.2"] = 5, ["10.0.0.3"] = 5 }, tally(10))
        local _, _, after = service:pick()
        assert.not_equal(before, after)
        world.write({ "remove", "services", NAME })
        assert.same({ nil, "unknown" }, { service:pick() })
        assert.same({ nil, "unknown" }, { service:endpoints() })
        world.write({ "endpoints", NAME, "10.0.0.4" })
        assert.equal("10.0.0.4", (service:pick()))
    end)

    it("keeps its turn through changes of other endpoints", function()
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3")
        local counts = {}
        for i = 1, 40 do
            local host = service:pick()
            counts[host] = (counts[host] or 0) + 1
            if i % 4 == 0 then
                world.write({ "endpoints", NAME, "10.0.0.1", "10.0.0.2", "10.0.0.3,80,1,3,z" .. i })
            end
        end
        for host, count in pairs(counts) do
            assert.is_true(count >= 10 and count <= 17, host .. " " .. count)
        end
    end)

    it("is empty without an endpoint that is ready or serving", function()
        endpoints()
        assert.same({ nil, "empty" }, { service:pick() })
        assert.same({}, service:endpoints())
        endpoints("10.0.0.1,80,1,4")
        assert.same({ nil, "empty" }, { service:pick() })
        assert.equal(1, #service:endpoints())
    end)

    it("uses serving endpoints that terminate while none is ready", function()
        endpoints("10.0.0.1,80,1,6", "10.0.0.2,80,1,4")
        assert.same({ ["10.0.0.1"] = 4 }, tally(4))
        endpoints("10.0.0.1,80,1,6", "10.0.0.2")
        assert.same({ ["10.0.0.2"] = 4 }, tally(4))
    end)

    it("follows weights", function()
        endpoints("10.0.0.1,80,1", "10.0.0.2,80,3", "10.0.0.3,80,0")
        local counts = tally(400)
        assert.is_true(math.abs(counts["10.0.0.1"] - 100) <= 2, counts["10.0.0.1"] .. " of 400")
        assert.is_nil(counts["10.0.0.3"])
    end)

    it("keeps a key at its endpoint, and moves few keys", function()
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
        local before = {}
        for i = 1, 400 do
            before[i] = service:pick { hash = "client-" .. i }
            assert.equal(before[i], (service:pick { hash = "client-" .. i }))
        end
        assert.equal((service:pick { hash = "17" }), (service:pick { hash = 17 }))
        endpoints("10.0.0.1", "10.0.0.3", "10.0.0.4")
        for i = 1, 400 do
            if before[i] ~= "10.0.0.2" then
                assert.equal(before[i], (service:pick { hash = "client-" .. i }))
            end
        end
    end)

    it("leaves out excluded hosts and addresses, one or several", function()
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1,80,0")
        for _, tried in ipairs { "10.0.0.2", "10.0.0.2:80", { "10.0.0.2" },
            { "10.0.0.2:80", "[fd00::1]:80", "10.9.9.9" } } do
            local counts = tally(40, { exclude = tried })
            assert.equal(40, counts["10.0.0.1"] + counts["10.0.0.3"])
        end
        assert.same({ nil, "empty" },
            { service:pick { exclude = { "10.0.0.1", "10.0.0.2", "10.0.0.3" } } })
    end)

    it("puts IPv6 addresses in brackets, as nginx takes them", function()
        endpoints("fd00::1,8080")
        assert.equal("[fd00::1]", (service:pick()))
        assert.equal("[fd00::1]", (service:pick { hash = "key" }))
        assert.equal("[fd00::1]", service:endpoints()[1].host)
        for _, tried in ipairs { "[fd00::1]", "[fd00::1]:8080", "fd00::1" } do
            assert.same({ nil, "empty" }, { service:pick { exclude = tried } })
        end
        assert.equal("[fd00::1]", (service:pick { exclude = "[fd00::1]:80" }))
    end)

    it("picks each endpoint once in the retries of a key", function()
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
        local tried, seen = {}, {}
        for i = 1, 4 do
            tried[i] = service:pick { hash = "key", exclude = tried }
            assert.is_nil(seen[tried[i]])
            seen[tried[i]] = true
        end
    end)

    it("prefers the node, then the zone, then takes all", function()
        endpoints("10.0.0.1,80,1,3,a,n1", "10.0.0.2,80,1,3,a,n2", "10.0.0.3,80,1,3,b,n3")
        assert.same({ ["10.0.0.1"] = 5, ["10.0.0.2"] = 5 }, tally(10, { zone = "a" }))
        assert.same({ ["10.0.0.3"] = 10 }, tally(10, { zone = "a", node = "n3" }))
        assert.same({ ["10.0.0.2"] = 10 }, tally(10, { zone = "a", exclude = "10.0.0.1" }))
        local counts = tally(9, { zone = "z", node = "n9" })
        assert.same({ 3, 3, 3 }, { counts["10.0.0.1"], counts["10.0.0.2"], counts["10.0.0.3"] })
    end)

    it("says that a host is a name, which is to be resolved", function()
        endpoints("shop.example.com,443,1,11")
        for _, options in ipairs { false, {}, { hash = "key" } } do
            local host, port, version, is_name = service:pick(options or nil)
            assert.same({ "shop.example.com", 443, "number", true },
                { host, port, type(version), is_name })
        end
        assert.is_true((select(4, kube.pick(NAME))))
        endpoints("10.0.0.1")
        assert.is_nil((select(4, service:pick())))
        assert.is_nil((select(4, service:pick { hash = "key" })))
        endpoints("10.0.0.1", "shop.example.com,443,1,11")
        for _ = 1, 4 do
            local host, _, _, is_name = service:pick()
            assert.equal(host == "shop.example.com" or nil, is_name)
        end
    end)

    it("lists endpoints in all conditions, and more than its buffer holds", function()
        endpoints("10.0.0.1,8080,2,3,a,n1,shop-1", "shop.example.com,443,1,11")
        local list = service:endpoints()
        table.sort(list, function(a, b) return a.host < b.host end)
        assert.same({ host = "10.0.0.1", port = 8080, weight = 2, ready = true, serving = true,
            terminating = false, dns = false, zone = "a", node = "n1", pod = "shop-1",
            family = "IPv4" }, list[1])
        assert.equal("FQDN", list[2].family)
        assert.is_true(list[2].dns)
        local many = {}
        for i = 1, 300 do
            many[i] = "10.0." .. math.floor(i / 100) .. "." .. i % 100
        end
        endpoints(world.unpack(many))
        assert.equal(300, #service:endpoints())
        local counts = tally(600)
        for _, host in ipairs(many) do
            assert.equal(2, counts[host])
        end
        assert.is_nil(tally(598, { exclude = "10.0.1.50" })["10.0.1.50"])
    end)

    it("lists endpoints anew after a change only, in a list of its own", function()
        endpoints("10.0.0.1", "fd00::1")
        local first, again = service:endpoints(), service:endpoints()
        assert.not_equal(first, again)
        table.remove(first)
        assert.equal(2, #service:endpoints())
        assert.same({ IPv4 = "10.0.0.1", IPv6 = "[fd00::1]" },
            { [again[1].family] = again[1].host, [again[2].family] = again[2].host })
        world.write({ "endpoints", NAME, "10.0.0.1", "fd00::1", "10.0.0.3,80,5" })
        assert.equal(3, #service:endpoints())
        world.write({ "endpoints", NAME })
        assert.same({}, service:endpoints())
    end)

    it("excludes any number of hosts, and gives their share to all others", function()
        local hosts, tried = {}, {}
        for i = 1, 300 do
            hosts[i] = "10.1." .. math.floor(i / 100) .. "." .. i % 100
        end
        endpoints(world.unpack(hosts))
        for i = 1, 298 do
            tried[i] = i % 2 == 0 and hosts[i] or hosts[i] .. ":80"
        end
        local counts = tally(400, { exclude = tried })
        assert.equal(400, counts[hosts[299]] + counts[hosts[300]])
        assert.is_true(math.abs(counts[hosts[299]] - 200) < 60, counts[hosts[299]])
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3")
        assert.same({ ["10.0.0.1"] = 10, ["10.0.0.3"] = 10 },
            tally(20, { exclude = "10.0.0.2" }))
    end)

    it("has the spec of its Service, which picks do not honour", function()
        endpoints("10.0.0.1")
        local usual = { sessionAffinity = "None", internalTrafficPolicy = "Cluster",
            publishNotReadyAddresses = false, protocol = "TCP" }
        assert.same(usual, service:spec())
        world.write({ "put", "specs", "web/shop", 'j{"sessionAffinity":"ClientIP",'
            .. '"sessionAffinityTimeout":600,"internalTrafficPolicy":"Local","ports":[{"port":81,'
            .. '"name":"http","appProtocol":"kubernetes.io/h2c"}]}' })
        assert.same({ sessionAffinity = "ClientIP", sessionAffinityTimeout = 600,
            internalTrafficPolicy = "Local", publishNotReadyAddresses = false, protocol = "TCP",
            appProtocol = "kubernetes.io/h2c" }, service:spec())
        world.write({ "remove", "specs", "web/shop" })
        assert.same(usual, service:spec())
        assert.same({ nil, "unknown" }, { kube.service("web/none:http"):spec() })
    end)

    it("begins at another endpoint in each process", function()
        endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6")
        local script = string.format("package.path, package.cpath = %q, %q "
            .. "local kube = require 'resty.kubelua' "
            .. "kube.init { path = %q, size = 1048576 } print((kube.service(%q):pick()))",
            package.path, package.cpath, world.path, NAME)
        local file = world.path .. ".lua"
        local out = assert(io.open(file, "w"))
        out:write(script)
        out:close()
        local seen, kinds = {}, 0
        for _ = 1, 12 do
            local pipe = io.popen("luajit " .. file)
            local host = pipe:read("*l")
            pipe:close()
            assert.match("^10%.0%.0%.%d$", host)
            kinds = kinds + (seen[host] and 0 or 1)
            seen[host] = true
        end
        os.remove(file)
        assert.is_true(kinds >= 3, "only " .. kinds)
    end)

    it("never mixes two states while the owner publishes without pause", function()
        local pid = io.popen(string.format("%s %s churn 1.5 %s >/dev/null & echo $!",
            world.writer, world.path, "web/churn:http"))
        pid:close()
        local churned = kube.service("web/churn:http")
        local options, states, last = { hash = "a" }, 0, nil
        local deadline = os.time() + 2
        while os.time() <= deadline do
            for i = 1, 1000 do
                local host, port = churned:pick(i % 2 == 0 and options or nil)
                if host then
                    local high, low = host:match("^10%.%d%.(%d+)%.(%d+)$")
                    local state = high * 250 + low
                    assert.equal(state, port - 1)
                    states, last = states + (state ~= last and 1 or 0), state
                end
            end
        end
        assert.is_true(states > 10, "only " .. states .. " states were seen")
    end)

    it("raises for a wrong name or option", function()
        local function refused(text, f, ...)
            local ok, problem = pcall(f, ...)
            assert.is_false(ok)
            assert.match("pick_spec%.lua:%d+: .*" .. text, problem)
        end
        refused('"web/shop:http" expected, not "shop"', function() kube.service("shop") end)
        refused("do you mean 'exclude'", function() service:pick { exlude = {} } end)
        refused("'hash' must be a string or a number", function() service:pick { hash = {} } end)
        assert.same({ nil, "unknown" }, { kube.pick("no name at all") })
    end)
end)
