-- Registrations: they share one reflector and one cache, and do not disturb one another.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

conformance.describe("Handlers", function(it, cluster)
    it("of the same resource, scope and selectors share one stream", function(scene)
        scene:create("a")
        local first = scene:record()
        local second = scene:record(scene:informer())
        first:starts_with { "add a=1 initial" }
        second:starts_with { "add a=1 initial" }
        scene:create("b")
        first:sees { "add b=1" }
        second:sees { "add b=1" }
        assert.equal(1, first.informer:status().lists)
        assert.equal(1, second.informer:status().lists)
        if cluster.tells_requests then
            assert.equal(1, #scene:requests())
        end
    end)

    it("of other selectors have a stream of their own", function(scene)
        scene:create("a", "1", { app = "shop" })
        scene:create("b", "1", { app = "db" })
        local shop = scene:record(scene:informer { labels = "app=shop" })
        local db = scene:record(scene:informer { labels = "app=db" })
        shop:starts_with { "add a=1 initial" }
        db:starts_with { "add b=1 initial" }
    end)

    it("go on when another handle of the shared informer stops", function(scene)
        local first = scene:record()
        local second = scene:record(scene:informer())
        first:sees { "synced" }
        second:sees { "synced" }
        first.informer:stop()
        scene:create("a")
        second:sees { "add a=1" }
        assert.same({}, first.seen)
    end)

    it("that are added late get the cache first, as initial adds", function(scene)
        scene:create("a", "1")
        local early = scene:record()
        early:starts_with { "add a=1 initial" }
        scene:update("a", "2")
        scene:create("b")
        early:sees { "update a 1>2", "add b=1" }
        cluster:forget_requests()
        local late = scene:record(early.informer)
        late:starts_with { "add a=2 initial", "add b=1 initial" }
        scene:delete("a")
        late:sees { "delete a=2" }
        early:sees { "delete a=2" }
        assert.equal(0, #scene:requests())
    end)

    it("that are removed see nothing more", function(scene)
        local kept = scene:record()
        local removed = scene:record(kept.informer)
        kept:sees { "synced" }
        removed:sees { "synced" }
        removed.handler:remove()
        scene:create("a")
        kept:sees { "add a=1" }
        assert.same({}, removed.seen)
    end)

    it("may remove themselves inside of a callback", function(scene)
        scene:create("a")
        scene:create("b")
        local calls = 0
        local informer = scene:informer()
        local handler
        handler = informer:on {
            add = function()
                calls = calls + 1
                handler:remove()
            end,
            synced = function() calls = calls + 100 end,
        }
        local other = scene:record(informer)
        other:starts_with { "add a=1 initial", "add b=1 initial" }
        scene:create("c")
        other:sees { "add c=1" }
        assert.equal(1, calls)
    end)

    it("may remove another inside of a callback", function(scene)
        scene:create("a")
        local informer = scene:informer()
        local other = scene:record(informer)
        other:starts_with { "add a=1 initial" }
        local remover = scene:record(informer, {
            update = function() other.handler:remove() end,
        })
        remover:starts_with { "add a=1 initial" }
        scene:update("a", "2")
        remover:sees { "update a 1>2" }
        other:forget()
        scene:update("a", "3")
        remover:sees { "update a 2>3" }
        assert.same({}, other.seen)
    end)

    it("may be added inside of a callback", function(scene)
        scene:create("a")
        local informer = scene:informer()
        local inner
        local outer = scene:record(informer, {
            add = function() inner = inner or scene:record(informer) end,
        })
        outer:starts_with { "add a=1 initial" }
        inner:starts_with { "add a=1 initial" }
        scene:create("b")
        outer:sees { "add b=1" }
        inner:sees { "add b=1" }
    end)

    it("that fail stop neither the others nor themselves", function(scene)
        scene:create("a")
        local informer = scene:informer()
        local failing = scene:record(informer, { add = function() error("on purpose") end })
        local other = scene:record(informer)
        other:starts_with { "add a=1 initial" }
        failing:starts_with { "add a=1 initial" }
        scene:create("b")
        other:sees { "add b=1" }
        failing:sees { "add b=1" }
        assert.is_true(failing.handler:has_synced())
    end)

    it("that wait delay no other handler", function(scene)
        local may_return = false
        local informer = scene:informer()
        local waiting = scene:record(informer, {
            add = function()
                while not may_return do
                    kubelua.sleep(0.01)
                end
            end,
        })
        local other = scene:record(informer)
        other:sees { "synced" }
        scene:create("a")
        scene:update("a", "2")
        scene:delete("a")
        other:sees { "add a=1", "update a 1>2", "delete a=2" }
        waiting:sees { "synced", "add a=1" }
        assert.same({}, waiting.seen)
        may_return = true
        waiting:sees { "update a 1>2", "delete a=2" }
    end)

    it("resync from the cache, without a request", function(scene)
        scene:create("a")
        local watched = scene:record(nil, { resync = 0.3 })
        watched:starts_with { "add a=1 initial" }
        eventually(function() return watched.informer:status().watches == 1 end, "the watch")
        local before = watched.informer:status()
        cluster:forget_requests()
        watched:sees { "resync a", "resync a" }
        local after = watched.informer:status()
        assert.equal(before.lists, after.lists)
        assert.equal(before.watches, after.watches)
        assert.equal(0, #scene:requests())
        watched.handler:remove()
        watched:forget()
    end)

    it("resync by the period of their informer where they have none of their own", function(scene)
        scene:create("a")
        local watched = scene:record(scene:informer { resync = 0.3 })
        watched:starts_with { "add a=1 initial" }
        watched:sees { "resync a" }
        watched.handler:remove()
        watched:forget()
    end)

    it("do not see the resync of another", function(scene)
        scene:create("a")
        local informer = scene:informer()
        local resyncing = scene:record(informer, { resync = 0.3 })
        local other = scene:record(informer)
        other:starts_with { "add a=1 initial" }
        resyncing:starts_with { "add a=1 initial" }
        resyncing:sees { "resync a", "resync a" }
        scene:create("b")
        other:sees { "add b=1" }
        resyncing.handler:remove()
        resyncing:forget()
    end)

    it("resync a change in its place: never an old state after a new one", function(scene)
        scene:create("a", "0")
        local watched = scene:record(nil, { resync = 0.05 })
        watched:starts_with { "add a=0 initial" }
        for i = 1, 30 do
            scene:update("a", tostring(i))
            kubelua.step(0.02)
        end
        eventually(function()
            return watched.last and watched.last.data.v == "30"
        end, "the last update")
        watched.handler:remove()
        watched:forget() -- history.lua has checked that nothing went back
    end)
end)
