-- A few fields of an object are read in its text, many in its parsed tree: both have the same.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local ATOMS = { "null", "true", "false", "0", "-0", "12", "-7", "1.5", "-0.0", "1e3",
    "9223372036854775807", "-9223372036854775808", "18446744073709551615", "9007199254740993",
    "18446744073709551616", "1e400", '""', '"a"', '"\\u0000"',
    '"x\\u0041\\n\\"}"', '"\\ud83d\\ude00"',
    '"' .. ("long "):rep(300) .. '"', '"' .. ("l\\tong "):rep(300) .. '"', "{}", "[]" }
local NAMES = { '"b"', '""', '"\\u0061"', '"a.b/c"', '"get"', '"c\\u0000d"',
    '"metadata"', '"labels"' }

local function value_text(depth)
    local parts = {}
    local kind = depth > 0 and math.random(3) or 0
    if kind == 0 then
        return ATOMS[math.random(#ATOMS)]
    end
    local first = math.random(#NAMES)
    for i = 1, math.random(0, 5) do
        local value = value_text(depth - math.random(2))
        parts[i] = kind == 1 and value or NAMES[(first + i) % #NAMES + 1] .. ":" .. value
    end
    return kind == 1 and "[" .. table.concat(parts, ",") .. "]"
        or "{" .. table.concat(parts, ",") .. "}"
end

local function object_text()
    return '{"kind":"Box","metadata":{"name":"n","labels":' .. value_text(2) .. '},"spec":'
        .. value_text(5) .. ',"status":' .. value_text(3) .. "}"
end

-- A copy without nulls, as views have none.
local function without_nulls(value)
    if value == kubelua.null then
        return nil
    end
    if type(value) ~= "table" then
        return value
    end
    local copy = {}
    for key, item in pairs(value) do
        copy[key] = without_nulls(item)
    end
    return copy
end

local function is_array(value)
    return getmetatable(value) == getmetatable(core.array())
end

-- Reads the path in an object that was not read before.
local function read_at(text, path)
    local value = assert(core.object(text))
    for _, step in ipairs(path) do
        value = value[step]
    end
    return value
end

local type_of_number = rawget(math, "type") or type -- before Lua 5.3 there is one type

local function same_value(expected, value)
    assert.equal(expected, value)
    assert.equal(type_of_number(expected), type_of_number(value))
end

local function parse(object)
    assert.truthy(kubelua.json(object.metadata))
end

-- Holds what is read at a path against the table that it must equal.
local function check_part(text, path, expected)
    local part = read_at(text, path)
    if type(expected) ~= "table" then
        return same_value(without_nulls(expected), part)
    end
    local seen, count = {}, 0
    for key, value in kubelua.pairs(part) do
        assert.is_nil(seen[key] and not is_array(expected) and "a member twice")
        seen[key] = core.is_view(value) and without_nulls(kubelua.table(value)) or value
    end
    for _ in kubelua.ipairs(part) do
        count = count + 1
    end
    assert.same(without_nulls(expected), seen)
    assert.same(expected, kubelua.table(read_at(text, path)))
    assert.equal(is_array(expected) and #expected or 0, #read_at(text, path))
    assert.is_true(count <= #expected)
end

local function check_parts(text, path, expected)
    check_part(text, path, expected)
    for key, value in pairs(type(expected) == "table" and expected or {}) do
        path[#path + 1] = key
        check_parts(text, path, value)
        path[#path] = nil
    end
end

-- How many documents are in use, once the others are collected.
local function live_documents()
    if rawget(_G, "jit") then
        require("jit").flush() -- compiled code keeps the objects that it was made with
    end
    collectgarbage()
    collectgarbage()
    return core.live().documents
end

describe("an object that is read in its text", function()
    it("has what its table has", function()
        math.randomseed(20261123)
        for _ = 1, 12 do
            local text = object_text()
            local expected = kubelua.decode(text)
            for _, field in ipairs { "metadata", "spec", "status" } do
                check_parts(text, { field }, expected[field])
            end
        end
    end)

    it("has the same parts before and after it is parsed", function()
        for _ = 1, 10 do
            local object = assert(core.object(object_text()))
            local parts = {} -- what they are of, their key, a view, a copy
            local function gather(part)
                for key, value in kubelua.pairs(part) do
                    if core.is_view(value) then
                        parts[#parts + 1] = { part, key, value, kubelua.table(value) }
                        gather(value)
                    end
                end
            end
            gather(object)
            parse(object)
            for _, part in ipairs(parts) do
                local again = part[1][part[2]]
                assert.is_true(again == part[3])
                assert.same(part[4], kubelua.table(again))
            end
        end
    end)

    it("has each member once in a loop during which it is parsed", function()
        local text = [[{"metadata":{"name":"n"},"map":{"a":null,"b":1,"a":2,"c":null,"":null,
            "a":{"x":[1]},"d":1.5,"e":[],"f":null},"list":[null,null,1,null,{"x":1},2,null,[3],
            null],"none":[null,null]}]]
        -- Parses the object in turn number `turn` of the loop, or after it.
        local function entries(field, turn)
            local object = assert(core.object(text))
            local found = {}
            local next_entry = kubelua.pairs(object[field])
            for key, value in next_entry do
                found[#found + 1] = { key, core.is_view(value) and kubelua.table(value) or value }
                if #found == turn then
                    parse(object)
                end
            end
            if #found < turn then
                parse(object)
            end
            assert.is_nil(next_entry())
            return found
        end
        for field, count in pairs { map = 4, list = 4, none = 0 } do
            local expected = entries(field, count + 1)
            assert.equal(count, #expected)
            for turn = 1, count do
                assert.same(expected, entries(field, turn))
            end
        end
    end)

    it("is parsed once it is read again and again", function()
        local before = live_documents()
        local object = assert(core.object(object_text()))
        local spec = object.spec
        assert.equal(before, core.live().documents)
        for _ = 1, 1000 do
            assert.truthy(object.metadata.labels ~= 1)
        end
        assert.equal(before + 1, core.live().documents)
        assert.is_true(spec == object.spec)
    end)

    -- Else each turn of the loop would open, and so unpack, the whole text again.
    it("is parsed in a loop whose body reads other objects", function()
        local members = {}
        for i = 1, 2000 do
            members[i] = ('"name-%d":"a value that is longer than its name, %d"'):format(i, i)
        end
        local large = assert(core.object('{"metadata":{"name":"n"},"data":{'
            .. table.concat(members, ",") .. "}}"))
        local before = live_documents()
        local count = 0
        for key, value in kubelua.pairs(large.data) do
            count = count + 1
            assert.equal("name-" .. count, key)
            assert.equal("a value that is longer than its name, " .. count, value)
            if count <= 100 then
                for number = 1, 4 do
                    local other = core.object('{"metadata":{"name":"o"},"number":' .. number .. "}")
                    assert.equal(number, other.number)
                end
            end
            if count == 1 then
                assert.equal(before, core.live().documents)
            end
        end
        assert.equal(2000, count)
        assert.equal(before + 1, core.live().documents)
    end)

    it("has parts that are equal only if they are the same", function()
        local function box()
            return assert(core.object([[{"kind": "Box", "metadata": {"name": "n", "labels": {}},
                "list": [{}, {}]}]]))
        end
        local a, b = box(), box()
        assert.is_true(a.metadata == a:get("metadata"))
        assert.is_true(a:get("metadata") == a.metadata)
        assert.is_true(a.metadata.labels == a:get("metadata.labels"))
        assert.is_true(a.list[1] == a:get("list[1]"))
        assert.is_false(a.list[1] == a.list[2])
        assert.is_false(a.metadata == a:get("metadata.labels"))
        assert.is_false(a == a.metadata)
        assert.is_false(a.list == b.list)
        assert.is_true(a == a)
    end)
end)
