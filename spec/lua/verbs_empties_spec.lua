-- `{}` where a server wants a list: the server's error is followed by the remedy.
local definition = require "definition"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local cluster, client

before_each(function()
    cluster = assert(Sim.new { no_controllers = true })
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

local function service(ports)
    return { apiVersion = "v1", kind = "Service", metadata = { name = "s" },
        spec = { ports = ports, selector = { a = "b" } } }
end

local REMEDY = "; spec.ports is {}, which is an object in JSON: for an empty list write "
    .. "kubelua.array()"

local function expect_remedy(expected, made, message)
    assert.is_nil(made)
    assert.matches(expected, message, 1, true)
    assert.matches(REMEDY, message, 1, true)
end

describe("an empty table where a list is expected", function()
    it("is explained by each verb that writes, of a client and of a cluster", function()
        expect_remedy(".spec.ports: expected list", client:apply(service({})))
        expect_remedy("cannot unmarshal object", client:create(service({})))
        expect_remedy("cannot unmarshal object", cluster:create(service({})))
        assert(client:create(service { { port = 80 } }))
        expect_remedy("is invalid", client:patch("services", "default/s",
            { spec = { ports = {} } }))
        local whole = client:get("services", "default/s"):table()
        whole.spec.ports = {}
        expect_remedy("cannot unmarshal object", client:update(whole))
    end)

    it("is explained for a custom resource, with the path in a list", function()
        local foos = definition("foos.example.com")
        foos.spec.versions[1].schema.openAPIV3Schema = { type = "object", properties = {
            spec = { type = "object", properties = { rules = { type = "array", items = {
                type = "object", properties = { hosts = { type = "array",
                    items = { type = "string" } } } } } } } } }
        assert(cluster:create(foos))
        local _, message = client:create { apiVersion = "example.com/v1", kind = "Foo",
            metadata = { name = "a" }, spec = { rules = { { hosts = {} } } } }
        assert.matches("must be of type array", message)
        assert.matches("; spec.rules[1].hosts is {}", message, 1, true)
    end)

    it("is not named if another field is wrong, or the table is right", function()
        local given = service(kubelua.array())
        given.spec.selector = kubelua.array()
        given.metadata.annotations = {}
        local _, message = client:apply(given)
        assert.matches("selector", message)
        assert.is_nil(message:find("kubelua.array", 1, true))
        assert(client:apply(service { { port = 80 } }))
    end)
end)
