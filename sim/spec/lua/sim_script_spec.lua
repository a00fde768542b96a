-- Scripts under test: their timers follow a cluster's fake clock.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

-- A script's file, from its text.
local function script(text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('local kubelua = require "kubelua"\nlocal log = ...\n', text)
    file:close()
    return path
end

describe("a script under a fake clock", function()
    local cluster, log, paths

    before_each(function()
        cluster = assert(Sim.new { clock = "fake", now = "2026-01-01T00:00:00Z" })
        log, paths = {}, {}
    end)

    after_each(function()
        cluster:close()
        for _, path in ipairs(paths) do
            os.remove(path)
        end
    end)

    local function run(text)
        paths[#paths + 1] = script(text)
        return cluster:run(paths[#paths], log)
    end

    it("ticks when the test moves the clock, once for each period, at its time", function()
        run [[kubelua.every(60, function() log[#log + 1] = kubelua.now() end)]]
        kubelua.step(0.02)
        assert.same({}, log)
        cluster:advance(59.999)
        assert.same({}, log)
        cluster:advance(0.001)
        assert.same({ 1767225660 }, log)
        cluster:advance(150)
        assert.same({ 1767225660, 1767225720, 1767225780 }, log)
        assert.equal(1767225600 + 210, cluster:now())
    end)

    it("sleeps in a loop", function()
        run [[kubelua.spawn(function()
            for i = 1, 5 do
                kubelua.sleep(i)
                log[#log + 1] = kubelua.now() - 1767225600
            end
        end)]]
        cluster:advance(100)
        assert.same({ 1, 3, 6, 10, 15 }, log)
    end)

    it("keeps the order of timers that are due together", function()
        run [[for i = 1, 3 do
            kubelua.spawn(function() kubelua.sleep(4 - i); log[#log + 1] = i end)
        end]]
        cluster:advance(5)
        assert.same({ 3, 2, 1 }, log)
    end)

    it("has handlers and tasks that wait by its clock", function()
        run [[local client = assert(kubelua.connect())
        assert(client:informer { "configmaps", namespace = "default" }):on {
            add = function(map)
                log[#log + 1] = "add " .. map.name
                kubelua.spawn(function()
                    kubelua.sleep(10)
                    log[#log + 1] = "later " .. map.name
                end)
                kubelua.sleep(5)
                log[#log + 1] = "handled " .. map.name
            end,
        }]]
        assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
        assert(cluster:eventually(function() return log[#log] == "add a" end))
        cluster:advance(5)
        assert.same({ "add a", "handled a" }, log)
        cluster:advance(5)
        assert.same({ "add a", "handled a", "later a" }, log)
    end)

    it("may let other tasks have their turn in no time", function()
        run [[kubelua.spawn(function() kubelua.sleep(0); log[#log + 1] = "went on" end)]]
        assert(cluster:eventually(function() return log[1] == "went on" end))
    end)

    it("stops ticking", function()
        run [[local ticker
        ticker = kubelua.every(1, function() log[#log + 1] = #log; ticker.stop() end)]]
        cluster:advance(10)
        assert.same({ 0 }, log)
    end)

    it("may move the clock itself, from a handler", function()
        local moved
        log.advance = function() cluster:advance(7) end
        run [[kubelua.spawn(function() log.advance() end)
        kubelua.spawn(function() kubelua.sleep(7); log[#log + 1] = kubelua.now() end)]]
        kubelua.step(0)
        cluster:advance(0)
        moved = cluster:now() - 1767225600
        cluster:advance(7)
        assert.equal(7, moved)
        assert.equal(1, #log)
    end)

    it("gets an error when it would wait for ever", function()
        assert.error_matches(function() run [[kubelua.sleep(1)]] end,
            "cluster:advance of the test moves the clock.*kubelua.spawn")
    end)

    it("leaves the test's own timers alone", function()
        run [[kubelua.every(60, function() log[#log + 1] = "tick" end)]]
        local slept
        kubelua.spawn(function() kubelua.sleep(0.01); slept = true end)
        assert(cluster:eventually(function() return slept end))
        assert.same({}, log)
        assert.is_true(math.abs(kubelua.now() - os.time()) < 5)
    end)
end)

describe("a script that connects later", function()
    for _, clock in ipairs { "real", "fake" } do
        it("reaches its cluster all the same, with a clock that is " .. clock, function()
            local cluster, log = assert(Sim.new { clock = clock }), {}
            local path = script [[kubelua.spawn(function()
                log.spawned = assert(kubelua.connect())
                kubelua.sleep(0.001)
                log.waited = assert(kubelua.connect())
                log.waited:informer { "namespaces" }:on { synced = function()
                    log.handled = assert(kubelua.connect())
                end }
            end)]]
            cluster:run(path, log)
            os.remove(path)
            cluster:advance(0.01)
            assert(cluster:eventually(function() return log.handled end))
            for _, client in pairs(log) do
                assert.equal(200, assert(client:request { path = "/version" }).status)
            end
            cluster:close()
            assert.has_error(function() log.spawned:request { path = "/version" } end)
        end)
    end
end)

describe("a script whose cluster is closed", function()
    for _, clock in ipairs { "real", "fake" } do
        it("does nothing any more, with a clock that is " .. clock, function()
            local cluster, log = assert(Sim.new { clock = clock }), {}
            local path = script [[kubelua.every(0.001, function() log[#log + 1] = "tick" end)
            kubelua.spawn(function()
                while true do kubelua.sleep(0.001) log[#log + 1] = "slept" end
            end)]]
            cluster:run(path, log)
            os.remove(path)
            cluster:advance(0.01)
            assert(cluster:eventually(function() return #log > 2 end))
            cluster:close()
            kubelua.step(0)
            local count = #log
            kubelua.sleep(0.02)
            assert.equal(count, #log)
        end)
    end
end)

describe("a script under a clock that runs", function()
    it("sees the cluster's time of day", function()
        local cluster, log = assert(Sim.new { now = 86400 }), {}
        local path = script [[log.now = kubelua.now()]]
        cluster:run(path, log)
        os.remove(path)
        assert.is_true(log.now >= 86400 and log.now < 90000)
        cluster:close()
    end)

    it("waits by the machine's clock", function()
        local cluster, log = assert(Sim.new()), {}
        local path = script [[kubelua.spawn(function() kubelua.sleep(0.01); log[1] = "slept" end)]]
        cluster:run(path, log)
        assert(cluster:eventually(function() return log[1] end))
        cluster:close()
        os.remove(path)
    end)
end)
