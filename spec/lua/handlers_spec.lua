-- Handlers, indexes and waits in trouble, against the simulator in this process: whatever one of
-- them does, the others and the loop go on.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"

local sim, client, pods

local function pod(name, labels)
    return {
        apiVersion = "v1", kind = "Pod",
        metadata = { name = name, namespace = "web", labels = labels },
    }
end

-- Dispatches until the condition holds, at most 10 s.
local function eventually(condition)
    local deadline = core.now() + 10
    while not condition() do
        assert.is_true(core.now() < deadline, "not within 10 s")
        kubelua.step(0.1)
    end
end

before_each(function()
    sim = assert(Sim.new())
    assert(sim:apply(pod("a")))
    client = assert(sim:connect())
    pods = assert(client:informer { "pods" })
end)

after_each(function()
    pods:stop()
    client:close()
    sim:close()
end)

describe("a handler", function()
    it("goes on after an error whose text cannot be made", function()
        local seen = {}
        local hostile = setmetatable({}, { __tostring = function() error("meant: no text") end })
        pods:on { add = function(object)
            seen[#seen + 1] = object.name
            error(hostile)
        end }
        eventually(function() return #seen == 1 end)
        sim:apply(pod("b"))
        eventually(function() return #seen == 2 end)
        assert.same({ "a", "b" }, seen)
    end)

    it("has its own name in messages", function()
        local lines, write = {}, core.log
        core.log = function(_, line) -- luacheck: ignore 122
            lines[#lines + 1] = line
        end
        local handler = pods:on { name = "reaper", add = function() error("meant") end }
        eventually(function() return #lines == 1 end)
        core.log = write -- luacheck: ignore 122
        assert.matches("reaper: handler of add for Pod web/a failed", lines[1], 1, true)
        assert.is_nil(lines[1]:find("registration.lua", 1, true)) -- only frames of the script
        assert.equal("kubelua.registration: reaper", tostring(handler))
    end)

    it("goes on after it has yielded by itself", function()
        local seen = {}
        pods:on { add = function(object)
            coroutine.yield()
            seen[#seen + 1] = object.name
        end }
        eventually(function() return #seen == 1 end)
        sim:apply(pod("b"))
        eventually(function() return #seen == 2 end)
    end)

    it("may remove itself, and is called no more", function()
        local count, handler = 0, nil
        sim:apply(pod("b"))
        handler = pods:on { add = function()
            count = count + 1
            handler:remove()
        end }
        assert(pods:wait_synced(10))
        eventually(function() return count > 0 end)
        kubelua.step(0)
        assert.equal(1, count)
        assert.is_false(handler:has_synced())
    end)

    it("may stop its informer while it waits, which ends the wait", function()
        local after = false
        pods:on { add = function()
            pods:stop()
            kubelua.sleep(0.001)
            after = true
        end }
        eventually(function() return after end)
        assert.equal(0, pods:count())
    end)

    it("has an error in synced like in any other callback", function()
        local later = false
        pods:on {
            synced = function() error("meant: in synced") end,
            add = function(_, initial) later = later or not initial end,
        }
        assert(pods:wait_synced(10))
        eventually(function() return pods:count() == 1 end)
        kubelua.step(0)
        sim:apply(pod("b"))
        eventually(function() return later end)
    end)

    it("may wait for another informer, which delays only itself", function()
        local order = {}
        sim:freeze(true)
        local maps = assert(client:informer { "configmaps" })
        kubelua.spawn(function()
            assert(maps:wait_synced(10))
            order[#order + 1] = "synced"
        end)
        kubelua.spawn(function() order[#order + 1] = "other" end)
        eventually(function() return #order == 1 end)
        sim:freeze(false)
        eventually(function() return #order == 2 end)
        assert.same({ "other", "synced" }, order)
        maps:stop()
    end)
end)

describe("wait_synced", function()
    it("ends when its informer is stopped by another task", function()
        local message, code
        sim:refuse(true)
        local maps = assert(client:informer { "configmaps" })
        kubelua.spawn(function()
            local _
            _, message, code = maps:wait_synced()
        end)
        kubelua.spawn(function() maps:stop() end)
        eventually(function() return code end)
        assert.equal("closed", code)
        assert.equal("string", type(message))
    end)

    it("ends when its client is closed by another task", function()
        local code
        sim:refuse(true)
        local other = assert(sim:connect())
        local maps = assert(other:informer { "configmaps" })
        kubelua.spawn(function()
            local _
            _, _, code = maps:wait_synced()
        end)
        kubelua.spawn(function() other:close() end)
        eventually(function() return code end)
        assert.equal("closed", code)
        maps:stop()
    end)

    it("ends when its time is over, in a task and outside", function()
        local code, _
        sim:refuse(true)
        local maps = assert(client:informer { "configmaps" })
        kubelua.spawn(function()
            _, _, code = maps:wait_synced(0.01)
        end)
        eventually(function() return code end)
        assert.equal("timeout", code)
        _, _, code = maps:wait_synced(0.01)
        assert.equal("timeout", code)
        maps:stop()
    end)

    it("does not need extra rounds of the loop", function()
        local rounds, original = 0, scheduler.round
        sim:refuse(true)
        local maps = assert(client:informer { "configmaps" })
        scheduler.round = function(...)
            rounds = rounds + 1
            return original(...)
        end
        maps:wait_synced(0.3)
        scheduler.round = original
        assert.is_true(rounds < 10, rounds .. " rounds")
        maps:stop()
    end)
end)

describe("an index function", function()
    local function index_of(compute)
        assert(pods:index("x", compute))
        assert(pods:wait_synced(10))
        return assert(pods:values("x"))
    end

    it("finds nothing in nulls", function()
        assert.same({ "v" }, index_of(function() return { kubelua.null, "v" } end))
        pods:index("y", function() return kubelua.null end)
        assert.same({}, pods:values("y"))
    end)

    it("leaves out values without a text, and the loop goes on", function()
        local bad = setmetatable({}, { __tostring = function() error("meant: no text") end })
        assert.same({}, index_of(function() return { bad } end))
        assert(pods:index("file", function() return io.stdout end))
        assert.equal(1, #pods:values("file"))
        sim:apply(pod("b"))
        eventually(function() return pods:count() == 2 end)
    end)

    it("may read its own index", function()
        local found = index_of(function(object)
            pods:by("x", "v")
            pods:values("x")
            return object.name
        end)
        assert.same({ "a" }, found)
        sim:apply(pod("b"))
        eventually(function() return #pods:values("x") == 2 end)
        assert.same({ "a", "b" }, pods:values("x"))
    end)
end)
