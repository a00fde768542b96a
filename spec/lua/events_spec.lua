-- Events about objects on the simulated cluster: what is written, how often, and what is not.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

describe("client:event", function()
    local cluster, client, path

    before_each(function()
        cluster = assert(Sim.new { clock = "fake", now = "2026-01-01T00:00:00Z",
            no_controllers = true })
        client = assert(cluster:connect())
        path = os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write("local f = ... return f()\n")
        file:close()
    end)

    after_each(function()
        client:close()
        cluster:close()
        os.remove(path)
    end)

    local function map(name, data)
        return assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = name, namespace = "default" }, data = data })
    end

    -- By the cluster's clock: that of the first event is kept.
    local function record(object, type_of_event, reason, message)
        cluster:run(path, function() client:event(object, type_of_event, reason, message) end)
    end

    local function list(namespace)
        return assert(cluster:list("events.events.k8s.io", { namespace = namespace or "default" }))
    end

    -- This many events exist, and no write is under way.
    local function await(count, namespace)
        local recorder = core.state(client, "kubelua.client").recorder
        eventually(function()
            cluster:advance(0)
            return recorder.senders == 0 and #list(namespace) == count
        end, function() return count .. " events, not " .. #list(namespace) end, 10)
        return list(namespace)
    end

    local function writes()
        return #cluster:requests { resource = "events" }
    end

    it("writes an Event that kubectl shows with its object", function()
        local object = map("a")
        record(object, "Warning", "Failed", "it broke")
        local event = await(1)[1]
        assert.equal("events.k8s.io/v1", event.apiVersion)
        assert.matches("^a%.%x+$", event.name)
        assert.same({ apiVersion = "v1", kind = "ConfigMap", name = "a", namespace = "default",
            uid = object.uid }, event.regarding and kubelua.table(event.regarding))
        assert.equal("Warning", event.type)
        assert.equal("Failed", event.reason)
        assert.equal("it broke", event.note)
        assert.equal("kubelua", event.reportingController)
        assert.equal("kubelua-" .. core.hostname(), event.reportingInstance)
        assert.equal("2026-01-01T00:00:00.000000Z", event.eventTime)
        assert.is_nil(event.series)
        -- As core/v1, which kubectl reads.
        local old = assert(cluster:list("events", { namespace = "default" }))[1]
        assert.equal("it broke", old.message)
        assert.equal(object.uid, old.involvedObject.uid)
    end)

    it("writes to the namespace default for an object without a namespace", function()
        record(assert(cluster:get("namespaces", "kube-system")), "Normal", "Seen")
        local event = await(1)[1]
        assert.equal("Namespace", event.regarding.kind)
        assert.equal("default", event.namespace)
        assert.equal("", event.note or "")
    end)

    it("takes plain tables, and names that no Event can have", function()
        record({ apiVersion = "rbac.authorization.k8s.io/v1", kind = "ClusterRole",
            metadata = { name = "system:Foo" } }, "Normal", "Seen", 5)
        local event = await(1)[1]
        assert.matches("^event%.%x+$", event.name)
        assert.equal("system:Foo", event.regarding.name)
        assert.equal("5", event.note)
    end)

    it("makes one series of equal events, which is written seldom", function()
        local object = map("a")
        record(object, "Normal", "Tick", "again")
        await(1)
        for _ = 1, 5 do
            record(object, "Normal", "Tick", "again")
        end
        local event = await(1)[1]
        assert.is_true(event.series.count >= 2)
        local before = writes()
        for _ = 1, 600 do
            record(object, "Normal", "Tick", "again")
            cluster:advance(0.5)
        end
        await(1)
        assert.is_true(writes() - before < 8, writes() - before)
        cluster:advance(300)
        event = await(1)[1]
        eventually(function() return list()[1].series.count == 606 end, "the last count", 10)
        assert.equal("2026-01-01T00:04:59.500000Z", list()[1].series.lastObservedTime)
        assert.equal("2026-01-01T00:00:00.000000Z", event.eventTime)
        cluster:advance(601)
        record(object, "Normal", "Tick", "again")
        await(2)
    end)

    it("tells events apart by type, reason, message and object", function()
        local a, b = map("a"), map("b")
        record(a, "Normal", "X", "m")
        record(a, "Warning", "X", "m")
        record(a, "Normal", "Y", "m")
        record(a, "Normal", "X", "n")
        record(b, "Normal", "X", "m")
        await(5)
    end)

    it("writes 25 of an object, then one in 5 minutes", function()
        local object = map("a")
        for i = 1, 100 do
            record(object, "Normal", "Many", "number " .. i)
        end
        await(25)
        cluster:advance(300)
        record(object, "Normal", "Many", "later")
        record(object, "Normal", "Many", "too many")
        await(26)
        assert.equal(76, core.state(client, "kubelua.client").recorder.dropped)
    end)

    it("cuts long texts between characters, and replaces bytes that are not UTF-8", function()
        local object = map("a")
        record(object, "Normal", "Long", ("ä"):rep(2000))
        record(object, "Normal", ("r"):rep(200), "bytes \255\254 and \0 zero \226\130")
        local notes = {}
        for _, event in ipairs(await(2)) do
            notes[#event.reason] = event.note
        end
        assert.equal(("ä"):rep(510) .. "...", notes[4])
        assert.equal("bytes ?? and \0 zero ??", notes[128])
    end)

    it("creates an Event again that the server has dropped", function()
        local object = map("a")
        record(object, "Normal", "Tick", "m")
        local first = await(1)[1]
        assert(cluster:delete("events", "default/" .. first.name))
        record(object, "Normal", "Tick", "m")
        local event = await(1)[1]
        assert.not_equal(first.name, event.name)
        assert.equal(2, event.series.count)
        assert.equal(first.eventTime, event.eventTime)
    end)

    it("retries temporary failures, and drops events that cannot be written", function()
        local object = map("a")
        cluster:fail { resource = "events", status = 500, count = 2 }
        record(object, "Normal", "Late", "m")
        local recorder = core.state(client, "kubelua.client").recorder
        eventually(function()
            cluster:advance(1)
            return #list() == 1
        end, "it is written", 10)
        cluster:fail { resource = "events", status = 403, count = 1 }
        record(object, "Normal", "Refused", "m")
        eventually(function()
            cluster:advance(0)
            return recorder.dropped == 1 and recorder.senders == 0
        end, "it is dropped", 10)
        record(object, "Normal", "Refused", "m")
        await(2)
    end)

    it("keeps no more than 1,000 while the server is away", function()
        cluster:fail { resource = "events", status = 503, count = 0 }
        for i = 1, 1500 do
            record({ apiVersion = "v1", kind = "Pod", metadata = { name = "p" .. i,
                namespace = "default" } }, "Normal", "Many", "m")
        end
        local recorder = core.state(client, "kubelua.client").recorder
        assert.is_true(recorder.dropped >= 490 and recorder.dropped <= 500, recorder.dropped)
        cluster:heal()
        eventually(function()
            cluster:advance(30)
            return recorder.senders == 0 and #list() == 1500 - recorder.dropped
        end, "the others are written", 20)
    end)

    it("writes the remaining events at the end of a run", function()
        local real = assert(Sim.new { no_controllers = true })
        local own = assert(real:connect())
        local object = assert(real:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "a" } })
        local function count()
            local event = real:list("events.events.k8s.io", { namespace = "default" })[1]
            return event and (event.series and event.series.count or 1) or 0
        end
        for i = 1, 3 do -- the third one waits for its time
            own:event(object, "Normal", "Tick", "m")
            if i < 3 then
                eventually(function() return count() == i end, "it happened " .. i .. " times", 10)
            end
        end
        kubelua.spawn(function()
            own:event(object, "Normal", "Tick", "m")
            kubelua.stop()
        end)
        kubelua.run()
        assert.equal(4, count())
        own:close()
        real:close()
    end)

    it("raises only for mistakes of the script", function()
        local object = map("a")
        local function refuses(message, ...)
            local ok, problem = pcall(client.event, client, ...)
            assert.is_false(ok)
            assert.matches(message, problem, 1, true)
        end
        refuses("the object that it is about expected", "pods", "Normal", "X", "m")
        refuses("the object that it is about expected", { kind = "Pod" }, "Normal", "X", "m")
        refuses("do you mean \"Warning\"?", object, "Warnin", "X", "m")
        refuses("not a nil", object, nil, "X", "m")
        refuses("a reason expected", object, "Normal", "", "m")
        client:close()
        client:event(object, "Normal", "X", "m") -- the client is closed: nothing happens
    end)
end)
