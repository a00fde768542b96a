-- Elements of arrays by their numbers, in any order: what was found last is remembered.
local at_collection = require "at_collection"
local core = require "kubelua.core"
local kubelua = require "kubelua"

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
