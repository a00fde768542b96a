-- What happens to keys when their objects are created, changed, deleted, and created again with a
-- new UID; and controllers without a resource, whose keys are any strings.
local world = require "controller_world"
local eventually = require "eventually"
local kubelua = require "kubelua"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

describe("a key", function()
    it("is reconciled when its object is created, and when it changes", function()
        w:controller {}
        w:apply("a")
        assert.same({ "web/a" }, w:noted())
        w:apply("a", "2")
        assert.same({ "web/a" }, w:noted())
    end)

    it("is only a name if its kind has no namespaces", function()
        w:controller { "namespaces", reconcile = function(object, run)
            assert.equal(object.name, run.key)
            w:note(run.key)
        end }
        w:apply("a")
        local keys = {}
        eventually(function()
            for _, key in ipairs(w.runs) do
                keys[key] = true
            end
            return keys.web
        end, "the namespace of the ConfigMap is reconciled")
    end)

    it("never runs twice at once, and runs once more for events that came meanwhile", function()
        local inside, most, runs = 0, 0, 0
        local controller
        controller = w:controller { workers = 8, reconcile = function(object)
            inside, runs = inside + 1, runs + 1
            most = math.max(most, inside)
            if runs == 1 then
                controller:enqueue(object)
                controller:enqueue(object)
                w:note("in")
            end
            coroutine.yield()
            kubelua.sleep(1)
            inside = inside - 1
        end }
        w:apply("a")
        w:noted()
        eventually(function()
            w.cluster:advance(1)
            return controller:status().queue.in_progress == 0
        end, "it rests")
        assert.equal(1, most)
        assert.equal(2, runs)
    end)

    it("runs beside other keys, at most as many as there are workers", function()
        local inside, most = 0, 0
        for i = 1, 10 do
            w:apply("a" .. i)
        end
        local controller = w:controller { workers = 3, reconcile = function()
            inside = inside + 1
            most = math.max(most, inside)
            kubelua.sleep(1)
            inside = inside - 1
        end }
        eventually(function() return inside == 3 end, "three at once")
        assert.equal(3, controller:status().queue.in_progress)
        assert.equal(3, #controller:status().running)
        w.cluster:advance(4)
        w:rest(controller)
        assert.equal(3, most)
    end)

    it("of the first list waits behind keys with newer events", function()
        local order, holds = {}, true
        for i = 1, 5 do
            w:apply("a" .. i)
        end
        local controller = w:controller { workers = 1, reconcile = function(object)
            order[#order + 1] = object.name
            while holds do
                kubelua.sleep(1)
            end
        end }
        eventually(function() return #order == 1 end, "the first runs")
        w:apply("news")
        eventually(function()
            return controller:status().queue.waiting == 5
        end, "the news are queued")
        holds = false
        w.cluster:advance(2)
        w:rest(controller)
        assert.equal("news", order[2])
        assert.equal(6, #order)
    end)
end)

describe("gone", function()
    local function start(options)
        options = options or {}
        options.gone = options.gone or function(key, run)
            assert.equal(key, run.key)
            w:note("gone " .. key)
        end
        local controller = w:controller(options)
        w:apply("a")
        w:noted()
        w:rest(controller)
        return controller
    end

    it("runs for a key whose object was deleted", function()
        start()
        assert(w.cluster:delete("configmaps", "web/a"))
        assert.same({ "gone web/a" }, w:noted())
    end)

    it("runs for a key that was never in the cache, perhaps again", function()
        local controller = start()
        for _ = 1, 2 do
            controller:enqueue("web/never")
            assert.same({ "gone web/never" }, w:noted())
        end
    end)

    it("is tried again when it fails", function()
        local fails = true
        start { gone = function(key)
            w:note("gone " .. key)
            if fails then
                return nil, "cannot"
            end
        end }
        assert(w.cluster:delete("configmaps", "web/a"))
        w:noted()
        fails = false
        w.cluster:advance(1)
        assert.same({ "gone web/a" }, w:noted())
        w.cluster:advance(1000)
        assert.same({}, w.runs)
    end)

    it("runs after a UID change, before the new object is reconciled with an empty memo", function()
        local holds = false
        local controller = w:controller { workers = 1, reconcile = function(object, run)
            w:note(object.data.value .. (run.memo.of or ""))
            run.memo.of = " after " .. object.data.value
            while holds do
                kubelua.sleep(1)
            end
        end, gone = function(key, run) w:note("gone " .. key .. run.memo.of) end }
        w:apply("a")
        w:apply("b")
        w:noted(2)
        holds = true
        w:apply("b", "2")
        assert.same({ "2 after 1" }, w:noted())
        assert(w.cluster:delete("configmaps", "web/a"))
        w:apply("a", "new")
        eventually(function() return controller:status().queue.waiting == 1 end, "it waits")
        holds = false
        w.cluster:advance(1)
        local notes = w:noted(2) -- a later event of the new object may run it again
        assert.same({ "gone web/a after 1", "new" }, { notes[1], notes[2] })
    end)
end)

describe("an object with a deletionTimestamp", function()
    local HELD = { finalizers = { "example.com/held" } }

    it("is not reconciled", function()
        w:apply("a", "1", HELD)
        assert(w.cluster:delete("configmaps", "web/a"))
        w:apply("b", "1", HELD)
        local controller = w:controller { gone = function() w:note("gone") end }
        local cache = assert(w.client:informer("configmaps")) -- shares the controller's cache
        assert.same({ "web/b" }, w:noted())
        assert(w.cluster:delete("configmaps", "web/b"))
        eventually(function()
            return cache:get("web/b"):get("metadata.deletionTimestamp")
        end, "the cache has the deletion")
        controller:enqueue("web/b")
        w:rest(controller)
        w:apply("c")
        assert.same({ "web/c" }, w:noted())
    end)

    it("is reconciled with terminating = true", function()
        w:apply("a", "1", HELD)
        assert(w.cluster:delete("configmaps", "web/a"))
        w:controller { terminating = true, reconcile = function(object)
            w:note(object.metadata.deletionTimestamp ~= nil)
        end }
        assert.same({ true }, w:noted())
    end)
end)

describe("a controller without a resource", function()
    it("reconciles any string that enqueue is given", function()
        local controller = w:controller { keyless = true, name = "zones",
            reconcile = function(key, run)
                assert.equal(key, run.key)
                run.memo.count = (run.memo.count or 0) + 1
                w:note(key .. run.memo.count)
            end }
        for _, key in ipairs { "a zone", "/", "ns/name" } do
            assert(controller:enqueue(key))
            assert.same({ key .. "1" }, w:noted())
            assert(controller:enqueue(key))
            assert.same({ key .. "2" }, w:noted())
        end
    end)

    it("has one timer for each key; enqueue can set it", function()
        local controller = w:controller { keyless = true, name = "zones" }
        controller:enqueue("a", 10)
        controller:enqueue("a", 5)
        controller:enqueue("b", 7)
        kubelua.step(0.01)
        w.cluster:advance(4.999)
        assert.same({}, w.runs)
        w.cluster:advance(0.001)
        assert.same({ "a" }, w:noted())
        w.cluster:advance(5)
        assert.same({ "b" }, w:noted())
        controller:enqueue("a", 0)
        assert.same({ "a" }, w:noted())
    end)
end)
