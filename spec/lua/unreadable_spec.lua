-- An object that cannot be read costs that object only, in the lists of verbs too; and nothing that
-- reads or writes a value is bounded by the C stack.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local function nested(levels, open, close)
    return open:rep(levels) .. "1" .. close:rep(levels)
end

local function node(name, value)
    return ('{"metadata":{"name":"%s"},"d":%s}'):format(name, value)
end

local function read(...)
    return core.list('{"kind":"NodeList","metadata":{"resourceVersion":"1","continue":"next"},'
        .. '"items":[' .. table.concat({ ... }, ",") .. "]}", "v1", "Node")
end

local BAD = { '"\\ud800"', '"a\tb"', '"\255"', "tru", nested(10000, "[", "]") }

describe("a list of a verb", function()
    it("leaves an object out that cannot be read, and names it", function()
        for _, value in ipairs(BAD) do
            local nodes, token, unreadable = read(node("a", 1), node("b", value), node("c", 2))
            assert.equal(2, #nodes)
            assert.equal("c", nodes[2].name)
            assert.equal("v1", nodes[2].apiVersion)
            assert.equal("next", token)
            assert.equal(1, #unreadable)
            assert.equal("b", unreadable[1].key)
            assert.matches("^Node b cannot be read: ", unreadable[1].why)
        end
    end)

    it("has no third result if all can be read", function()
        assert.equal(2, select("#", read(node("a", 1))))
    end)

    it("fails if something in it is no object", function()
        local nodes, _, code = read('{"d":tru}')
        assert.is_nil(nodes)
        assert.equal("parse", code)
    end)

    it("may lack its items", function()
        local head = '{"kind":"%s","apiVersion":"v1","metadata":{"resourceVersion":"529"}}'
        assert.same({}, (core.list(head:format("ValidatingAdmissionPolicyList"), "v1", "Node")))
        for _, other in ipairs { "Status", "Node", "List" } do
            local nodes, message, code = core.list(head:format(other), "v1", "Node")
            assert.is_nil(nodes)
            assert.matches("answered with kind " .. other, message)
            assert.equal("parse", code)
        end
    end)
end)

describe("an informer's status", function()
    it("has a list of what cannot be read", function()
        local sim = assert(Sim.new())
        local client = assert(sim:connect())
        local pods = assert(client:informer { "pods" })
        assert(pods:wait_synced(10))
        assert.same({ count = 0 }, pods:status().unreadable)
        local several = assert(client:informer { "pods", namespace = { "a", "b" } })
        assert(several:wait_synced(10))
        assert.same({ count = 0 }, several:status().unreadable)
        several:stop()
        pods:stop()
        client:close()
        sim:close()
    end)
end)

describe("a relist after a break", function()
    it("that has no items tells the deletes", function()
        local sim, deleted = assert(Sim.new()), {}
        for _, name in ipairs { "a", "b" } do
            assert(sim:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } })
        end
        local client = assert(sim:connect())
        local maps = assert(client:informer { "configmaps", streaming_list = false })
        maps:on { delete = function(object) deleted[#deleted + 1] = object.name end }
        assert(maps:wait_synced(10))
        sim:fail { verb = "list", resource = "configmaps", status = 200,
            content_type = "application/json", body = '{"kind":"ConfigMapList","apiVersion":"v1",'
                .. '"metadata":{"resourceVersion":"529"}}' }
        sim:expire { verb = "watch", resource = "configmaps", open = true }
        assert(sim:eventually(function() return #deleted == 2 end))
        assert.same({ "a", "b" }, deleted)
        client:close()
        sim:close()
    end)
end)

describe("10,000 levels", function()
    local LEVELS = 9990
    local text = '{"kind":"X","apiVersion":"v1","metadata":{"name":"x"},"spec":'
        .. nested(LEVELS, '{"a":', "}") .. "}"

    local function depth(value, kind)
        local levels = 0
        while type(value) == kind do
            value, levels = value.a, levels + 1
        end
        assert.equal(1, value)
        return levels
    end

    it("are read field by field", function()
        local object = assert(core.object(text))
        assert.equal(LEVELS, depth(object.spec, "userdata"))
        assert.equal(LEVELS, depth(object.spec, "userdata"))
        assert.equal(1, kubelua.get(object, "spec" .. (".a"):rep(LEVELS)))
        assert.is_nil(kubelua.get(object, "spec" .. (".a"):rep(LEVELS + 1)))
    end)

    it("are copied, and written", function()
        local object = assert(core.object(text))
        local copy = object:table()
        assert.equal(LEVELS, depth(copy.spec, "table"))
        assert.equal(text, object:json())
        assert.equal(#text, #core.encode(copy))
        assert.equal(#text, #core.encode(core.decode(core.encode(copy))))
    end)

    it("are copied, and written, as arrays with other values around", function()
        local levels = 300
        local array = ('[1,{"b":'):rep(levels) .. "{}" .. (',"c":[]},null]'):rep(levels)
        local copy = core.decode(array)
        assert.equal(#array, #core.encode(copy))
        assert.equal(#array, #core.encode(core.decode(core.encode(copy))))
        for _ = 1, levels do
            assert.same({ 1, kubelua.null, #copy }, { copy[1], copy[3], 3 })
            assert.same({}, copy[2].c)
            copy = copy[2].b
        end
        assert.same({}, copy)
    end)

    it("are the limit", function()
        assert(core.decode(nested(10000, "[", "]")))
        local value, message, code = core.decode(nested(10001, "[", "]"))
        assert.is_nil(value)
        assert.matches("deeper than 10000", message)
        assert.equal("parse", code)
        local loop = {}
        loop.a = loop
        assert.error_matches(function() core.encode(loop) end, "deeper than 10000, or within")
    end)
end)
