-- Queries of an informer's cache: keys, filters and indexes, which follow every change.
local conformance = require "conformance"
local eventually = require "eventually"

local function names(objects)
    local list = {}
    for i, object in ipairs(objects) do
        list[i] = object.name
    end
    return list
end

local function create_pod(scene, name, node, images, labels, annotations)
    local containers = {}
    for i, image in ipairs(images) do
        containers[i] = { name = "c" .. i, image = image }
    end
    return scene.admin:create("pods", scene.namespace, {
        metadata = { name = name, labels = labels, annotations = annotations },
        spec = { nodeName = node, containers = containers },
    })
end

-- Three pods on two nodes, and their informer, synced.
local function create_shop(scene, options)
    create_pod(scene, "db-0", "n1", { "postgres:17" }, { app = "db" },
        { ["example.com/team"] = "data" })
    create_pod(scene, "shop-1", "n1", { "shop:1.4", "envoy:1.31" }, { app = "shop" },
        { ["example.com/team"] = "web" })
    create_pod(scene, "shop-2", "n2", { "shop:1.4" }, { app = "shop", canary = "yes" })
    local merged = { "pods" }
    for name, option in pairs(options or {}) do
        merged[name] = option
    end
    local informer = scene:informer(merged)
    assert.is_true(informer:wait_synced(60))
    return informer
end

-- Waits until an informer has seen the last change.
local function until_seen(scene, informer)
    create_pod(scene, "zz-last", "n9", { "pause" })
    eventually(function()
        return informer:get(scene.namespace .. "/zz-last")
    end, "the last change is cached")
end

