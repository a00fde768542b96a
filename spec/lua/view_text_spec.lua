-- A few fields of an object are read in its text, many in its parsed tree: both have the same. So
-- is what an object is called, and what get reads at several paths at once.
local kubelua = require "kubelua"
local core = require "kubelua.core"

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

    -- Each search reads the map to its end, since a later member of the name would count.
    it("is parsed once a few keys of a large map were read", function()
        local before = live_documents()
        local members = {}
        for number = 1, 10000 do
            members[number] = ('"k%d":"v"'):format(number)
        end
        local data = assert(core.object('{"metadata":{"name":"n"},"data":{'
            .. table.concat(members, ",") .. "}}")).data
        assert.equal("v", data.k1)
        assert.equal(before, core.live().documents)
        for number = 2, 12 do
            assert.equal("v", data["k" .. number])
        end
        assert.equal(before + 1, core.live().documents)
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

local POD = [[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","uid":"u-1",
    "labels":{"app":"shop"}},"spec":{"nodeName":"n1","none":null,"large":9223372036854775807,
    "containers":[{"name":"x","image":"i:1"},{"name":"y","image":"i:2"}]},
    "status":{"phase":"Running","ready":false}}]]

local PATHS = { "status.phase", "metadata.name", "spec.nodeName", "status.none.deeper", "spec.none",
    "spec.containers[2].image", "metadata.labels.app", "spec.containers[*].name", "status.ready",
    "metadata.resourceVersion", "metadata.namespace", "spec.large", "kind", "spec.nodeName" }

local unpack = table.unpack or unpack -- luacheck: ignore 143 113

local function pod()
    return assert(core.object(POD))
end

-- The values at the paths, each read alone.
local function read_one_by_one(object, paths)
    local values = { n = #paths }
    for i, path in ipairs(paths) do
        values[i] = object:get(path)
    end
    return values
end

local function pack(...)
    return { n = select("#", ...), ... }
end

describe("get with several paths", function()
    it("returns a value for each path, in their order, and nil for what is missing", function()
        assert.same({ n = 4, "n1", "a", nil, "Running" },
            pack(pod():get("spec.nodeName", "metadata.name", "spec.none.deeper", "status.phase")))
        assert.same({ n = 2, "shop" }, pack(kubelua.get(pod().metadata, "labels.app", "none")))
        assert.same({ n = 2 }, pack(pod():get("spec.none", "spec.never")))
    end)

    it("finds what each of them finds alone, in the text and in the tree", function()
        local object = pod()
        local alone = read_one_by_one(pod(), PATHS)
        assert.same(alone, pack(object:get(unpack(PATHS))))
        assert.truthy(kubelua.json(object.metadata)) -- parses it
        assert.same(alone, pack(object:get(unpack(PATHS))))
    end)

    it("returns the parts that single reads return", function()
        local object = pod()
        local spec, container, again = object:get("spec", "spec.containers[1]", "spec")
        assert.is_true(spec == object.spec and again == spec)
        assert.is_true(container == object.spec.containers[1])
        assert.equal("i:1", container.image)
    end)

    it("needs no text for names and versions", function()
        collectgarbage()
        local before = core.live().documents
        assert.same({ "a", "web", "u-1" },
            { pod():get("metadata.name", "metadata.namespace", "metadata.uid") })
        assert.equal(before, core.live().documents)
    end)

    it("takes 64, and says so", function()
        local paths = {}
        for i = 1, 64 do
            paths[i] = "spec.containers[" .. i .. "].image"
        end
        local values = pack(pod():get(unpack(paths)))
        assert.same({ n = 64, "i:1", "i:2" }, values)
        paths[65] = "kind"
        assert.error_matches(function() pod():get(unpack(paths)) end, "get: 65 paths; at most 64")
    end)

    it("raises for any path that is none", function()
        assert.error_matches(function() pod():get("kind", "a[") end, "a%[")
        assert.error_matches(function() pod():get("kind", "spec", 3) end, "string expected")
        assert.error_matches(function() pod():get("kind", nil) end, "string expected")
    end)
end)

local function whole_pod()
    return assert(core.object([[{
        "metadata": {"name": "shop-1", "namespace": "web", "uid": "u-1", "resourceVersion": "42",
            "labels": {"app": "shop", "app.kubernetes.io/name": "x"}},
        "kind": "Pod", "apiVersion": "v1", "spec": {"nodeName": "n1"}}]]))
end

describe("an object that was not parsed", function()
    it("has names and versions without being parsed", function()
        collectgarbage()
        collectgarbage()
        local before = core.live().documents
        local object = whole_pod()
        local metadata = object.metadata
        assert.same({ "shop-1", "web", "u-1", "42" },
            { metadata.name, metadata.namespace, metadata.uid, metadata.resourceVersion })
        assert.same({ "shop-1", "web", "u-1", "42" },
            { object:get("metadata.name"), object:get("metadata.namespace"),
                object:get("metadata.uid"), object:get("metadata.resourceVersion") })
        assert.equal(before, core.live().documents)
        -- Other fields are read in the text, until it is parsed for something larger.
        assert.equal("shop", metadata.labels.app)
        assert.equal(before, core.live().documents)
        assert.truthy(kubelua.json(metadata))
        assert.equal(before + 1, core.live().documents)
        assert.equal("shop-1", metadata.name)
        assert.is_true(metadata == object.metadata)
        assert.same(kubelua.table(object.metadata), kubelua.table(metadata))
    end)

    it("has its metadata as it is written", function()
        local object = assert(core.object(
            [[{"metadata": {"name": "n\u0031", "namespace": "", "uid": null}}]]))
        local metadata = object.metadata
        assert.equal("n1", metadata.name)
        assert.equal("n1", object:get("metadata.name"))
        assert.equal("", metadata.namespace)
        assert.is_nil(metadata.uid)
        assert.is_nil(metadata.resourceVersion)
        assert.is_nil(metadata[1])
    end)

    it("is parsed by any other use of its metadata", function()
        local function first_of(read)
            return read(whole_pod().metadata) -- no other read has parsed it
        end
        assert.equal(4, first_of(function(view)
            local count = 0
            for key in kubelua.pairs(view) do
                count = count + (key:find("^%l%a*$") and key ~= "labels" and 1 or 0)
            end
            return count
        end))
        assert.equal(0, first_of(function(view) return #view end))
        assert.equal("x", first_of(function(view)
            return kubelua.get(view, 'labels["app.kubernetes.io/name"]')
        end))
        assert.equal("shop-1", first_of(kubelua.table).name)
        assert.truthy(first_of(kubelua.json):find('"name":"shop-1"', 1, true))
        assert.equal("part of Pod web/shop-1", first_of(tostring))
        assert.is_false(whole_pod().metadata == whole_pod().metadata)
        assert.error_matches(function() whole_pod().metadata.name = "other" end, "read%-only")
    end)
end)
