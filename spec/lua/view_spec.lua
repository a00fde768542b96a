-- Objects as scripts see them: read-only, parsed when first read, and the same in every Lua.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local POD = [[{
    "metadata": {"name": "shop-1", "namespace": "web", "uid": "u-1", "resourceVersion": "42",
        "labels": {"app": "shop", "app.kubernetes.io/name": "x"},
        "managedFields": [{"manager": "kubectl"}]},
    "kind": "Pod", "apiVersion": "v1",
    "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "i:1"}, {"name": "b"}],
        "empty": [], "none": null, "object": {}, "flag": false,
        "big": 9007199254740993, "huge": 18446744073709551615,
        "vast": 123456789012345678901234567890,
        "real": 1.5, "text": "Grüße \u0000 \ud83d\ude00"}
}]]

local function pod()
    return assert(core.object(POD))
end

describe("an object", function()
    it("has its identity as shorthands", function()
        local object = pod()
        assert.equal("shop-1", object.name)
        assert.equal("web", object.namespace)
        assert.equal("web/shop-1", object.key)
        assert.equal("u-1", object.uid)
        assert.equal("42", object.resource_version)
        assert.equal("Pod", object.kind)
        assert.equal("v1", object.apiVersion)
        assert.equal("Pod web/shop-1", tostring(object))
    end)

    it("has no namespace when it is cluster-scoped", function()
        local text = '{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}'
        local node = assert(core.object(text))
        assert.is_nil(node.namespace)
        assert.equal("n1", node.key)
    end)

    it("reads fields like a table, arrays from one", function()
        local object = pod()
        assert.equal("shop", object.metadata.labels.app)
        assert.equal("i:1", object.spec.containers[1].image)
        assert.equal(2, #object.spec.containers)
        assert.is_nil(object.spec.containers[3])
        assert.is_nil(object.spec.containers[0])
        assert.is_nil(object.spec.containers[1.5])
        assert.is_false(object.spec.flag)
        assert.equal(1.5, object.spec.real)
        assert.equal("Grüße \0 \240\159\152\128", object.spec.text)
    end)

    it("reads null and what is absent as nil, and raises further down", function()
        local object = pod()
        assert.is_nil(object.spec.none)
        assert.is_nil(object.status)
        assert.has_error(function()
            return object.status.phase
        end)
    end)

    it("has nil-safe paths", function()
        local object = pod()
        assert.equal("n1", object:get("spec.nodeName"))
        assert.equal("i:1", object:get("spec.containers[1].image"))
        assert.equal("x", object:get('metadata.labels["app.kubernetes.io/name"]'))
        assert.is_nil(object:get("status.phase"))
        assert.is_nil(object:get("spec.none"))
        assert.equal("i:1", kubelua.get(object.spec, "containers[1].image"))
    end)

    it("does not cut a name at a NUL byte", function()
        local object = pod()
        assert.is_nil(object["name\0"])
        assert.is_nil(object.metadata["name\0"])
        assert.has_error(function() object:get("metadata.name\0") end)
    end)

    it("raises on a path that does not parse", function()
        assert.has_error(function()
            return pod():get("spec..x[")
        end)
    end)

    it("does not hold managedFields", function()
        local object = pod()
        assert.is_nil(object.metadata.managedFields)
        assert.is_nil(object:json():find("managedFields", 1, true))
    end)

    it("cannot be assigned to, and says so", function()
        local object = pod()
        local function assign()
            object.spec = 1
        end
        local function assign_inside()
            object.metadata.labels.app = "other"
        end
        assert.error_matches(assign, "read%-only")
        assert.error_matches(assign_inside, "read%-only")
    end)

    it("equals itself through any path", function()
        local object = pod()
        assert.is_true(object.metadata.labels == object.metadata.labels)
        assert.is_false(object.metadata.labels == object.metadata)
    end)

    it("never rounds an integer silently", function()
        local object = pod()
        assert.equal("9007199254740993", tostring(object.spec.big))
        assert.equal("18446744073709551615", tostring(object.spec.huge))
        assert.equal("123456789012345678901234567890", tostring(object.spec.vast))
    end)
end)

describe("going through a view", function()
    it("visits every member but nulls", function()
        local seen = {}
        for key, value in kubelua.pairs(pod().metadata.labels) do
            seen[key] = value
        end
        assert.same({ app = "shop", ["app.kubernetes.io/name"] = "x" }, seen)
        local keys = {}
        for key in kubelua.pairs(pod().spec) do
            keys[key] = true
        end
        assert.is_nil(keys.none)
        assert.is_true(keys.empty)
    end)

    it("visits an array in order", function()
        local names = {}
        for i, container in kubelua.ipairs(pod().spec.containers) do
            names[i] = container.name
        end
        assert.same({ "a", "b" }, names)
        for i, container in kubelua.pairs(pod().spec.containers) do
            assert.equal(names[i], container.name)
        end
    end)

    it("visits plain tables too, and raises for other values", function()
        local seen = {}
        for key, value in kubelua.pairs { a = 1 } do
            seen[key] = value
        end
        for i, value in kubelua.ipairs { "x", "y" } do
            seen[i] = value
        end
        assert.same({ a = 1, "x", "y" }, seen)
        assert.error_matches(function() kubelua.ipairs(nil) end, "ipairs.*not a nil")
        assert.error_matches(function() kubelua.pairs("x") end, "pairs.*not a string")
    end)

    it("survives a collection in the middle", function()
        local count = 0
        for _ in kubelua.pairs(pod().spec) do
            collectgarbage()
            count = count + 1
        end
        assert.equal(10, count)
    end)
end)

describe("a copy", function()
    it("is a table that can be changed without changing the object", function()
        local object = pod()
        local copy = object:table()
        copy.spec.nodeName = "n2"
        assert.equal("n1", object.spec.nodeName)
        assert.equal("table", type(copy.spec.containers))
        assert.equal(kubelua.null, copy.spec.none)
    end)

    it("is the same JSON when it is written back", function()
        local object = pod()
        local again = assert(core.object(kubelua.json(object:table())))
        for key, value in kubelua.pairs(object.spec) do
            local other = again.spec[key]
            if type(value) == "userdata" then
                assert.equal(#kubelua.json(value), #kubelua.json(other))
            else
                assert.equal(value, other)
            end
        end
        assert.equal("[]", kubelua.json(again.spec.empty))
        assert.equal("{}", kubelua.json(again.spec.object))
        assert.truthy(again:json():find('"none":null', 1, true))
        assert.truthy(again:json():find('"vast":123456789012345678901234567890', 1, true))
        assert.truthy(again:json():find('"big":9007199254740993', 1, true))
    end)

    it("of a part has only that part", function()
        assert.same({ app = "shop", ["app.kubernetes.io/name"] = "x" },
            kubelua.table(pod().metadata.labels))
    end)
end)

describe("writing JSON", function()
    it("writes Lua values as JSON", function()
        assert.equal('{"a":[1,"x",true,null]}', kubelua.json { a = { 1, "x", true, kubelua.null } })
        assert.equal("{}", kubelua.json {})
        assert.equal("[]", kubelua.json(kubelua.array {}))
        assert.equal("3", kubelua.json(3.0))
        assert.equal("0.5", kubelua.json(0.5))
    end)

    it("raises for values without JSON form", function()
        assert.has_error(function() kubelua.json { 1, nil, 3 } end)
        assert.has_error(function() kubelua.json { 1, x = 2 } end)
        assert.has_error(function() kubelua.json(0 / 0) end)
        assert.has_error(function() kubelua.json(print) end)
        assert.has_error(function() kubelua.json { [true] = 1 } end)
        assert.has_error(function() kubelua.json "\255" end)
        local loop = {}
        loop.loop = loop
        assert.has_error(function() kubelua.json(loop) end)
    end)

    it("takes views and objects inside of tables", function()
        assert.equal('{"labels":{"app":"shop","app.kubernetes.io/name":"x"}}',
            kubelua.json { labels = pod().metadata.labels })
    end)

    it("has the null of lua-cjson", function()
        local found, cjson = pcall(require, "cjson")
        if found then
            assert.equal(cjson.null, kubelua.null)
        end
    end)
end)

describe("text that is no object", function()
    it("is refused with a message and a code", function()
        for _, text in ipairs { "", "{", "[]", "null", '{"metadata":{}}', '{"metadata":{"name":1}}',
            '{"metadata":{"name":"a"}} x', '{"metadata":{"name":"\255"}}',
            string.rep("[", 100000) } do
            local object, message, code = core.object(text)
            assert.is_nil(object)
            assert.equal("string", type(message))
            assert.equal("parse", code)
        end
    end)
end)
