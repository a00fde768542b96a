-- Informers that ask for metadata alone: the events that handlers get, and that the server sends no
-- more than metadata.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

local function synced(scene, options)
    options.metadata = true
    local informer = scene:informer(options)
    assert(informer:wait_synced(60))
    return informer
end

-- Both ways to get a first list.
for _, streaming in ipairs { true, false } do
    local how = streaming and "streamed" or "listed"

    conformance.describe("Metadata alone, " .. how, function(it)
        it("keeps the kind, the labels and nothing else", function(scene)
            scene:create("a", "1", { app = "shop" })
            local informer = synced(scene, { streaming_list = streaming })
            local a = assert(informer:get(scene.namespace, "a"))
            assert.equal("ConfigMap " .. a.key, tostring(a))
            assert.equal("ConfigMap", a.kind)
            assert.equal("v1", a.apiVersion)
            assert.equal("shop", a.metadata.labels.app)
            assert.is_string(a.uid)
            assert.is_nil(a.metadata.managedFields)
            local fields = {}
            for name in kubelua.pairs(a) do
                fields[name] = true
            end
            assert.same({ apiVersion = true, kind = true, metadata = true }, fields)
            assert.is_nil(a:json():find("PartialObjectMetadata", 1, true))
        end)

        it("gets an update for every change, also of fields that are not sent", function(scene)
            scene:create("a", "1")
            local informer = scene:informer { metadata = true, streaming_list = streaming }
            local seen = {}
            informer:on {
                add = function(object, initial)
                    seen[#seen + 1] = "add " .. object.name .. (initial and " initial" or "")
                end,
                update = function(old, new)
                    assert.are_not.equal(old.resource_version, new.resource_version)
                    seen[#seen + 1] = "update " .. new.name
                end,
                delete = function(object) seen[#seen + 1] = "delete " .. tostring(object) end,
                synced = function() seen[#seen + 1] = "synced" end,
            }
            assert(informer:wait_synced(60))
            scene:create("b", "1")
            scene:update("b", "2")
            scene:delete("b")
            eventually(function() return #seen == 5 end, "every change")
            assert.same({ "add a initial", "synced", "add b", "update b",
                "delete ConfigMap " .. scene.namespace .. "/b" }, seen)
        end)

        it("resumes after the server was away, and lists again after a 410", function(scene)
            scene:create("a", "1")
            local informer = synced(scene, { streaming_list = streaming })
            scene:disconnect()
            scene:create("b", "1")
            scene:reconnect()
            eventually(function() return informer:get(scene.namespace, "b") end, "the watch")
            scene:disconnect()
            scene:delete("a")
            scene:create("c", "1")
            scene:forget_history()
            scene:reconnect()
            eventually(function() return informer:get(scene.namespace, "c") end, "the relist")
            assert.is_nil(informer:get(scene.namespace, "a"))
            assert.equal("ConfigMap", informer:get(scene.namespace, "c").kind)
        end)
    end)
end

conformance.describe("Metadata alone", function(it)
    it("raises when a script reads spec or data", function(scene)
        scene:create("a", "1")
        local a = assert(synced(scene, {}):get(scene.namespace, "a"))
        local function refuses(f, field)
            assert.error_matches(f, "ConfigMap " .. a.key .. ": only metadata was asked for "
                .. "(metadata = true), so '" .. field .. "' is not there", 1, true)
        end
        refuses(function() return a.data end, "data")
        refuses(function() return a.spec.nodeName end, "spec")
        refuses(function() return a:get("status.phase") end, "status.phase")
        refuses(function() return kubelua.get(a, "[*]") end, "[*]")
        refuses(function() return kubelua.condition(a, "Ready") end, "status")
        assert.is_nil(a.metadata.labels)
        assert.is_nil(a:get("metadata.labels.app"))
        assert.is_nil(kubelua.get(a.metadata, "spec"))
    end)

    it("cannot be written back, but says which object is meant", function(scene)
        scene:create("a", "1")
        local client = scene:connect()
        local informer = scene:informer { client = client, metadata = true }
        assert(informer:wait_synced(60))
        local a = assert(informer:get(scene.namespace, "a"))
        for _, verb in ipairs { "create", "update", "apply" } do
            assert.error_matches(function() client[verb](client, a) end,
                verb .. ": of " .. tostring(a) .. " only metadata was asked for", 1, true)
        end
        assert.equal("1", assert(client:get(a)).data.v)
        assert.equal("y", assert(client:patch(a,
            { metadata = { labels = { x = "y" } } })).metadata.labels.x)
        assert(client:delete(a))
        eventually(function() return not informer:get(a.key) end, "it is gone")
    end)

    it("has indexes of metadata, and no others", function(scene)
        scene:create("a", "1", { app = "shop" })
        local informer = synced(scene, { indexes = {
            app = "metadata.labels.app",
            named = function(object) return object.name end,
        } })
        assert.equal("a", informer:by("app", "shop")[1].name)
        assert.equal("a", informer:by("named", "a")[1].name)
        assert.error_matches(function() informer:index("v", "data.v") end,
            "index 'v': data.v is not there, as this informer asked for metadata alone", 1, true)
        assert.error_matches(function()
            scene:informer { metadata = true, indexes = { v = "data.v" } }
        end, "metadata alone", 1, true)
    end)

    it("is another watch than that of whole objects", function(scene)
        scene:create("a", "1")
        local whole = scene:informer()
        local part = synced(scene, {})
        assert(whole:wait_synced(60))
        assert.equal("1", whole:get(scene.namespace, "a").data.v)
        assert.is_nil(part:get(scene.namespace, "a"):table().data)
    end)

    it("keeps managed fields on demand", function(scene)
        scene:create("a", "1")
        local informer = synced(scene, { managed_fields = true })
        assert.is_true(#informer:get(scene.namespace, "a").metadata.managedFields > 0)
    end)

    it("selects by labels", function(scene)
        scene:create("a", "1", { app = "shop" })
        scene:create("b", "1")
        local informer = synced(scene, { labels = "app=shop" })
        assert.equal(1, informer:count())
        scene:update("b", "2", { app = "shop" })
        eventually(function() return informer:get(scene.namespace, "b") end, "what was labelled")
        scene:update("a", "2", {})
        eventually(function() return not informer:get(scene.namespace, "a") end, "what was not")
    end)

    it("works for custom resources", function(scene)
        local group = scene.name .. ".example.com"
        scene.admin:define("widgets", "Widget", group)
        scene.admin:create("widgets", scene.namespace, {
            metadata = { name = "a" }, spec = { v = 1 },
        })
        local informer = synced(scene, { "widgets." .. group })
        assert.equal("Widget " .. scene.namespace .. "/a",
            tostring(informer:get(scene.namespace, "a")))
        assert.equal(group .. "/v1", informer:get(scene.namespace, "a").apiVersion)
    end)
end)
