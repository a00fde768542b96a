-- Objects that nothing refers to any more are freed, in the core too.
local core = require "kubelua.core"
require "kubelua" -- for object:table

local function collect()
    collectgarbage()
    collectgarbage()
    return core.live().objects
end

-- In its own function: a collector also finds values that a frame held before.
local function use()
    for i = 1, 100 do
        local text = string.format('{"metadata":{"name":"p%d","labels":{"a":"b"}}}', i)
        local object = assert(core.object(text))
        assert.equal("b", object.metadata.labels.a)
        assert.equal("b", object:table().metadata.labels.a)
    end
end

describe("objects", function()
    it("live no longer than their views", function()
        local before = collect()
        use()
        assert.is_true(collect() <= before + 1)
    end)
end)