conformance.describe("A query", function(it)
    it("for all lists by key", function(scene)
        local informer = create_shop(scene)
        assert.same({ "db-0", "shop-1", "shop-2" }, names(informer:list()))
        assert.equal(3, informer:count())
    end)

    it("by labels filters as the server would", function(scene)
        local informer = create_shop(scene)
        for selector, expected in pairs {
            ["app=shop"] = { "shop-1", "shop-2" },
            ["app!=shop"] = { "db-0" },
            ["app in (db,shop),!canary"] = { "db-0", "shop-1" },
            ["canary"] = { "shop-2" },
            ["app notin (db)"] = { "shop-1", "shop-2" },
            [""] = { "db-0", "shop-1", "shop-2" },
        } do
            assert.same(expected, names(informer:list { labels = selector }), selector)
        end
    end)

    it("with labels that do not parse says so", function(scene)
        local informer = create_shop(scene)
        local list, message, code = informer:list { labels = "app in (" }
        assert.is_nil(list)
        assert.is_string(message)
        assert.equal("invalid_argument", code)
    end)

    it("by namespace leaves out the others", function(scene)
        local elsewhere = scene:add_namespace("-elsewhere")
        local labels = { spec = scene.name }
        scene:create("a", "1", labels)
        scene.admin:create("configmaps", elsewhere, { metadata = { name = "b", labels = labels } })
        local informer = scene:informer { namespace = "*", labels = "spec=" .. scene.name }
        assert.is_true(informer:wait_synced(60))
        assert.same({ "a" }, names(informer:list { namespace = scene.namespace }))
        assert.same({ "b" }, names(informer:list { namespace = elsewhere }))
        assert.equal(2, #informer:list { namespace = "*" })
        assert.same({}, names(informer:list { namespace = "none" }))
    end)

    it("of an index by path answers by value", function(scene)
        local informer = create_shop(scene, { indexes = { node = "spec.nodeName" } })
        assert.same({ "db-0", "shop-1" }, names(informer:by("node", "n1")))
        assert.same({ "shop-2" }, names(informer:by("node", "n2")))
        assert.same({}, informer:by("node", "n3"))
        assert.same({ "n1", "n2" }, informer:values("node"))
    end)

    it("of an index by path with [*] answers by every element", function(scene)
        local informer = create_shop(scene, { indexes = { image = "spec.containers[*].image" } })
        assert.same({ "shop-1", "shop-2" }, names(informer:by("image", "shop:1.4")))
        assert.same({ "shop-1" }, names(informer:by("image", "envoy:1.31")))
        assert.same({ "envoy:1.31", "postgres:17", "shop:1.4" }, informer:values("image"))
    end)

    it("of an index by a key with dots and slashes answers", function(scene)
        local informer = create_shop(scene, {
            indexes = { team = 'metadata.annotations["example.com/team"]' },
        })
        assert.same({ "db-0" }, names(informer:by("team", "data")))
        assert.same({ "data", "web" }, informer:values("team"))
    end)

    it("of an index by function answers by what it returns", function(scene)
        local informer = create_shop(scene, {
            indexes = {
                first = function(pod) return pod.spec.containers[1].image end,
                both = function(pod) return { pod.name, pod.spec.nodeName } end,
                none = function() return nil end,
            },
        })
        assert.same({ "shop-1", "shop-2" }, names(informer:by("first", "shop:1.4")))
        assert.same({ "db-0", "shop-1" }, names(informer:by("both", "n1")))
        assert.same({ "db-0" }, names(informer:by("both", "db-0")))
        assert.same({}, informer:values("none"))
    end)

    it("of an index follows creations, changes and deletions", function(scene)
        local informer = create_shop(scene, {
            indexes = {
                app = "metadata.labels.app",
                fapp = function(pod) return pod:get("metadata.labels.app") end,
            },
        })
        scene.admin:update("pods", scene.namespace, "shop-1", function(pod)
            pod.metadata.labels.app = "db"
        end)
        scene.admin:delete("pods", scene.namespace, "shop-2")
        create_pod(scene, "cache-0", "n1", { "redis" }, { app = "cache" })
        until_seen(scene, informer)
        for _, index in ipairs { "app", "fapp" } do
            assert.same({}, names(informer:by(index, "shop")))
            assert.same({ "db-0", "shop-1" }, names(informer:by(index, "db")))
            assert.same({ "cache-0" }, names(informer:by(index, "cache")))
            assert.same({ "cache", "db" }, informer:values(index))
        end
    end)

    it("of an index that is added later finds what was there before", function(scene)
        local informer = create_shop(scene)
        assert.is_true(informer:index("node", "spec.nodeName"))
        assert.is_true(informer:index("fnode", function(pod) return pod.spec.nodeName end))
        assert.same({ "db-0", "shop-1" }, names(informer:by("node", "n1")))
        assert.same({ "db-0", "shop-1" }, names(informer:by("fnode", "n1")))
        create_pod(scene, "new", "n1", { "pause" })
        until_seen(scene, informer)
        assert.same({ "db-0", "new", "shop-1" }, names(informer:by("node", "n1")))
        assert.same({ "db-0", "new", "shop-1" }, names(informer:by("fnode", "n1")))
    end)

    it("of an index follows what a relist finds", function(scene)
        local informer = create_shop(scene, {
            indexes = {
                node = "spec.nodeName",
                fnode = function(pod) return pod.spec.nodeName end,
            },
        })
        scene:disconnect()
        scene.admin:delete("pods", scene.namespace, "shop-1")
        scene.admin:delete("pods", scene.namespace, "shop-2")
        create_pod(scene, "shop-2", "n1", { "shop:1.5" }, { app = "shop" })
        create_pod(scene, "new", "n3", { "pause" })
        scene:forget_history()
        scene:reconnect()
        eventually(function() return informer:get(scene.namespace .. "/new") end, "the relist")
        eventually(function() return #informer:by("fnode", "n3") == 1 end, "the function")
        for _, index in ipairs { "node", "fnode" } do
            assert.same({ "db-0", "shop-2" }, names(informer:by(index, "n1")))
            assert.same({}, names(informer:by(index, "n2")))
            assert.same({ "n1", "n3" }, informer:values(index))
        end
    end)

    it("of an index that there is not names those that there are", function(scene)
        local informer = create_shop(scene, { indexes = { node = "spec.nodeName" } })
        assert.error_matches(function() informer:by("nodes", "n1") end, "there are node", 1, true)
    end)

    it("inside of a handler sees the change of that handler's event", function(scene)
        local informer = create_shop(scene, { indexes = { node = "spec.nodeName" } })
        local found
        informer:on {
            add = function(pod, initial)
                if not initial then
                    found = names(informer:by("node", pod.spec.nodeName))
                end
            end,
        }
        create_pod(scene, "new", "n7", { "pause" })
        eventually(function() return found end, "the add")
        assert.same({ "new" }, found)
    end)
end)
