-- Informers of several namespaces: a watch each, one cache, one stream of events.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

local function keys(objects)
    local list = {}
    for i, object in ipairs(objects) do
        list[i] = object.key
    end
    return list
end

-- Makes two more namespaces with a ConfigMap each, and an informer of both. The namespaces sort in
-- another order than the keys of the objects.
local function make(scene, options)
    local first, second = scene.namespace, scene:add_namespace("-other")
    local function create(namespace, name, labels)
        scene.admin:create("configmaps", namespace, { metadata = { name = name, labels = labels },
            data = { v = "1" } })
    end
    create(first, "a", { app = "shop", spec = scene.name })
    create(first, "b", { app = "db", spec = scene.name })
    create(second, "c", { app = "shop", spec = scene.name })
    options = options or {}
    options.namespace = options.namespace or { second, first, second }
    options.labels = "spec" -- not the ConfigMap that a real cluster puts into each namespace
    return scene:informer(options), first, second, create
end

conformance.describe("Several namespaces", function(it, cluster)
    it("are one cache", function(scene)
        local informer, first, second, create = make(scene, { indexes = {
            app = "metadata.labels.app",
            value = function(object) return object.data.v end,
        } })
        assert(informer:wait_synced(60))
        assert.is_true(informer:has_synced())
        assert.equal(3, informer:count())
        assert.equal(first .. "/a", informer:get(first .. "/a").key)
        assert.equal(second .. "/c", informer:get(second, "c").key)
        assert.is_nil(informer:get(first, "c"))
        assert.is_nil(informer:get("elsewhere/c"))
        assert.is_nil(informer:get("c"))
        local whole = scene:informer { namespace = "*", labels = "spec=" .. scene.name }
        assert(whole:wait_synced(60))
        assert.same(keys(whole:list()), keys(informer:list()))
        assert.equal(3, #informer:list())
        assert.same({ second .. "/c" }, keys(informer:list { namespace = second }))
        assert.same({ first .. "/b" }, keys(informer:list { labels = "app=db" }))
        assert.same({}, informer:list { namespace = "elsewhere" })
        assert.same(2, #informer:by("app", "shop"))
        assert.same({ "db", "shop" }, informer:values("app"))
        assert.same({ "1" }, informer:values("value"))
        create(second, "d", { app = "new", spec = "x" })
        eventually(function() return informer:get(second, "d") end, "the new one")
        assert.same({ "db", "new", "shop" }, informer:values("app"))
        assert(informer:index("name", "metadata.name"))
        assert.same({ second .. "/d" }, keys(informer:by("name", "d")))
    end)

    it("are one stream of events, synced once", function(scene)
        local informer, first, second, create = make(scene)
        local seen, inside, overlaps = {}, false, 0
        local handler = informer:on {
            add = function(object, initial)
                overlaps = overlaps + (inside and 1 or 0)
                inside = true
                kubelua.sleep(0.01) -- lets other tasks run meanwhile
                inside = false
                seen[#seen + 1] = "add " .. object.name .. (initial and " initial" or "")
            end,
            update = function(_, object)
                seen[#seen + 1] = "update " .. object.name .. "=" .. object.data.v
            end,
            delete = function(object) seen[#seen + 1] = "delete " .. object.name end,
            synced = function()
                table.sort(seen)
                seen[#seen + 1] = "synced"
            end,
        }
        assert.is_false(handler:has_synced())
        eventually(function() return handler:has_synced() end, "every initial object")
        eventually(function() return seen[4] end, "synced")
        assert.same({ "add a initial", "add b initial", "add c initial", "synced" }, seen)
        create(second, "d", { spec = "x" })
        eventually(function() return #seen == 5 end, "the new one")
        scene.admin:update("configmaps", second, "d", function(object) object.data.v = "2" end)
        scene.admin:update("configmaps", second, "d", function(object) object.data.v = "3" end)
        eventually(function() return seen[#seen] == "update d=3" end, "the changes")
        scene:delete("a")
        eventually(function() return seen[#seen] == "delete a" end, "the deletion")
        assert.equal(0, overlaps)
        assert.equal(0, handler:backlog())
        create(first, "e", { spec = "x" })
        handler:remove()
        eventually(function() return informer:get(first, "e") end, "the last one")
        kubelua.step(0)
        assert.equal("delete a", seen[#seen])
    end)

    it("are replayed to a late handler from the cache", function(scene)
        local informer, first, second = make(scene)
        assert(informer:wait_synced(60))
        local seen = {}
        informer:on { add = function(object) seen[#seen + 1] = object.key end,
            synced = function() seen[#seen + 1] = "synced" end }
        eventually(function() return seen[4] end, "synced")
        assert.equal("synced", seen[4])
        table.sort(seen)
        assert.same(keys(informer:list()), { seen[1], seen[2], seen[3] })
        assert.truthy(first and second)
    end)

    it("have a version each, and the least is that of all", function(scene)
        local informer, first, second, create = make(scene)
        assert(informer:wait_synced(60))
        create(second, "d", { spec = "x" })
        eventually(function() return informer:get(second, "d") end, "the new one")
        local version = informer:get(second, "d").resource_version
        assert.is_true(tonumber(informer:resource_version(second)) >= tonumber(version))
        assert.equal(math.min(tonumber(informer:resource_version(first)),
            tonumber(informer:resource_version(second))), tonumber(informer:resource_version()))
        assert.error_matches(function() informer:resource_version("elsewhere") end,
            "'elsewhere' is not a namespace of this informer", 1, true)
    end)

    it("have one status, and one each", function(scene)
        local informer, first, second = make(scene)
        assert(informer:wait_synced(60))
        eventually(function() return informer:status().state == "watching" end, "the watches")
        local status = informer:status()
        assert.equal(3, status.objects)
        assert.equal(2, status.namespaces[first].objects)
        assert.equal(1, status.namespaces[second].objects)
        assert.is_true(status.has_synced)
        assert.is_true(status.lists >= 2)
        assert.equal(0, status.retry_in)
        assert.is_true(status.age >= 0)
        local text = tostring(informer)
        assert.is_truthy(text:find("configmaps in " .. second .. ", " .. first .. " (watching)", 1,
            true), text)
    end)

    it("resume after a disconnect, each from its own version", function(scene)
        local informer, first, second, create = make(scene)
        local errors, seen = {}, {}
        informer:on {
            add = function(object) seen[object.name] = true end,
            error = function(message, code)
                assert.is_string(code)
                errors[message:match("^namespace (%S+): ")] = true
            end,
        }
        assert(informer:wait_synced(60))
        scene:disconnect()
        create(first, "d", { spec = "x" })
        create(second, "e", { spec = "x" })
        eventually(function() return errors[first] and errors[second] end, "both errors")
        assert.is_string(informer:status().error)
        -- Each retry is a watch until it fails.
        eventually(function() return informer:status().state == "backoff" end, "backoff")
        scene:forget_history()
        scene:reconnect()
        eventually(function() return seen.d and seen.e end, "what came meanwhile")
        assert.equal(5, informer:count())
    end)

    it("end together", function(scene)
        local informer, first = make(scene)
        assert(informer:wait_synced(60))
        local handler = informer:on { add = function() end }
        informer:stop()
        informer:stop()
        assert.is_false(handler:has_synced())
        assert.same({ nil, "the informer is stopped", "closed" }, { informer:get(first, "a") })
        assert.equal("stopped", informer:status().state)
        local ok, _, code = informer:wait_synced(1)
        assert.is_nil(ok)
        assert.equal("closed", code)
    end)

    it("can be read after their client was closed", function(scene)
        local client = scene:connect()
        local informer, first = make(scene, { client = client })
        assert(informer:wait_synced(60))
        local handled = 0
        assert(informer:on { add = function() handled = handled + 1 end })
        client:close()
        kubelua.step(0.05)
        assert.equal(0, handled)
        assert.equal("a", informer:get(first, "a").name)
        local handler, _, code = informer:on { add = function() end }
        assert.is_nil(handler)
        assert.equal("closed", code)
    end)

    it("of which one is not there yet are synced, and find it later", function(scene)
        local later = scene.name .. "-later"
        local informer = make(scene, { namespace = { scene.namespace, later } })
        assert(informer:wait_synced(60))
        assert.equal(2, informer:count())
        scene:add_namespace("-later")
        scene.admin:create("configmaps", later, { metadata = { name = "z",
            labels = { spec = "x" } } })
        eventually(function() return informer:get(later, "z") end, "the first of it")
    end)

    it("of metadata alone hold metadata only", function(scene)
        local informer, first = make(scene, { metadata = true })
        assert(informer:wait_synced(60))
        assert.error_matches(function() return informer:get(first, "a").data end,
            "only metadata was asked for")
    end)

    if cluster.tells_requests then
        it("are watched once each, shared with informers of one", function(scene)
            local informer, first, second = make(scene)
            assert(informer:wait_synced(60))
            local one = scene:informer { namespace = first, labels = "spec" }
            local both = scene:informer { namespace = { first, second }, labels = "spec" }
            assert(one:wait_synced(60))
            assert(both:wait_synced(60))
            local watches = 0
            for _, request in ipairs(cluster:requests()) do
                if request.target:find("/configmaps?", 1, true)
                    and request.target:find("watch=true", 1, true)
                    and request.target:find(scene.name, 1, true) then
                    watches = watches + 1
                end
            end
            assert.equal(2, watches)
            informer:stop()
            assert.equal(3, both:count())
        end)
    end
end)
