-- Elements of arrays by their numbers, keys of large maps by their names, and parts that were
-- read a moment ago, in any order: what was found last is remembered, is always the right one,
-- and keeps nothing alive.
local at_collection = require "at_collection"
local kubelua = require "kubelua"
local core = require "kubelua.core"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function parse(object)
    assert.truthy(kubelua.json(object.metadata))
end

-- Element `number` of list `list`; those of different objects have different lengths.
local function element(list, number, object)
    local kind = (list + number) % 5
    if kind == 0 then
        return kubelua.null
    elseif kind == 1 then
        return { id = list * 10000 + number, of = { { of = number }, "]," } }
    elseif kind == 2 then
        return core.array { number, core.array { list } }
    end
    return kind == 3 and number or ("\"},[" .. object):rep(object % 7 + 1) .. number
end

local objects = 0

-- An object with a list of each of these lengths, and the lists as tables.
local function object_of(lengths)
    local lists, list = {}, core.array
    objects = objects + 1
    for i, length in ipairs(lengths) do
        lists[i] = {}
        for number = 1, length do
            lists[i][number] = element(i, number, objects)
        end
        lists[i] = list(lists[i])
    end
    local text = kubelua.json { metadata = { name = "n" }, lists = list(lists) }
    return assert(core.object(text)), kubelua.decode(text).lists, text
end

local function check(expected, value)
    if expected == kubelua.null then
        assert.is_nil(value)
    elseif type(expected) == "table" then
        assert.same(expected, kubelua.table(value))
    else
        assert.equal(expected, value)
    end
end

