-- Each key of a large map is read by its name in a time that grows with the number of keys, and not
-- with its square.
local core = require "kubelua.core"

local FEW, MANY = 10000, 40000

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

-- The shortest of three times of f(count).
local function shortest(f, count)
    local best = math.huge
    for _ = 1, 3 do
        collectgarbage()
        local began = os.clock()
        f(count)
        best = math.min(best, os.clock() - began)
    end
    return best
end

-- The time for four times as many keys is compared; with time in proportion to the square, it would
-- be sixteen times as long.
local function is_linear(f)
    local few, many = shortest(f, FEW), shortest(f, MANY)
    assert.is_true(many < 9 * few, ("%.3f s, and %.3f s for 4 times as many"):format(few, many))
end

describe("a map of many keys", function()
    it("is read key by key in time in proportion to their number #many", function()
        is_linear(function(count)
            local map = config_map(count, "v")
            read_all(map, count, "v")
            read_all(map, count, "v")
            assert.is_nil(map.data["key-0"])
            assert.is_nil(map.data[""])
        end)
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

    it("is compared with another one in time in proportion to their number #many", function()
        is_linear(function(count)
            local old, new = config_map(count, "v").data, config_map(count, "v").data
            for i = 1, count do
                local key = ("key-%05d"):format(i)
                assert(old[key] == new[key])
            end
        end)
    end)
end)
