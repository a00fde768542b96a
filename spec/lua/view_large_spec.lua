-- Each key of a large map is read by its name in a time that grows with the number of keys, and not
-- with its square.
local core = require "kubelua.core"

local KEYS = 50000

local function config_map(count, value)
    local data = {}
    for i = 1, count do
        data[i] = ('"key-%05d":"%s%d"'):format(i, value, i)
    end
    return assert(core.object('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},'
        .. '"data":{' .. table.concat(data, ",") .. "}}"))
end

local function read_all(map, count, value)
    local data = map.data
    for i = 1, count do
        if data[("key-%05d"):format(i)] ~= value .. i then
            error("key " .. i .. " is " .. tostring(data[("key-%05d"):format(i)]))
        end
    end
end

describe("a map of 50,000 keys", function()
    it("is read key by key", function()
        local map = config_map(KEYS, "v")
        local began = os.clock()
        read_all(map, KEYS, "v")
        read_all(map, KEYS, "v")
        assert.is_true(os.clock() - began < 2)
        assert.is_nil(map.data["key-0"])
        assert.is_nil(map.data[""])
    end)

    it("is not taken for another one", function()
        local a, b = config_map(3000, "a"), config_map(3000, "b")
        for _ = 1, 3 do
            read_all(a, 3000, "a")
            read_all(b, 3000, "b")
        end
        a = nil -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        read_all(b, 3000, "b")
        read_all(config_map(3000, "c"), 3000, "c")
        collectgarbage()
        collectgarbage()
        read_all(b, 3000, "b")
    end)

    it("is compared with another one", function()
        local old, new = config_map(20000, "v").data, config_map(20000, "v").data
        local began = os.clock()
        for i = 1, 20000 do
            local key = ("key-%05d"):format(i)
            assert(old[key] == new[key])
        end
        assert.is_true(os.clock() - began < 1)
    end)

    it("has one value for a name that is there twice", function()
        local members = {}
        for i = 1, 2000 do
            members[i] = ('"key-%d":%d'):format(i, i)
        end
        local data = assert(core.object('{"kind":"X","apiVersion":"v1","metadata":{"name":"a"},'
            .. '"data":{"key-1":0,' .. table.concat(members, ",") .. "}}")).data
        for _ = 1, 1000 do
            assert.equal(0, data["key-1"])
            assert.equal(2000, data["key-2000"])
        end
    end)
end)
