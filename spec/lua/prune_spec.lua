-- Informers that keep a part of each object: what `drop` and `keep` remove is not in the cache, and
-- what lacks it is not written back.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

describe("an informer that drops fields", function()
    local sim, client

    local function pod(name, app)
        return { apiVersion = "v1", kind = "Pod",
            metadata = { name = name, namespace = "web", labels = { app = app },
                annotations = { note = "long", ["example.com/kept"] = "x" } },
            spec = { nodeName = "node-1", containers = {
                { name = "main", image = "shop", env = { { name = "A", value = "1" } } } } } }
    end

    before_each(function()
        sim = assert(Sim.new())
        assert(sim:apply(pod("shop-1", "shop")))
        client = assert(sim:connect())
    end)
    after_each(function()
        client:close()
        sim:close()
    end)

    local function open(options)
        local pods = assert(client:informer(options))
        assert(pods:wait_synced(60))
        return pods
    end

    it("has the rest of them, in the first list and in events", function()
        local pods = open { "pods",
            drop = { "spec.containers[*].env", "metadata.annotations.note" } }
        local seen = {}
        pods:on { add = function(object) seen[object.name] = object:table() end,
            update = function(_, new) seen[new.name] = new:table() end }
        assert(sim:apply(pod("shop-2", "shop")))
        assert(sim:eventually(function() return seen["shop-1"] and seen["shop-2"] end))
        for _, name in ipairs { "shop-1", "shop-2" } do
            assert.same({ ["example.com/kept"] = "x" }, seen[name].metadata.annotations)
            assert.is_nil(seen[name].spec.containers[1].env)
            assert.equal("shop", seen[name].spec.containers[1].image)
            assert.equal("web/" .. name, assert(pods:get("web", name)).key)
        end
        seen["shop-1"] = nil
        assert(sim:apply(pod("shop-1", "other")))
        assert(sim:eventually(function() return seen["shop-1"] end))
        assert.equal("other", seen["shop-1"].metadata.labels.app)
        assert.is_nil(seen["shop-1"].spec.containers[1].env)
    end)

    it("has its paths and the metadata where it keeps some", function()
        local pods = open { "pods", keep = "spec.nodeName", indexes = { node = "spec.nodeName" } }
        local object = assert(pods:get("web/shop-1"))
        assert.same({ nodeName = "node-1" }, object:table().spec)
        assert.is_nil(object.status)
        assert.equal("shop", object.metadata.labels.app)
        assert.equal("Pod", object.kind)
        assert.equal("web/shop-1", pods:by("node", "node-1")[1].key)
    end)

    it("drops of metadata alone as well", function()
        local pods = open { "pods", metadata = true, drop = "metadata.annotations" }
        local object = assert(pods:get("web/shop-1"))
        assert.is_nil(object.metadata.annotations)
        assert.equal("shop", object.metadata.labels.app)
    end)

    it("is shared by those that drop the same, in whatever order", function()
        local before = #sim:requests { verb = "watch" }
        local whole = open { "pods" }
        local one = open { "pods", drop = { "status", "spec.containers" } }
        local other = open { "pods", drop = { "spec.containers", "status", "status" } }
        assert.is_nil(assert(one:get("web/shop-1")).spec.containers)
        assert.is_nil(assert(other:get("web/shop-1")).spec.containers)
        assert.equal("main", assert(whole:get("web/shop-1")).spec.containers[1].name)
        assert(sim:eventually(function()
            return #sim:requests { verb = "watch" } == before + 2
        end))
    end)

    it("refuses to write what lacks fields", function()
        local pods = open { "pods", drop = "spec.containers[*].env" }
        local object = assert(pods:get("web/shop-1"))
        local copy = object:table()
        copy.metadata.labels.app = "new"
        for _, given in ipairs { object, copy } do
            local ok, message = pcall(client.update, client, given)
            assert.is_false(ok)
            assert.is_truthy(message:find("parts of this object were dropped", 1, true), message)
            assert.is_false((pcall(client.apply, client, given)))
            assert.is_false((pcall(client.patch, client, object, given)))
        end
        assert(client:patch(object, { metadata = { labels = { app = "new" } } }))
        local read = assert(client:get("pods", "web/shop-1"))
        assert.equal("new", read.metadata.labels.app)
        assert.equal("A", read.spec.containers[1].env[1].name)
        local whole = read:table()
        whole.metadata.labels.app = "newer"
        assert.equal("newer", assert(client:update(whole)).metadata.labels.app)
    end)

    it("says what cannot be dropped, and which index would be empty for ever", function()
        local function refusal(options)
            local informer, message, code = client:informer(options)
            assert.is_nil(informer)
            assert.equal("invalid_argument", code)
            return message
        end
        assert.equal("drop: metadata.uid cannot be dropped, as the informer and controllers "
            .. "need it", refusal { "pods", drop = { "metadata.uid" } })
        assert.is_truthy(refusal { "pods", drop = "spec.containers[1]" }:find("write [*]", 1, true))
        assert.is_truthy(refusal { "pods", keep = ".spec" }:find("spec", 1, true))
        assert.has_error(function() client:informer { "pods", drop = { a = "spec" } } end)
        assert.has_error(function() client:informer { "pods", drop = { 5 } } end)
        assert.has_error(function() client:informer { "pods", keep = true } end)
        local ok, message = pcall(client.informer, client,
            { "pods", drop = "spec", indexes = { node = "spec.nodeName" } })
        assert.is_false(ok)
        assert.is_truthy(message:find("spec.nodeName is not there: this informer's drop or keep", 1,
            true), message)
    end)

    it("refuses a copy as the patch of a run, with a lock too", function()
        local results
        local controller = assert(kubelua.controller { "pods", name = "patcher", client = client,
            drop = "spec.containers[*].env",
            reconcile = function(object, run)
                local copy = object:table()
                copy.spec.containers[1].image = "other"
                results = { (pcall(run.patch, run, object, copy)),
                    (pcall(run.patch, run, object, copy, { lock = true })) }
            end })
        assert(sim:eventually(function() return results end))
        controller:stop()
        assert.same({ false, false }, results)
        assert.equal("A", assert(client:get("pods", "web/shop-1")).spec.containers[1].env[1].name)
    end)

    it("serves a controller, which writes as before", function()
        local done
        local controller = assert(kubelua.controller { "pods", name = "annotator", client = client,
            drop = "spec.containers[*].env", keep = { "spec" },
            reconcile = function(object, run)
                done = object.spec.containers[1].env == nil and object.status == nil
                return run:patch { metadata = { labels = { seen = "yes" } } }
            end })
        assert(sim:eventually(function()
            local now = client:get("pods", "web/shop-1")
            return now and now.metadata.labels.seen == "yes"
        end))
        assert.is_true(done)
        controller:stop()
        assert.equal("A", assert(client:get("pods", "web/shop-1")).spec.containers[1].env[1].name)
    end)
end)
