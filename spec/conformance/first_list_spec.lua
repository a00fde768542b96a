-- What handlers and queries see of an informer's first list.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

conformance.describe("The first list", function(it, cluster)
    it("arrives as adds that say that they are initial", function(scene)
        scene:create("a")
        scene:create("b", "2")
        scene:record():sees_all { "add a=1 initial", "add b=2 initial", "synced" }
    end)

    it("says synced once, after all of its adds", function(scene)
        for i = 1, 20 do
            scene:create("a" .. i)
        end
        local at
        local adds = 0
        local watched = scene:record(nil, {
            add = function() adds = adds + 1 end,
            synced = function() at = adds end,
        })
        eventually(function() return at end, "synced")
        assert.equal(20, at)
        scene:create("b")
        eventually(function() return adds == 21 end, "an add after the first list")
        assert.equal("add b=1", watched.seen[#watched.seen])
        watched:forget()
    end)

    it("of no objects says synced as well", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        assert.is_true(watched.informer:has_synced())
        assert.equal(0, watched.informer:count())
        assert.same({}, watched.informer:list())
    end)

    it("is followed by adds that are not initial", function(scene)
        scene:create("a")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:create("b")
        watched:sees { "add b=1" }
    end)

    it("is in the cache when wait_synced returns", function(scene)
        scene:create("a", "7")
        local informer = scene:informer()
        assert.is_true(informer:wait_synced(60))
        assert.equal(1, informer:count())
        assert.equal("7", informer:get(scene.namespace .. "/a").data.v)
        assert.truthy(informer:resource_version():match("^%d+$"))
    end)

    it("has synced a handler only when its adds have returned", function(scene)
        scene:create("a")
        scene:create("b")
        local may_return = false
        local slow = scene:record(nil, {
            add = function()
                while not may_return do
                    kubelua.sleep(0.01)
                end
            end,
        })
        local quick = scene:record(slow.informer)
        quick:starts_with { "add a=1 initial", "add b=1 initial" }
        assert.is_true(quick.handler:has_synced())
        assert.is_true(slow.informer:has_synced())
        assert.is_false(slow.handler:has_synced())
        eventually(function() return #slow.seen == 1 end, "the slow handler has its first add")
        may_return = true
        slow:starts_with { "add a=1 initial", "add b=1 initial" }
        assert.is_true(slow.handler:has_synced())
    end)

    for _, way in ipairs { "streamed", "paged" } do
        it("of 1,500 objects is whole, " .. way, function(scene)
            local namespace = cluster:crowd(1500)
            local adds, not_initial = 0, 0
            local informer = scene:informer {
                namespace = namespace,
                page_size = 100,
                streaming_list = way == "streamed",
            }
            local handler = informer:on {
                add = function(_, initial)
                    adds = adds + 1
                    not_initial = not_initial + (initial and 0 or 1)
                end,
            }
            eventually(function() return handler:has_synced() end, "1,500 adds")
            assert.same({ 1500, 0 }, { adds, not_initial })
            local objects = informer:list()
            assert.equal(1500, #objects)
            assert.equal("c-0001", objects[1].name)
            assert.equal("c-1500", objects[1500].name)
            assert.equal("1", objects[750].data.v)
        end)
    end

    if cluster.tells_requests then
        it("takes one request with a streaming list", function(scene)
            local watched = scene:record()
            watched:sees { "synced" }
            scene:create("a")
            watched:sees { "add a=1" }
            local requests = scene:requests()
            assert.equal(1, #requests)
            assert.truthy(requests[1]:find("sendInitialEvents=true", 1, true))
            assert.truthy(requests[1]:find("resourceVersionMatch=NotOlderThan", 1, true))
            assert.truthy(requests[1]:find("allowWatchBookmarks=true", 1, true))
        end)

        it("takes a request a page, then a watch, without streaming", function(scene)
            for i = 1, 5 do
                scene:create("a" .. i)
            end
            scene:record(scene:informer { page_size = 2, streaming_list = false }):forget()
            eventually(function() return #scene:requests() >= 4 end, "three pages and a watch")
            local requests = scene:requests()
            assert.equal(4, #requests)
            for page = 1, 3 do
                assert.truthy(requests[page]:find("limit=2", 1, true))
                assert.equal(page > 1, requests[page]:find("continue=", 1, true) ~= nil)
            end
            assert.truthy(requests[4]:find("watch=", 1, true))
            local watched = scene.recorders[1]
            eventually(function() return watched.handler:has_synced() end, "the handler has synced")
            assert.equal(6, #watched.seen)
            watched:forget()
        end)
    end
end)
