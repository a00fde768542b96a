-- A version of a CustomResourceDefinition that is no longer served: the same objects in another
-- version are another state.
local definition = require "definition"
local eventually = require "eventually"
local Sim = require "kubelua.sim"

local sim, client

before_each(function()
    sim = assert(Sim.new())
    client = assert(sim:connect())
end)

after_each(function()
    client:close()
    sim:close()
end)

local function define(served)
    local versions = {}
    for i, name in ipairs { "v1", "v2" } do
        versions[i] = { name = name, served = served == name, storage = name == "v1" }
    end
    assert(sim:apply(definition("foos.example.com", { versions = versions })))
end

describe("objects of a version that is no longer served", function()
    it("are updated to the version that is, and can be written", function()
        define "v1"
        for _, name in ipairs { "a", "b" } do
            assert(sim:apply { apiVersion = "example.com/v1", kind = "Foo",
                metadata = { name = name, namespace = "web" } })
        end
        local told = {}
        local foos = assert(client:informer { "foos.example.com" })
        assert(foos:on {
            update = function(old, foo)
                told[#told + 1] = old.apiVersion .. " " .. foo.apiVersion .. " " .. foo.name
            end,
            delete = function(foo) told[#told + 1] = "delete " .. foo.name end,
        })
        assert(foos:wait_synced(10))
        assert.equal("example.com/v1", foos:get("web/a").apiVersion)
        define "v2"
        sim:cut()
        eventually(function() return #told == 2 end, "both are updated")
        assert.same({ "example.com/v1 example.com/v2 a", "example.com/v1 example.com/v2 b" }, told)
        for _, foo in ipairs(foos:list()) do
            assert.equal("example.com/v2", foo.apiVersion)
            assert.equal("example.com/v2", foo:table().apiVersion)
            assert.matches('"apiVersion":"example.com/v2"', foo:json())
        end
        local copy = foos:get("web/a"):table()
        copy.metadata.labels = { app = "shop" }
        assert.equal("example.com/v2", assert(client:update(copy)).apiVersion)
        foos:stop()
    end)
end)
