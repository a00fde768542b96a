-- get reads the values at several paths at once.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local POD = [[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","uid":"u-1",
    "labels":{"app":"shop"}},"spec":{"nodeName":"n1","none":null,"large":9223372036854775807,
    "containers":[{"name":"x","image":"i:1"},{"name":"y","image":"i:2"}]},
    "status":{"phase":"Running","ready":false}}]]

local PATHS = { "status.phase", "metadata.name", "spec.nodeName", "status.none.deeper", "spec.none",
    "spec.containers[2].image", "metadata.labels.app", "spec.containers[*].name", "status.ready",
    "metadata.resourceVersion", "metadata.namespace", "spec.large", "kind", "spec.nodeName" }

local unpack = table.unpack or unpack -- luacheck: ignore 143 113

local function pod()
    return assert(core.object(POD))
end

-- The values at the paths, each read alone.
local function read_one_by_one(object, paths)
    local values = { n = #paths }
    for i, path in ipairs(paths) do
        values[i] = object:get(path)
    end
    return values
end

local function pack(...)
    return { n = select("#", ...), ... }
end

describe("get with several paths", function()
    it("returns a value for each path, in their order, and nil for what is missing", function()
        assert.same({ n = 4, "n1", "a", nil, "Running" },
            pack(pod():get("spec.nodeName", "metadata.name", "spec.none.deeper", "status.phase")))
        assert.same({ n = 2, "shop" }, pack(kubelua.get(pod().metadata, "labels.app", "none")))
        assert.same({ n = 2 }, pack(pod():get("spec.none", "spec.never")))
    end)

    it("finds what each of them finds alone, in the text and in the tree", function()
        local object = pod()
        local alone = read_one_by_one(pod(), PATHS)
        assert.same(alone, pack(object:get(unpack(PATHS))))
        assert.truthy(kubelua.json(object.metadata)) -- parses it
        assert.same(alone, pack(object:get(unpack(PATHS))))
    end)

    it("returns the parts that single reads return", function()
        local object = pod()
        local spec, container, again = object:get("spec", "spec.containers[1]", "spec")
        assert.is_true(spec == object.spec and again == spec)
        assert.is_true(container == object.spec.containers[1])
        assert.equal("i:1", container.image)
    end)

    it("needs no text for names and versions", function()
        collectgarbage()
        local before = core.live().documents
        assert.same({ "a", "web", "u-1" },
            { pod():get("metadata.name", "metadata.namespace", "metadata.uid") })
        assert.equal(before, core.live().documents)
    end)

    it("takes 64, and says so", function()
        local paths = {}
        for i = 1, 64 do
            paths[i] = "spec.containers[" .. i .. "].image"
        end
        local values = pack(pod():get(unpack(paths)))
        assert.same({ n = 64, "i:1", "i:2" }, values)
        paths[65] = "kind"
        assert.error_matches(function() pod():get(unpack(paths)) end, "get: 65 paths; at most 64")
    end)

    it("raises for any path that is none", function()
        assert.error_matches(function() pod():get("kind", "a[") end, "a%[")
        assert.error_matches(function() pod():get("kind", "spec", 3) end, "string expected")
        assert.error_matches(function() pod():get("kind", nil) end, "string expected")
    end)
end)