describe("elements of an array", function()
    -- Loops forward and back, jumps, repetitions; several lists in turns; the tree comes somewhere.
    it("are found in any order", function()
        math.randomseed(20261124)
        for round = 1, 16 do
            local object, lists = object_of { 200, 9, 8, 60, 150, 0, 300 }
            local views, numbers = {}, {}
            for i = 1, #lists do
                views[i], numbers[i] = object.lists[i], 0
            end
            local parsed_at = math.random(600)
            for turn = 1, 500 do
                local i = math.random(#lists)
                local way = math.random(8)
                if way == 1 then
                    numbers[i] = math.random(0, #lists[i] + 3)
                elseif way == 2 then
                    numbers[i] = numbers[i] - 1
                elseif way == 3 then
                    numbers[i] = numbers[i] + math.random(70)
                elseif way > 4 then
                    numbers[i] = numbers[i] + 1
                end
                if turn == parsed_at then
                    parse(object)
                end
                local list = round % 2 == 0 and views[i] or object.lists[i]
                check(lists[i][numbers[i]], list[numbers[i]])
            end
        end
    end)

    it("are found in one loop after another", function()
        local object, lists = object_of { 100, 100, 100, 100, 100, 100 }
        for _ = 1, 2 do
            for i = 1, #lists do
                for number = 1, 101 do
                    check(lists[i][number], object.lists[i][number])
                end
            end
            for number = 1, 101 do
                for i = 1, #lists do
                    check(lists[i][number], object.lists[i][number])
                end
            end
            parse(object)
        end
    end)

    it("are of the object that is read, if several are read in turns", function()
        local all = {}
        for i = 1, 3 do -- so few that their texts stay open
            all[i] = { object_of { 60 } }
        end
        for turn = 1, 2 do
            for number = 1, 61 do
                for _, each in ipairs(all) do
                    check(each[2][1][number], each[1].lists[1][number])
                end
            end
            for i = 1, turn == 1 and #all or 0 do
                parse(all[i][1])
            end
        end
    end)

    it("are of their own object, although others had its memory", function()
        local function read_one(number, is_parsed)
            local object, lists = object_of { 30 }
            if is_parsed then
                parse(object)
            end
            check(lists[1][number], object.lists[1][number])
        end
        for round = 1, 100 do
            read_one(9 + math.floor(round / 7), round % 3 == 0)
            collectgarbage()
            collectgarbage()
        end
    end)

    it("are found while finalizers read other arrays", function()
        local others = {}
        for i = 1, 6 do
            others[i] = { object_of { 50 + i } }
        end
        local object, lists = object_of { 400 }
        local finalizers = 0
        for number = 1, 400 do
            at_collection(function()
                local other, expected = unpack(others[number % 6 + 1])
                for at = 10, 20 do
                    check(expected[1][at], other.lists[1][at])
                end
                finalizers = finalizers + 1
            end)
            check(lists[1][number], object.lists[1][number])
            if number % 50 == 0 then
                collectgarbage()
            end
        end
        assert.is_true(finalizers > 0)
    end)

    -- If each search began at the first element, this took minutes.
    it("are all read in a long list #many", function()
        local count = 60000
        local list = {}
        for number = 1, count do
            list[number] = { name = "n" .. number, value = { number = number } }
        end
        local text = kubelua.json { metadata = { name = "n" }, list = list }
        for turn = 1, 2 do
            local object = assert(core.object(text))
            if turn == 2 then
                parse(object)
            end
            local parts = {}
            for number = 1, #object.list do
                assert(number == object.list[number].value.number)
            end
            for number, part in kubelua.ipairs(object.list) do
                parts[number] = part
            end
            assert.equal(count, #parts)
            for number = count, 1, -1 do
                assert("n" .. number == parts[number].name)
            end
        end
    end)

    -- The object is not parsed in this loop. If each step looked for the end of the map, it took
    -- seconds.
    it("and members of a large map are read in one loop #many", function()
        local members = {}
        for number = 1, 60000 do
            members[number] = ('"k%d":"v%d"'):format(number, number)
        end
        local object = assert(core.object('{"metadata":{"name":"n"},"data":{'
            .. table.concat(members, ",") .. "}}"))
        local count = 0
        for key, value in kubelua.pairs(object.data) do
            assert(key:sub(2) == value:sub(2))
            count = count + 1
        end
        assert.equal(#members, count)
    end)
end)

local function numbered(number)
    local parts = {}
    for i = 1, 24 do
        parts[i] = ('{"value": "%d.%d", "inner": {"value": "inner %d.%d"}}'):format(number, i,
            number, i)
    end
    return assert(core.object(([[{"kind": "Box", "metadata": {"name": "n%d", "labels": {"a": "%d"}},
        "parts": [%s]}]]):format(number, number, table.concat(parts, ","))))
end

local function check_part(object, number, i)
    assert.equal(number .. "." .. i, object.parts[i].value)
    assert.equal("inner " .. number .. "." .. i, object.parts[i].inner.value)
    assert.equal("inner " .. number .. "." .. i, object:get("parts[" .. i .. "].inner").value)
end

describe("a part that is read again", function()
    it("is that of its own object", function()
        local all = {}
        for number = 1, 12 do
            all[number] = numbered(number)
        end
        for number, object in ipairs(all) do -- not parsed yet
            assert.equal("n" .. number, object.metadata.name)
        end
        for i = 1, 24 do
            for number, object in ipairs(all) do
                check_part(object, number, i)
                assert.equal(tostring(number), object.metadata.labels.a)
            end
        end
        for number, object in ipairs(all) do
            for i, part in kubelua.ipairs(object.parts) do
                assert.equal(number .. "." .. i, part.value)
            end
        end
    end)

    it("is that of its own object in memory that was used before", function()
        for number = 1, 40 do
            local object = numbered(number)
            assert.equal("n" .. number, object.metadata.name)
            check_part(object, number, 1)
            check_part(object, number, 24)
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
                local object = numbered(number)
                assert.equal("n" .. number, object.metadata.name)
                check_part(object, number, number % 24 + 1)
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
        local object = numbered(1)
        local metadata = object.metadata
        assert.is_true(metadata == object.metadata)
        assert.equal("1", metadata.labels.a)
        assert.is_true(metadata == object.metadata)
        assert.is_true(object.parts[2] == object.parts[2])
        assert.is_false(object.parts[2] == object.parts[3])
    end)
end)

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

-- The shortest of five times of f(count).
local function shortest(f, count)
    local best = math.huge
    for _ = 1, 5 do
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
