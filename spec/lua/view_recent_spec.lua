-- A part that was read a moment ago may be handed out again: it is always the right one, and it
-- keeps nothing alive.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local function object_of(number)
    local parts = {}
    for i = 1, 24 do
        parts[i] = ('{"value": "%d.%d", "inner": {"value": "inner %d.%d"}}'):format(number, i,
            number, i)
    end
    return assert(core.object(([[{"kind": "Box", "metadata": {"name": "n%d", "labels": {"a": "%d"}},
        "parts": [%s]}]]):format(number, number, table.concat(parts, ","))))
end

local function check(object, number, i)
    assert.equal(number .. "." .. i, object.parts[i].value)
    assert.equal("inner " .. number .. "." .. i, object.parts[i].inner.value)
    assert.equal("inner " .. number .. "." .. i, object:get("parts[" .. i .. "].inner").value)
end

describe("a part that is read again", function()
    it("is that of its own object", function()
        local objects = {}
        for number = 1, 12 do
            objects[number] = object_of(number)
        end
        for number, object in ipairs(objects) do -- not parsed yet
            assert.equal("n" .. number, object.metadata.name)
        end
        for i = 1, 24 do
            for number, object in ipairs(objects) do
                check(object, number, i)
                assert.equal(tostring(number), object.metadata.labels.a)
            end
        end
        for number, object in ipairs(objects) do
            for i, part in kubelua.ipairs(object.parts) do
                assert.equal(number .. "." .. i, part.value)
            end
        end
    end)

    it("is that of its own object in memory that was used before", function()
        for number = 1, 40 do
            local object = object_of(number)
            assert.equal("n" .. number, object.metadata.name)
            check(object, number, 1)
            check(object, number, 24)
            object = nil -- luacheck: ignore 311
            if number % 10 == 0 then
                collectgarbage()
                collectgarbage()
            end
        end
    end)

    it("keeps no object alive", function()
        local function use()
            for number = 1, 20 do
                local object = object_of(number)
                assert.equal("n" .. number, object.metadata.name)
                check(object, number, number % 24 + 1)
            end
        end
        collectgarbage()
        collectgarbage()
        local before = core.live()
        use()
        collectgarbage()
        collectgarbage()
        local after = core.live()
        assert.is_true(after.objects <= before.objects + 1)
        assert.is_true(after.documents <= before.documents + 1)
    end)

    it("equals what was read before", function()
        local object = object_of(1)
        local metadata = object.metadata
        assert.is_true(metadata == object.metadata)
        assert.equal("1", metadata.labels.a)
        assert.is_true(metadata == object.metadata)
        assert.is_true(object.parts[2] == object.parts[2])
        assert.is_false(object.parts[2] == object.parts[3])
    end)
end)
