-- The end of a run: waits in tasks are ended, and then functions run that the process needs before
-- it ends.
local ending = require "kubelua.ending"
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"

local function stop_soon()
    kubelua.spawn(function()
        kubelua.sleep(0.001)
        kubelua.stop()
    end)
end

describe("the end of a run", function()
    it("ends the waits of tasks without logging an error", function()
        local raised, code
        local sleeper = kubelua.spawn(function()
            raised = select(2, pcall(kubelua.sleep, 3600))
            kubelua.sleep(3600)
        end)
        kubelua.spawn(function() code = select(3, sleeper:wait()) end)
        stop_soon()
        kubelua.run(10)
        assert.equal("the task was cancelled", tostring(raised))
        assert.is_nil(code) -- it was ended as well
        assert.equal("canceled", select(3, sleeper:wait(0)))
        assert.is_true(scheduler.is_idle())
    end)

    it("leaves handlers and tickers for the next run", function()
        local cluster = assert(Sim.new())
        local client = assert(cluster:connect())
        local raised, names, ticks = nil, {}, 0
        local maps = assert(client:informer { "cm", namespace = "default" })
        maps:on { add = function(map)
            names[#names + 1] = map.name
            if map.name == "a" then
                raised = select(2, pcall(kubelua.sleep, 3600))
            elseif map.name == "b" then
                kubelua.sleep(0.001)
                kubelua.stop()
            end
        end }
        local ticker = kubelua.every(0.001, function()
            ticks = ticks + 1
            if ticks == 1 then
                kubelua.sleep(3600)
            end
        end)
        assert(cluster:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
        while #names == 0 or ticks == 0 do
            kubelua.step(0.01)
        end
        stop_soon()
        kubelua.run(10)
        assert.equal("the task was cancelled", tostring(raised))
        assert.equal(1, ticks)
        assert(cluster:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "b" } })
        kubelua.run(10)
        assert.equal("b", names[#names])
        assert.is_true(ticks > 1)
        ticker:stop()
        client:close()
        cluster:close()
    end)

    it("starts no handler any more, and loses no event", function()
        local cluster = assert(Sim.new())
        local client = assert(cluster:connect())
        local names = {}
        local maps = assert(client:informer { "cm", namespace = "default" })
        local handler = maps:on { coalesce = false, add = function(map)
            names[#names + 1] = map.name
        end }
        assert(maps:wait_synced(10))
        local before
        local remove = ending.on_end(function()
            before = #names
            assert(cluster:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "late" } })
            while handler:backlog() == 0 do
                kubelua.sleep(0.001)
            end
            kubelua.sleep(0.01)
            assert.equal(before, #names)
        end)
        stop_soon()
        kubelua.run(10)
        remove()
        assert.is_number(before)
        kubelua.step(1)
        assert.equal("late", names[#names])
        client:close()
        cluster:close()
    end)

    it("runs the functions of on_end after the tasks have ended; they may wait", function()
        local order = {}
        kubelua.spawn(function()
            pcall(kubelua.sleep, 3600)
            order[#order + 1] = "ended"
        end)
        local remove = ending.on_end(function()
            kubelua.sleep(0.001)
            order[#order + 1] = kubelua.spawn(function()
                kubelua.sleep(0.001)
                return "spawned"
            end):wait()
        end)
        local remove_too = ending.on_end(function() order[#order + 1] = "quick" end)
        stop_soon()
        kubelua.run(10)
        assert.same({ "ended", "quick", "spawned" }, order)
        remove()
        remove_too()
        stop_soon()
        kubelua.run(10)
        assert.equal(3, #order)
    end)

    it("waits less than a second for the functions of on_end", function()
        local raised
        local remove = ending.on_end(function()
            raised = select(2, pcall(kubelua.sleep, 3600))
        end)
        stop_soon()
        kubelua.run(10)
        remove()
        assert.equal("the task was cancelled", tostring(raised))
        assert.is_true(scheduler.is_idle())
    end)

    it("leaves waiting tasks as they are when the run's time is over", function()
        local done = false
        local task = kubelua.spawn(function()
            kubelua.sleep(0.02)
            done = true
        end)
        kubelua.run(0.001)
        task:wait()
        assert.is_true(done)
    end)
end)

describe("a wait outside of tasks", function()
    it("ends with a stop, and so does the next run", function()
        local cluster = assert(Sim.new())
        cluster:refuse(true)
        local client = assert(cluster:connect())
        local maps = assert(client:informer { "cm" })
        kubelua.log("info", "the warning that follows is meant")
        stop_soon()
        local ok, message, code = maps:wait_synced()
        assert.is_nil(ok)
        assert.equal("the run was stopped", message)
        assert.equal("canceled", code)
        local task = kubelua.spawn(kubelua.sleep, 3600)
        assert.equal("canceled", select(3, task:wait()))
        kubelua.sleep(3600)
        kubelua.run()
        assert.equal("canceled", select(3, task:wait(0)))
        client:close()
        cluster:close()
    end)
end)
