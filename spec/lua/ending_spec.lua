-- The end of a run: waits in tasks are ended, and then functions run that the process needs
-- before it ends. The time that runs of controllers have after a signal: no new run begins,
-- present ones go on, and the Lease is renewed until the last one has ended.
local kubelua = require "kubelua"
local loop = require "kubelua.loop"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"
local processes = require "processes"

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
        local remove = loop.on_end(function()
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
        local remove = loop.on_end(function()
            kubelua.sleep(0.001)
            order[#order + 1] = kubelua.spawn(function()
                kubelua.sleep(0.001)
                return "spawned"
            end):wait()
        end)
        local remove_too = loop.on_end(function() order[#order + 1] = "quick" end)
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
        local remove = loop.on_end(function()
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

local BEGIN = ([[
    local core, kubelua = require "kubelua.core", require "kubelua"
    local sim = assert(require("kubelua.sim").new())
    local client = assert(sim:connect())
    local function terminate()
        local file = assert(io.open("/proc/self/stat"))
        local pid = file:read("*n")
        file:close()
        io.popen(string.format("kill -TERM %d", pid)):close()
    end
    local function lease()
        return assert(sim:get("leases", "default/grace")).spec
    end
    local function await(condition)
        local deadline = core.now() + 20
        while not condition() do
            assert(core.now() < deadline, "it did not happen")
            kubelua.sleep(0.01)
        end
    end
    local LEASE = { name = "grace", lease = 3, renew = 2, retry = 0.1 }
]]):gsub("\n", " ")

local function log_of(text)
    return processes.log_of(BEGIN .. text, "KUBELUA_LOG=info")
end

describe("SIGTERM #processes", function()
    it("lets present runs end, begins none, and releases the Lease after the last", function()
        local log = log_of [[
            local began, holder = {}, nil
            local controller
            controller = assert(kubelua.controller { name = "slow", client = client,
                leader = LEASE, reconcile = function(key)
                    began[#began + 1] = key
                    if key == "late" then
                        kubelua.stop()
                        return
                    end
                    terminate()
                    controller:enqueue("late")
                    local renewed = lease().renewTime
                    await(function() return lease().renewTime > renewed end)
                    renewed = lease().renewTime
                    await(function() return lease().renewTime > renewed end)
                    holder = lease().holderIdentity
                end })
            controller:enqueue("first")
            local signal = kubelua.run { seconds = 60, grace = 30 }
            assert(signal == 15, signal)
            assert(#began == 1 and began[1] == "first", table.concat(began, " "))
            assert(holder and holder ~= "", "it was not the holder")
            assert((lease().holderIdentity or "") == "", "the Lease was not released")
            kubelua.run(20)
            assert(began[2] == "late", "the key is lost")
        ]]
        assert.matches("no new run of a controller begins, and these have 30 s", log, 1, true)
        assert.matches("controller slow: first", log, 1, true)
    end)

    it("cancels runs that go on for longer than the grace", function()
        log_of [[
            local raised, after
            local controller = assert(kubelua.controller { name = "slow", client = client,
                leader = LEASE, reconcile = function()
                    terminate()
                    local began = core.now()
                    raised = select(2, pcall(kubelua.sleep, 100))
                    after = core.now() - began
                end })
            controller:enqueue("a key")
            kubelua.run { grace = 0.3 }
            assert(tostring(raised):find("cancelled", 1, true), tostring(raised))
            assert(after >= 0.29 and after < 20, after)
            assert((lease().holderIdentity or "") == "", "the Lease was not released")
        ]]
    end)

    it("that comes a second time cancels the runs at once", function()
        log_of [[
            local raised
            local controller = assert(kubelua.controller { name = "slow", client = client,
                reconcile = function()
                    terminate()
                    kubelua.sleep(0.05)
                    kubelua.spawn(terminate)
                    raised = select(2, pcall(kubelua.sleep, 100))
                end })
            controller:enqueue("a key")
            local began = core.now()
            local signal = kubelua.run { grace = 60 }
            assert(signal == 15, signal)
            assert(tostring(raised):find("cancelled", 1, true), tostring(raised))
            assert(core.now() - began < 20, "it took the whole grace")
        ]]
    end)

    it("gives no time to what is no run of a controller", function()
        log_of [[
            kubelua.spawn(kubelua.sleep, 100)
            kubelua.spawn(terminate)
            local began = core.now()
            kubelua.run()
            assert(core.now() - began < 20, "it took the whole grace")
        ]]
    end)

    it("lets programs of cancelled runs end, and releases the Lease after them", function()
        local log = log_of [[
            local problem, held
            local path = os.tmpname()
            local function exists()
                local file = io.open(path)
                return file ~= nil and file:close()
            end
            local controller = assert(kubelua.controller { name = "slow", client = client,
                leader = LEASE, reconcile = function()
                    kubelua.spawn(function()
                        await(function() return not exists() end)
                        terminate()
                    end)
                    problem = select(2, pcall(kubelua.exec, { "sh", "-c",
                        "trap 'sleep 2.5; exit 3' TERM; rm " .. path
                            .. "; while :; do sleep 0.01; done" }, { grace = 20 }))
                    held = lease().holderIdentity
                end })
            controller:enqueue("a key")
            local began = core.now()
            kubelua.run { grace = 0.2 }
            assert(tostring(problem):find("cancelled", 1, true), tostring(problem))
            assert(held and held ~= "", "the Lease was lost while the program ran")
            assert((lease().holderIdentity or "") == "", "the Lease was not released")
            assert(core.now() - began > 2.4 and core.now() - began < 19, core.now() - began)
        ]]
        assert.is_nil(log:find("does not lead any more", 1, true), log)
    end)
end)

describe("kubelua.run", function()
    it("refuses options that are wrong", function()
        assert.error_matches(function() kubelua.run { grace = "long" } end,
            "'grace' must be a number")
        assert.error_matches(function() kubelua.run { grase = 5 } end, "do you mean 'grace'")
        assert.error_matches(function() kubelua.run { grace = -1 } end, "number of seconds, from 0")
    end)
end)
