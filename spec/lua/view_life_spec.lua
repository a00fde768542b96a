-- Objects and their parts live as long as a script can reach one of them.
local at_collection = require "at_collection"
local core = require "kubelua.core"

local function pod()
    return assert(core.object([[{"metadata": {"name": "shop-1", "labels": {"app": "shop"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "a"}, {"name": "b"}]}}]]))
end

local function collect()
    collectgarbage()
    collectgarbage()
end

describe("an object", function()
    it("is kept alive by its parts", function()
        local labels = pod().metadata.labels
        collect()
        assert.equal("shop", labels.app)
    end)

    it("is kept alive by parts of its parts", function()
        local container = pod().spec.containers[2]
        collect()
        assert.equal("b", container.name)
    end)

    it("is kept alive by its metadata, also if it was not parsed", function()
        local metadata = pod().metadata
        collect()
        assert.equal("shop-1", metadata.name)
        collect()
        assert.equal("shop", metadata.labels.app)
    end)

    it("is kept alive by its iterators", function()
        local step = pod().spec.containers
        step = require("kubelua").pairs(step)
        collect()
        local _, first = step()
        assert.equal("a", first.name)
    end)

    it("raises in a finalizer that reads it after it was collected", function()
        local ok, message
        local function make(part_of, read)
            local held = {} -- only the finalizer refers to it
            held.guard = at_collection(function()
                ok, message = pcall(read, held)
            end)
            held.part = part_of(pod()) -- finalizers run from the youngest to the oldest
            held.guard = nil
        end
        make(function(object) return object.spec end,
            function(held) return held.part.nodeName end)
        collect()
        assert.is_false(ok)
        assert.matches("was collected already", message)
        ok = nil
        make(function(object) return object.metadata end, -- not parsed
            function(held) return held.part.name end)
        collect()
        assert.is_false(ok)
        assert.matches("was collected already", message)
    end)
end)
