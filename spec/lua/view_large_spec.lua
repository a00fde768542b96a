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
end)
