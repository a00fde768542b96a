-- The changes of one cluster are recorded, and another one replays them: its informers get the
-- same.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Recorder = require "kubelua.cli.recorder"
local Sim = require "kubelua.sim"

local function config_map(name, value)
    return { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = "default" }, data = { v = value } }
end

-- The events of an informer of ConfigMaps in the namespace default.
local function follow(client, told)
    local maps = assert(client:informer { "configmaps", namespace = "default" })
    local function tell(what)
        return function(object)
            told[#told + 1] = table.concat({ what, object.name, object.resource_version,
                object.uid }, " ")
        end
    end
    maps:on { coalesce = false, add = tell("add"), delete = tell("delete"),
        update = function(_, object) tell("update")(object) end }
    assert(maps:wait_synced(10))
    while #told < maps:count() do
        kubelua.step(1)
    end
    return maps
end

describe("a recording", function()
    local path

    before_each(function()
        path = os.tmpname()
    end)

    after_each(function()
        os.remove(path)
    end)

    -- Records some changes; returns the events of an informer beside the recorder.
    local function record()
        local cluster, told = assert(Sim.new()), {}
        local client = assert(cluster:connect())
        local file = assert(io.open(path, "wb"))
        local recorder = Recorder.new(function(line) file:write(line) end)
        assert(cluster:apply(config_map("a", "1")))
        assert(cluster:apply(config_map("b", "1")))
        local maps = follow(client, told)
        assert(recorder:attach(maps, { "configmaps", namespace = "default" }))
        local count = #told
        assert(cluster:apply(config_map("a", "2")))
        assert(cluster:apply(config_map("c", "1")))
        assert(cluster:delete("configmaps", "b"))
        assert(cluster:apply(config_map("b", "again")))
        assert(cluster:eventually(function() return #told == count + 4 end))
        assert(cluster:eventually(function()
            file:flush()
            local lines = 0
            for _ in io.lines(path) do lines = lines + 1 end
            return lines == 1 + count + 1 + 4
        end))
        file:close()
        client:close()
        cluster:close()
        return told
    end

    it("is a line of JSON for each event", function()
        record()
        local types = {}
        for text in io.lines(path) do
            local line = core.decode(text)
            types[#types + 1] = line.type or line.kubelua
        end
        assert.equal("recording", types[1])
        local counts = {}
        for _, type in ipairs(types) do
            counts[type] = (counts[type] or 0) + 1
        end
        assert.equal(1, counts.SYNCED)
        assert.equal(1, counts.MODIFIED)
        assert.equal(1, counts.DELETED)
    end)

    it("is replayed step by step, with the same events", function()
        local was = record()
        local told = {}
        local cluster = assert(Sim.new { replay = path })
        local client = assert(cluster:connect())
        assert.equal(4, cluster:left())
        follow(client, told)
        local count = #was - 4
        assert(cluster:eventually(function() return #told == count end))
        assert.equal(1, cluster:step())
        assert(cluster:eventually(function() return #told == count + 1 end))
        assert.equal(3, cluster:step(100))
        assert.equal(0, cluster:step())
        assert(cluster:eventually(function() return #told == #was end))
        table.sort(was)
        table.sort(told)
        assert.same(was, told)
        client:close()
        cluster:close()
    end)

    it("plays by itself, without pauses", function()
        record()
        local cluster = assert(Sim.new { replay = path })
        cluster:play { speed = math.huge }
        assert(cluster:eventually(function() return cluster:left() == 0 end))
        assert.equal("again", cluster:get("configmaps", "b").data.v)
        cluster:close()
    end)

    it("plays no more once it is closed", function()
        record()
        local cluster = assert(Sim.new { replay = path })
        local left = cluster:left()
        assert.is_true(left > 0)
        cluster:play { speed = math.huge }
        cluster:close()
        kubelua.step(0)
        assert.equal(left, cluster:left())
    end)

    it("that is not valid names the line", function()
        local file = assert(io.open(path, "wb"))
        file:write('{"kubelua":"recording","version":1}\nnonsense\n')
        file:close()
        local nothing, message, code = Sim.new { replay = path }
        assert.is_nil(nothing)
        assert.truthy(message:find("line 2", 1, true), message)
        assert.equal("parse", code)
    end)

    it("is required by step", function()
        local cluster = assert(Sim.new())
        assert.has_error(function() cluster:step() end, "step: this cluster has no recording "
            .. "to replay; give it one: sim.new { replay = \"recording.ndjson\" }")
        cluster:close()
    end)
end)

describe("changes of several resources", function()
    it("are played in the order of their versions", function()
        local path = os.tmpname()
        local file = assert(io.open(path, "wb"))
        file:write('{"kubelua":"recording","version":1}\n')
        local function line(at, kind, version)
            file:write(kubelua.json { at = at, type = "ADDED", object = { apiVersion = "v1",
                kind = kind, metadata = { name = "x", namespace = "default", uid = kind,
                    resourceVersion = tostring(version) } } }, "\n")
        end
        line(1, "ConfigMap", 9002)
        line(1.5, "Secret", 9001)
        line(2, "Secret", 9001) -- recorded by a second informer
        file:close()
        local cluster = assert(Sim.new { replay = path })
        assert.equal(2, cluster:left())
        cluster:step()
        assert.is_nil(cluster:get("configmaps", "x"))
        assert.equal("9001", cluster:get("secrets", "x").resource_version)
        cluster:step()
        assert.equal("9002", cluster:get("configmaps", "x").resource_version)
        cluster:close()
        os.remove(path)
    end)
end)
