-- What an object is called can be read without parsing it.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local function pod()
    return assert(core.object([[{
        "metadata": {"name": "shop-1", "namespace": "web", "uid": "u-1", "resourceVersion": "42",
            "labels": {"app": "shop", "app.kubernetes.io/name": "x"}},
        "kind": "Pod", "apiVersion": "v1", "spec": {"nodeName": "n1"}}]]))
end

describe("an object that was not parsed", function()
    it("has names and versions without being parsed", function()
        collectgarbage()
        collectgarbage()
        local before = core.live().documents
        local object = pod()
        local metadata = object.metadata
        assert.same({ "shop-1", "web", "u-1", "42" },
            { metadata.name, metadata.namespace, metadata.uid, metadata.resourceVersion })
        assert.same({ "shop-1", "web", "u-1", "42" },
            { object:get("metadata.name"), object:get("metadata.namespace"),
                object:get("metadata.uid"), object:get("metadata.resourceVersion") })
        assert.equal(before, core.live().documents)
        -- Other fields are read in the text, until it is parsed for something larger.
        assert.equal("shop", metadata.labels.app)
        assert.equal(before, core.live().documents)
        assert.truthy(kubelua.json(metadata))
        assert.equal(before + 1, core.live().documents)
        assert.equal("shop-1", metadata.name)
        assert.is_true(metadata == object.metadata)
        assert.same(kubelua.table(object.metadata), kubelua.table(metadata))
    end)

    it("has its metadata as it is written", function()
        local object = assert(core.object(
            [[{"metadata": {"name": "n\u0031", "namespace": "", "uid": null}}]]))
        local metadata = object.metadata
        assert.equal("n1", metadata.name)
        assert.equal("n1", object:get("metadata.name"))
        assert.equal("", metadata.namespace)
        assert.is_nil(metadata.uid)
        assert.is_nil(metadata.resourceVersion)
        assert.is_nil(metadata[1])
    end)

    it("is parsed by any other use of its metadata", function()
        local function first_of(read)
            return read(pod().metadata) -- no other read has parsed it
        end
        assert.equal(4, first_of(function(view)
            local count = 0
            for key in kubelua.pairs(view) do
                count = count + (key:find("^%l%a*$") and key ~= "labels" and 1 or 0)
            end
            return count
        end))
        assert.equal(0, first_of(function(view) return #view end))
        assert.equal("x", first_of(function(view)
            return kubelua.get(view, 'labels["app.kubernetes.io/name"]')
        end))
        assert.equal("shop-1", first_of(kubelua.table).name)
        assert.truthy(first_of(kubelua.json):find('"name":"shop-1"', 1, true))
        assert.equal("part of Pod web/shop-1", first_of(tostring))
        assert.is_false(pod().metadata == pod().metadata)
        assert.error_matches(function() pod().metadata.name = "other" end, "read%-only")
    end)
end)
