-- Copies of views and tables: object:table and kubelua.table.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

describe("a copy", function()
    local cluster, object

    setup(function()
        cluster = assert(Sim.new())
        assert(cluster:apply [[
            apiVersion: apiextensions.k8s.io/v1
            kind: CustomResourceDefinition
            metadata: { name: things.example.com }
            spec:
              group: example.com
              scope: Namespaced
              names: { plural: things, kind: Thing }
              versions:
              - name: v1
                served: true
                storage: true
                schema: { openAPIV3Schema: { type: object, properties: { spec: {
                  type: object, x-kubernetes-preserve-unknown-fields: true } } } }]])
        object = assert(cluster:create(kubelua.decode [[{"apiVersion":"example.com/v1",
            "kind":"Thing", "metadata":{"name":"a","namespace":"default"},
            "spec":{"none":null,"list":[1,null,2,{"x":null,"y":1}],
                "empty":[],"map":{},"nulls":[null,null]}}]]))
    end)

    teardown(function() cluster:close() end)

    it("of an object or of a part of one may be changed, and has its nulls", function()
        for _, copied in ipairs { object:table().spec, kubelua.table(object).spec,
            kubelua.table(object.spec) } do
            assert.equal(kubelua.null, copied.none)
            assert.equal(kubelua.null, copied.list[2])
            copied.list[1] = 7
            assert.equal(7, copied.list[1])
        end
        assert.equal(1, object.spec.list[1])
        assert.equal(kubelua.hash(object), kubelua.hash(object:table()))
    end)

    it("with nulls = false leaves nulls out, and keeps empty arrays", function()
        for _, copied in ipairs { object:table { nulls = false }.spec,
            kubelua.table(object, { nulls = false }).spec,
            kubelua.table(object.spec, { nulls = false }),
            kubelua.table(object:table().spec, { nulls = false }) } do
            assert.equal(kubelua.hash(kubelua.decode [[{"empty":[],"list":[1,2,{"y":1}],"map":{},
                "nulls":[]}]]), kubelua.hash(copied))
            assert.is_nil(copied.none)
        end
        assert.equal(kubelua.hash(object), kubelua.hash(object:table { nulls = true }))
    end)

    it("of a plain table is a copy of all of it, views and marks included", function()
        local inner = { 1, 2 }
        local plain = { inner = inner, again = inner, empty = kubelua.array {}, null = kubelua.null,
            part = object.spec.list, n = 5 }
        local copied = kubelua.table(plain)
        assert.same({ 1, 2 }, copied.inner)
        assert.are_not.equal(inner, copied.inner)
        assert.equal(copied.inner, copied.again)
        assert.equal("[]", kubelua.json(copied.empty))
        assert.equal(kubelua.null, copied.null)
        assert.equal("table", type(copied.part))
        copied.inner[1] = 9
        assert.equal(1, inner[1])
        plain.itself = plain
        copied = kubelua.table(plain)
        assert.equal(copied, copied.itself)
    end)

    it("of a very deep table does not overflow the stack", function()
        local deep = {}
        local at = deep
        for _ = 1, 20000 do
            at.a = {}
            at = at.a
        end
        at.a = kubelua.null
        local copied, depth = kubelua.table(deep, { nulls = false }), 0
        while copied.a do
            copied, depth = copied.a, depth + 1
        end
        assert.equal(20000, depth)
    end)

    it("of what is neither, or with a wrong option, is a misuse at the script's line", function()
        local ok, problem = pcall(function() kubelua.table("text") end)
        assert.is_false(ok)
        assert.matches("copy_spec.lua:%d+: kubelua.table: an object, a part of one, or a table "
            .. "expected, not a string", problem)
        ok, problem = pcall(function() object:table { null = false } end)
        assert.is_false(ok)
        assert.matches("copy_spec.lua:%d+: table: there is no option 'null'; do you mean 'nulls'",
            problem)
        assert.is_false(pcall(object.table))
    end)
end)

describe("what docs/LUA.md says that a view cannot do", function()
    it("is so", function()
        local cluster = assert(Sim.new())
        local map = assert(cluster:create { apiVersion = "v1", kind = "ConfigMap", metadata = {
            name = "a", namespace = "default", finalizers = { "b/b", "a/a" } },
            data = { x = "1" } })
        local list = map.metadata.finalizers
        assert.equal("userdata", type(map))
        assert.equal("userdata", type(list))
        for _, call in ipairs {
            function() next(map.data) end, function() rawget(map.data, "x") end,
            function() setmetatable(map, {}) end, function() table.sort(list) end,
            function() table.insert(list, "c/c") end, function() table.remove(list) end,
            function() map.data.x = "2" end, function() return "" .. map.data end,
            function() require("cjson").encode(map) end } do
            assert.is_false(pcall(call))
        end
        assert.equal("function", type(map.table))
        assert.is_nil(map:get("table"))
        cluster:close()
    end)
end)
