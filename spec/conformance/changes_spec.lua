-- How changes of the cluster arrive: all, in order, and only those that were asked for.
local conformance = require "conformance"
local eventually = require "eventually"

conformance.describe("A change", function(it)
    it("arrives as add, update and delete, in order", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        scene:create("a", "1")
        scene:update("a", "2")
        scene:update("a", "3")
        scene:delete("a")
        watched:sees { "add a=1", "update a 1>2", "update a 2>3", "delete a=3" }
        assert.is_nil(watched.informer:get(scene.namespace .. "/a"))
    end)

    it("of a hundred to one object arrives a hundred times, in order", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        scene:create("a", "0")
        local expected = { "add a=0" }
        for i = 1, 100 do
            scene:update("a", tostring(i))
            expected[i + 1] = string.format("update a %d>%d", i - 1, i)
        end
        watched:sees(expected)
    end)

    it("that deletes and recreates is a delete and an add, of two UIDs", function(scene)
        local first = scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        local second = scene:recreate("a", "2")
        watched:sees { "delete a=1", "add a=2" }
        assert.not_equal(first.metadata.uid, second.metadata.uid)
        assert.equal(second.metadata.uid, watched.last.uid)
    end)

    it("is in the cache before its handler runs", function(scene)
        local cached = {}
        local informer = scene:informer()
        local function look(object)
            local found = informer:get(object.key)
            cached[#cached + 1] = found and found.data.v or "nothing"
        end
        local watched = scene:record(informer, { add = look, delete = look })
        watched:sees { "synced" }
        scene:create("a", "1")
        watched:sees { "add a=1" }
        scene:delete("a")
        watched:sees { "delete a=1" }
        assert.same({ "1", "nothing" }, cached)
    end)

    it("advances the version that the cache reflects", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        local object = scene:create("a")
        watched:sees { "add a=1" }
        assert.equal(object.metadata.resourceVersion, watched.informer:resource_version())
    end)

    it("of another namespace is not seen", function(scene)
        local elsewhere = scene:add_namespace("-elsewhere")
        local watched = scene:record()
        watched:sees { "synced" }
        scene.admin:create("configmaps", elsewhere, { metadata = { name = "a" } })
        scene:create("b")
        watched:sees { "add b=1" }
        assert.equal(1, watched.informer:count())
    end)

    it("of any namespace is seen by an informer of all namespaces", function(scene)
        local elsewhere = scene:add_namespace("-elsewhere")
        local labels = { spec = scene.name }
        scene.admin:create("configmaps", elsewhere, { metadata = { name = "a", labels = labels } })
        local watched = scene:record(scene:informer {
            namespace = "*",
            labels = "spec=" .. scene.name,
        })
        watched:starts_with { "add " .. elsewhere .. "/a initial" }
        scene:create("b", "1", labels)
        watched:sees { "add b=1" }
        assert.equal(elsewhere, watched.informer:get(elsewhere .. "/a").namespace)
    end)

    it("of an object without a namespace has its name as key", function(scene)
        local watched = scene:record(scene:informer {
            "namespaces", namespace = "*", labels = "spec=" .. scene.name,
        })
        watched:starts_with { "add " .. scene.name .. " initial" }
        local name = scene:add_namespace("-new")
        watched:sees { "add " .. name }
        local object = watched.informer:get(name)
        assert.equal(name, object.key)
        assert.is_nil(object.namespace)
    end)

    it("that takes an object out of the label selector is a delete, into it an add", function(scene)
        scene:create("a", "1", { app = "shop" })
        scene:create("b", "1", { app = "db" })
        local watched = scene:record(scene:informer { labels = "app=shop" })
        watched:starts_with { "add a=1 initial" }
        scene:update("a", "2", { app = "db" })
        scene:update("b", "2", { app = "shop" })
        scene:update("b", "3")
        watched:sees { "delete a=1", "add b=2", "update b 2>3" }
        assert.is_nil(watched.informer:get(scene.namespace .. "/a"))
        assert.equal(1, watched.informer:count())
    end)

    it("is matched against every term of a label selector", function(scene)
        scene:create("a", "1", { app = "shop", tier = "web" })
        scene:create("b", "1", { app = "shop", tier = "db" })
        scene:create("c", "1", { tier = "web" })
        local watched = scene:record(scene:informer { labels = "app in (shop, bar),tier!=db" })
        watched:starts_with { "add a=1 initial" }
    end)

    it("is matched against a field selector", function(scene)
        scene:create("a")
        scene:create("b")
        local watched = scene:record(scene:informer { fields = "metadata.name=b" })
        watched:starts_with { "add b=1 initial" }
        scene:update("a", "2")
        scene:update("b", "2")
        watched:sees { "update b 1>2" }
    end)

    it("that changes nothing makes no event", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:update("a", "1")
        scene:create("b")
        watched:sees { "add b=1" }
    end)

    it("by many clients leaves handler and cache equal to the server", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        for round = 1, 5 do
            for i = 1, 10 do
                scene:create("a" .. i, tostring(round))
            end
            for i = 1, 10 do
                scene:update("a" .. i, "x")
            end
            for i = round, 10 do
                scene:delete("a" .. i)
            end
            for i = 1, round - 1 do
                scene:delete("a" .. i)
            end
        end
        scene:create("last")
        eventually(function()
            return watched.seen[#watched.seen] == "add last=1"
        end, "the last change")
        assert.equal(5 * 30 + 1, #watched.seen)
        assert.equal(1, #watched.history:believes())
        assert.equal(1, watched.informer:count())
        watched:forget()
    end)
end)
