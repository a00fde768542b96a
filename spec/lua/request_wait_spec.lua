-- Requests suspend only their own task: others run meanwhile, hundreds are in flight, and whatever
-- ends a wait ends a request too.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local requests = require "kubelua.requests"
local scheduler = require "kubelua.scheduler"
local scopes = require "kubelua.scope"
local Sim = require "kubelua.sim"
local tasks = require "kubelua.tasks"

local MAPS = "/api/v1/namespaces/default/configmaps"
local cluster, client

-- From now on, requests get no answer.
local function hold()
    assert(cluster:freeze { count = 0 })
end

-- How many requests the server has received.
local function count_held()
    return cluster:faults()[1].hits
end

-- Spawns f, and waits until its request is sent.
local function spawn_sent(f, ...)
    local before = count_held()
    local task = kubelua.spawn(f, ...)
    eventually(function() return count_held() > before end, "the server has the request")
    return task
end

local function write(timeout)
    return client:request { method = "POST", path = MAPS, body = { metadata = { name = "a" } },
        timeout = timeout }
end

local function read(timeout)
    return client:request { path = MAPS, timeout = timeout }
end

before_each(function()
    cluster = assert(Sim.new())
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
    assert.is_true(scheduler.is_idle())
end)

describe("a request in a task", function()
    it("lets other tasks run", function()
        hold()
        local reply, ticks = nil, 0
        local ticker = kubelua.every(0.001, function() ticks = ticks + 1 end)
        kubelua.spawn(function() reply = read() end)
        eventually(function() return ticks > 10 end, "the timer ticks")
        assert.is_nil(reply)
        cluster:heal()
        eventually(function() return reply end, "the request is answered")
        ticker:stop()
        kubelua.step(0.01)
    end)

    it("is one of hundreds in flight", function()
        hold()
        local done, senders = 0, {}
        for i = 1, 300 do
            senders[i] = kubelua.spawn(function()
                local reply = assert(client:request { path = "/version", query = { n = i } })
                done = done + 1
                return reply.status
            end)
        end
        eventually(function() return count_held() == 300 end, "the server has 300 requests")
        assert.equal(0, done)
        cluster:heal()
        for _, task in ipairs(senders) do
            assert.equal(200, task:wait(20))
        end
    end)

    it("keeps a run going", function()
        local loop = require "kubelua.loop"
        local status
        cluster:delay { before = 0.02 }
        kubelua.spawn(function() status = read().status end)
        loop.run_until_idle()
        assert.equal(200, status)
    end)

    it("that is cancelled raises; a write that was sent is unknown", function()
        hold()
        for _, case in ipairs { { read, "canceled" }, { write, "unknown" } } do
            local seen, problem
            local task = spawn_sent(function()
                local ok
                ok, problem = pcall(case[1])
                assert.is_false(ok)
                seen = select(3, requests.send(client, { path = "/version" }))
            end)
            task:cancel()
            task:wait()
            assert.equal("the task was cancelled", tostring(problem))
            assert.equal("canceled", seen) -- the result of a later request, which was not sent
        end
        cluster:heal()
    end)

    it("that is cancelled reports the write to its scope", function()
        hold()
        local told = {}
        local scope = scopes.new()
        scope.wrote = function(one) told[#told + 1] = one.verb .. " " .. tostring(one.code) end
        local task = tasks.task("spec", function()
            kubelua.spawn(function() client:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "a" } } end)
        end)
        tasks.join_scope(task, scope)
        eventually(function() return count_held() == 1 end, "the server has the request")
        scope:cancel()
        eventually(function() return #told > 0 end, "the scope is told")
        assert.same({ "create unknown" }, told)
        cluster:heal()
    end)

    it("ends when its time is over", function()
        hold()
        local function code_of(f)
            return select(3, kubelua.spawn(f, 0.05):wait())
        end
        assert.equal("timeout", code_of(read))
        assert.equal("unknown", code_of(write))
        assert.equal("timeout", select(3, read(0)))
        cluster:heal()
    end)

    it("ends when its client is closed", function()
        hold()
        local reader = spawn_sent(read)
        local writer = spawn_sent(write)
        client:close()
        assert.equal("closed", select(3, reader:wait()))
        assert.equal("unknown", select(3, writer:wait()))
        cluster:heal()
    end)

    it("ends with the run", function()
        hold()
        local task = spawn_sent(read)
        local began = core.now()
        kubelua.spawn(kubelua.stop)
        kubelua.run(20)
        assert.is_true(core.now() - began < 10)
        assert.equal("canceled", select(3, task:wait(0)))
        cluster:heal()
    end)

    it("inside a script's coroutine, or a function that C called, raises", function()
        local messages = {}
        kubelua.spawn(function()
            coroutine.wrap(function()
                messages[1] = select(2, pcall(read))
            end)()
            messages[2] = select(2, pcall(table.sort, { 2, 1 }, function() read() end))
        end):wait()
        assert.matches("client:request inside a coroutine of your own", messages[1])
        assert.matches("request inside a function that C called", messages[2])
        assert.equal(0, #cluster:requests())
    end)
end)

describe("a request outside of tasks", function()
    it("dispatches events meanwhile", function()
        hold()
        local ran = false
        kubelua.spawn(function()
            ran = true
            cluster:heal()
        end)
        assert.equal(200, read().status)
        assert.is_true(ran)
    end)

    it("ends with a stop", function()
        hold()
        kubelua.spawn(kubelua.stop)
        local reply, _, code = read()
        assert.is_nil(reply)
        assert.equal("canceled", code)
        assert.equal("canceled", select(3, read())) -- the stop stays in force until a run
        kubelua.run()
        cluster:heal()
    end)
end)
