-- cluster:advance: a cluster with a fake clock, and one with a running clock.
local Sim = require "kubelua.sim"

describe("a fake clock", function()
    local cluster

    before_each(function()
        cluster = assert(Sim.new { clock = "fake", now = "2026-01-01T00:00:00Z" })
    end)

    after_each(function()
        cluster:close()
    end)

    it("stands still until it is moved", function()
        assert.equal(1767225600, cluster:now())
        cluster:advance(90)
        assert.equal(1767225690, cluster:now())
    end)

    it("gives objects their timestamps", function()
        cluster:advance(3661)
        local made = assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "x" } })
        assert.equal("2026-01-01T01:01:01Z", made.metadata.creationTimestamp)
    end)

    it("ends watches by its time, and the informer goes on", function()
        local client = assert(cluster:connect())
        local maps = assert(client:informer { "configmaps", namespace = "default" })
        assert(maps:wait_synced(10))
        local function watches()
            return #cluster:requests { verb = "watch", resource = "configmaps" }
        end
        local before = watches()
        cluster:advance(3600)
        assert(cluster:eventually(function() return watches() > before end))
        client:close()
    end)

    it("waits for the requests of a script, which take none of its time", function()
        local kubelua = require "kubelua"
        local client = assert(cluster:connect())
        local at, path = {}, os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write("local f = ... f()\n")
        file:close()
        cluster:run(path, function()
            kubelua.spawn(function()
                for i = 1, 3 do
                    kubelua.sleep(10)
                    assert(client:request { path = "/version" })
                    at[i] = kubelua.now()
                end
            end)
        end)
        os.remove(path)
        local from = cluster:now()
        cluster:advance(30)
        assert.same({ from + 10, from + 20, from + 30 }, at)
        client:close()
    end)

    it("does not go back", function()
        assert.has_error(function() cluster:advance(-1) end,
            "advance: write a number of seconds from 0: time only goes forward")
    end)
end)

describe("a clock that runs", function()
    it("can be set, and moved on", function()
        local cluster = assert(Sim.new { now = 86400 })
        assert.is_true(cluster:now() >= 86400 and cluster:now() < 90000)
        cluster:advance(100000)
        assert.is_true(cluster:now() >= 186400)
        cluster:close()
    end)
end)

describe("times", function()
    it("that are not valid are refused", function()
        assert.has_error(function() Sim.new { now = "soon" } end)
    end)
end)
