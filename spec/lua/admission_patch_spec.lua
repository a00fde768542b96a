-- The JSON patch of a mutating webhook: it leads to what the function left, as the simulated API
-- server applies it, and has nothing else in it.
local kubelua = require "kubelua"
local patch = require "kubelua.admission.patch"
local Sim = require "kubelua.sim"

local CRD = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bags.spec.kubelua.dev}
spec:
  group: spec.kubelua.dev
  scope: Namespaced
  names: {plural: bags, kind: Bag}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
]]

local function diff(before, after)
    return kubelua.json(patch.diff(kubelua.decode(before), kubelua.decode(after)))
end

-- The same as tables, since the order of an operation's members is none.
local function operations(before, after)
    return patch.diff(kubelua.decode(before), kubelua.decode(after))
end

local KEYS = { "a", "b/c", "~d", "", "e", "ü", "~1", "0" }

-- A random value: few different scalars, so that arrays have equal elements.
local function random_value(depth)
    local dice = math.random(depth > 0 and 9 or 5)
    if dice <= 2 then
        return math.random(3)
    elseif dice <= 4 then
        return ({ "x", "", "y" })[math.random(3)]
    elseif dice == 5 then
        return math.random(2) == 1
    elseif dice <= 7 then
        local array = kubelua.array({})
        for i = 1, math.random(0, 6) do
            array[i] = random_value(depth - 1)
        end
        return array
    end
    local object = {}
    for _ = 1, math.random(0, 5) do
        object[KEYS[math.random(#KEYS)]] = random_value(depth - 1)
    end
    return object
end

-- Changes a part of a value: what a script does.
local function change(value)
    if type(value) ~= "table" or math.random(8) == 1 then
        return random_value(2)
    end
    local keys = {}
    for key in pairs(value) do
        keys[#keys + 1] = key
    end
    local is_array = kubelua.json(value):sub(1, 1) == "["
    if is_array and math.random(2) == 1 then
        table.insert(value, math.random(#value + 1), random_value(1))
    elseif is_array and #value > 0 and math.random(2) == 1 then
        table.remove(value, math.random(#value))
    elseif #keys > 0 then
        local key = keys[math.random(#keys)]
        value[key] = change(value[key])
    elseif not is_array then
        value.new = random_value(1)
    end
    return value
end

describe("the JSON patch of a mutation", function()
    it("is empty for equal values", function()
        for _, text in ipairs { "{}", "[]", '{"a":[1,{"b":null}]}', "[9007199254740993]",
            '{"a":{"b":{}}}' } do
            assert.equal("[]", diff(text, text))
        end
        assert.equal("[]", diff('{"a":1,"b":2.0}', '{"b":2,"a":1.0}'))
    end)

    it("adds, replaces and removes members, with ~0 and ~1 in pointers", function()
        assert.same({ { op = "add", path = "/a", value = 1 } }, operations("{}", '{"a":1}'))
        assert.same({ { op = "replace", path = "/a", value = "x" } },
            operations('{"a":1}', '{"a":"x"}'))
        assert.same({ { op = "remove", path = "/m/k~1e~0y" } },
            operations('{"m":{"k/e~y":1,"b":2}}', '{"m":{"b":2}}'))
        assert.same({ { op = "add", path = "/", value = kubelua.null } },
            operations("{}", '{"":null}'))
        assert.same({ { op = "replace", path = "/a", value = { b = 1 } } },
            operations('{"a":[1]}', '{"a":{"b":1}}'))
    end)

    it("names single elements of an array", function()
        assert.same({ { op = "remove", path = "/1" } }, operations("[1,2,3]", "[1,3]"))
        assert.same({ { op = "add", path = "/1", value = 2 } }, operations("[1,3]", "[1,2,3]"))
        assert.same({ { op = "add", path = "/3", value = 4 } }, operations("[1,2,3]", "[1,2,3,4]"))
        assert.same({ { op = "remove", path = "/0" }, { op = "remove", path = "/2" } },
            operations("[0,1,2,0,3]", "[1,2,3]"))
        assert.same({ { op = "replace", path = "/c/1/image", value = "y" } }, operations(
            '{"c":[{"n":"a"},{"n":"b","image":"x"},{"n":"c"}]}',
            '{"c":[{"n":"a"},{"n":"b","image":"y"},{"n":"c"}]}'))
    end)

    it("takes {} in the place of an array for an empty one", function()
        assert.equal("[]", diff('{"a":[]}', '{"a":{}}'))
        assert.same({ { op = "remove", path = "/a/0" } }, operations('{"a":[1]}', '{"a":{}}'))
        assert.same({ { op = "replace", path = "/a", value = kubelua.array {} } },
            operations('{"a":{"b":1}}', '{"a":[]}'))
    end)

    it("tells integers apart that no double can hold", function()
        assert.equal(1, #operations("[9007199254740993]", "[9007199254740992]"))
    end)

    it("leads through long arrays too", function()
        local before, after = kubelua.array {}, kubelua.array {}
        for i = 1, 2000 do
            before[i], after[2001 - i] = i, i
        end
        assert.truthy(#patch.diff(before, after) <= 2000)
    end)

    it("leads to every value, as an API server applies it", function()
        local cluster = assert(Sim.new())
        local client = assert(cluster:connect())
        assert(client:apply(CRD))
        math.randomseed(30)
        for i = 1, 300 do
            local before = random_value(4)
            local text = kubelua.json(before)
            local after = kubelua.decode(kubelua.json(change(before)))
            if i % 3 == 0 then
                after = random_value(4)
            end
            local list = patch.diff({ spec = { v = kubelua.decode(text) } },
                { spec = { v = after } })
            local bag = assert(client:create { apiVersion = "spec.kubelua.dev/v1", kind = "Bag",
                metadata = { generateName = "b-", namespace = "default" },
                spec = { v = kubelua.decode(text) } })
            bag = assert(client:patch(bag, kubelua.array(list), { type = "json" }))
            local said = text .. " to " .. kubelua.json(after) .. " by " .. kubelua.json(list)
            assert.same({ v = after }, kubelua.table(bag.spec), said)
        end
        client:close()
        cluster:close()
    end)
end)
