-- Limits of the paths of an Ingress, in a real nginx with two workers.
local copies = require "nginx_copies"
local gateway_world = require "gateway_world"

describe("limits", function()
    local world

    setup(function()
        world = gateway_world.start { options = "nginx = true" }
    end)

    teardown(function()
        world:close()
    end)

    -- Requests one after the other; how many of them pass. The others are 503.
    local function count_passed(host, count, words)
        local passed = 0
        for _ = 1, count do
            local status = world:ask(host, "/", words)
            assert.truthy(status == 200 or status == 503, status)
            passed = passed + (status == 200 and 1 or 0)
        end
        return passed
    end

    -- Waits until the Ingress is there, from an address that is counted on its own.
    local function ingress(name, annotations, paths)
        local host = world:ingress(name, annotations, paths)
        world:expect("web/one GET /seen ", host, "/seen", "--interface 127.0.0.9")
        return host
    end

    it("by minute let a burst in, and count all paths and workers together", function()
        local host = ingress("minute", { ["limit-rpm"] = "1", ["limit-whitelist"] = "127.0.0.3" },
            { "/", "/other" })
        assert.equal(4, count_passed(host, 4))
        assert.equal(200, (world:ask(host, "/other")))
        assert.equal(1, count_passed(host, 5))
        assert.equal(503, (world:ask(host, "/other")))
        assert.equal(6, count_passed(host, 9, "--interface 127.0.0.2"))
        assert.equal(9, count_passed(host, 9, "--interface 127.0.0.3"))
    end)

    it("are those of one Ingress, and outlive a worker", function()
        local host = ingress("other", { ["limit-rpm"] = "1", ["limit-burst-multiplier"] = "2" })
        assert.equal(3, count_passed(host, 5))
        world.one:signal("KILL", world:owner())
        world:owner()
        assert.equal(0, count_passed(host, 2))
        assert.equal(0, count_passed("minute.example.com", 2))
    end)

    -- A request whose body does not come.
    local function hold(host)
        return (copies.shell(("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d; printf \"POST / HTTP/1.1"
            .. "\\r\\nHost: %s\\r\\nContent-Length: 9\\r\\n\\r\\n\" >&3; exec cat <&3' "
            .. ">/dev/null 2>&1 & echo $!"):format(world.one.port, host)):match("%d+"))
    end

    -- A request ends a moment after its answer has come: so each count has room for one more.
    it("of requests at a time count them until they end", function()
        local host = ingress("connections", { ["limit-connections"] = "3" })
        local first = hold(host)
        assert.equal(5, count_passed(host, 5))
        local others = hold(host) .. " " .. hold(host)
        world:expect(503, host, "/")
        assert.equal(200, (world:ask(host, "/", "--interface 127.0.0.2")))
        copies.shell("kill " .. first)
        world:expect("web/one GET / ", host, "/")
        copies.shell("kill " .. others)
    end)

    it("of requests at a time forget those of a worker that was killed", function()
        local host = ingress("killed", { ["limit-connections"] = "2" })
        hold(host)
        hold(host)
        world:expect(503, host, "/")
        for _, pid in ipairs(world.one:workers()) do
            world.one:signal("KILL", pid)
        end
        world:expect("web/one GET / ", host, "/")
    end)

    it("of the rate of an answer hold it back", function()
        local host = ingress("slow", { ["limit-rate"] = "1", ["limit-rate-after"] = "1" })
        local said = copies.shell(("curl -s -m 10 -o /dev/null -w '%%{time_total}' -H 'Host: %s' "
            .. "'http://127.0.0.1:%d/long?%s'"):format(host, world.one.port, ("x"):rep(2600)))
        assert.truthy(tonumber(said) > 0.9, said)
    end)
end)
