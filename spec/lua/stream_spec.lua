-- requests.stream: answers that are read as they arrive.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local requests = require "kubelua.requests"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"

local MAPS = "/api/v1/namespaces/default/configmaps"
local cluster, client

before_each(function()
    cluster = assert(Sim.new())
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
    assert.is_true(scheduler.is_idle())
end)

describe("a stream", function()
    local function watch(name)
        return requests.stream(client, { path = MAPS, query = { watch = true } }, name)
    end

    local function create(name)
        assert(cluster:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } })
    end

    it("is read as it arrives, in a task and outside", function()
        local names = {}
        local stream = assert(watch())
        local task = kubelua.spawn(function()
            for _ = 1, 2 do
                names[#names + 1] = kubelua.decode((assert(stream:read()))).object.metadata.name
            end
        end)
        create("a")
        eventually(function() return #names == 1 end, "a line is read")
        create("b")
        task:wait()
        assert.same({ "a", "b" }, names)
        kubelua.spawn(create, "c")
        assert.matches('"c"', (assert(stream:read())))
        stream:close()
        assert.equal("closed", select(3, stream:read()))
    end)

    it("ends with nil alone, and reports when it broke", function()
        cluster:cut { how = "end", after_events = 1 }
        local stream = assert(watch())
        create("a")
        assert.is_string(stream:read())
        assert.same({}, { stream:read() })
        stream:close()
        cluster:cut { after_bytes = 40 }
        stream = assert(requests.stream(client, { path = MAPS }))
        assert.equal(40, #assert(stream:read()))
        assert.equal("unavailable", select(3, stream:read()))
        stream:close()
    end)

    it("that is refused is a failure", function()
        local stream, message, code, reply = requests.stream(client, { path = "/nowhere" })
        assert.is_nil(stream)
        assert.is_string(message)
        assert.equal("not_found", code)
        assert.equal(404, reply.status)
    end)

    it("ends a read when it is closed, or its client is", function()
        local stream = assert(watch())
        local task = kubelua.spawn(stream.read, stream)
        kubelua.step(0.01)
        stream:close()
        assert.equal("canceled", select(3, task:wait()))
        stream = assert(watch())
        task = kubelua.spawn(stream.read, stream)
        kubelua.step(0.01)
        client:close()
        assert.equal("closed", select(3, task:wait()))
        stream:close()
    end)

    it("raises in a task that is cancelled, and can still be read", function()
        local stream = assert(watch())
        local task = kubelua.spawn(stream.read, stream)
        kubelua.step(0.01)
        task:cancel()
        assert.equal("canceled", select(3, task:wait()))
        assert.equal("canceled", select(3, stream:read()))
        stream:close()
    end)

    it("is freed when nothing refers to it any more", function()
        local before = core.live().requests
        kubelua.spawn(function() assert(watch()) end):wait()
        eventually(function()
            collectgarbage()
            return core.live().requests == before
        end, "the request is freed")
    end)
end)
