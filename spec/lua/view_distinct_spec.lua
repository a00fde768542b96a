-- Of several members of one name the last counts, as in Go's decoder: for `get`, fields, `table`,
-- `json`, `pairs` and indexes, in the text of an object and in its tree, plain and compressed.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local SPEC = [[{"node":"1","x":{"node":"no"},"n\u006fde":"2","list":[{"a":1,"a":2},{"a":3}],]]
    .. [["map":{"k":1},"gone":1,"map":{"k":2,"j":3,"k":{"l":4}},"gone":null}]]
local EXPECTED = { node = "2", x = { node = "no" }, list = { { a = 2 }, { a = 3 } },
    map = { k = { l = 4 }, j = 3 } }

local function text_of(name)
    return ('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"old","namespace":"web",'
        .. '"uid":"1","labels":{"app":"1","app":"2"},"uid":"2","name":"%s"},"spec":{"node":"0"},'
        .. '"spec":%s}'):format(name, SPEC)
end

-- Twice in its depth only: the outermost members and the metadata are as an API server sends them.
local function deep_text_of(name)
    return ('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"web",'
        .. '"uid":"2","labels":{"app":"1","app":"2"}},"spec":%s}'):format(name, SPEC)
end

local function without_nulls(value)
    return kubelua.table(value, { nulls = false })
end

-- Reads a view with pairs, all its parts too.
local function walk(view)
    local found = {}
    for key, value in kubelua.pairs(view) do
        assert.is_nil(found[key])
        found[key] = core.is_view(value) and walk(value) or value
    end
    return found
end

local function check_fields(object)
    assert.equal("2", object.spec.node)
    assert.equal(4, object.spec.map.k.l)
    assert.equal(2, object.spec.list[1].a)
    assert.is_nil(object.spec.gone)
    assert.equal("2", object.metadata.labels.app)
    assert.equal("2", object.metadata.uid)
    local node, l, first, gone, app = kubelua.get(object, "spec.node", "spec.map.k.l",
        "spec.list[*].a", "spec.gone", "metadata.labels.app")
    assert.same({ "2", 4, 2, "2" }, { node, l, first, app })
    assert.is_nil(gone)
    assert.equal(4, object:get("spec.map.k.l"))
    assert.equal(3, kubelua.get(object.spec.map, "j"))
end

local function check_whole(object, name)
    assert.equal(name, object.name)
    assert.same(EXPECTED, without_nulls(object.spec))
    assert.same(EXPECTED, without_nulls(object).spec)
    assert.same(EXPECTED, walk(object.spec))
    local json = object:json()
    assert.same(object:table(), kubelua.decode(json))
    assert.equal(1, select(2, json:gsub('"map"', "")))
    assert.equal(1, select(2, json:gsub('"app"', "")))
    assert.equal(1, select(2, kubelua.json(object.spec):gsub('"map"', "")))
    assert.equal(1, select(2, kubelua.json({ spec = object.spec }):gsub('"gone"', "")))
    assert.equal(kubelua.hash(object:table()), kubelua.hash(object))
end

local function check(object, name)
    check_fields(object)
    check_whole(object, name)
    check_fields(object)
end

for what, make in pairs { ["also in its head"] = text_of, ["in its depth"] = deep_text_of } do
    describe("an object with members of one name, " .. what .. ",", function()
        it("has the last of them in its text", function()
            check_fields(assert(core.object(make("a"))))
            assert.same(EXPECTED, walk(assert(core.object(make("a"))).spec))
            check(assert(core.object(make("a"))), "a")
        end)

        it("has the last of them in its tree", function()
            local object = assert(core.object(make("a")))
            assert.truthy(kubelua.json(object.spec)) -- parses it
            assert.same(EXPECTED, walk(object.spec))
            check(object, "a")
        end)

        it("has the last of them in a cache that compresses, and in its index", function()
            local sim, items = assert(Sim.new()), {}
            for i = 1, 300 do
                items[i] = make("c-" .. i)
            end
            sim:fail { verb = "list", resource = "configmaps", status = 200,
                content_type = "application/json",
                body = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{'
                    .. '"resourceVersion":"529"},"items":[' .. table.concat(items, ",") .. "]}" }
            local client = assert(sim:connect())
            local maps = assert(client:informer { "configmaps", streaming_list = false,
                indexes = { node = "spec.node", list = "spec.list[*].a", any = "spec.map[*]" } })
            assert(maps:wait_synced(10))
            for i = 1, 300, 50 do
                check(maps:get("web", "c-" .. i), "c-" .. i)
            end
            assert.equal(300, #maps:by("node", "2"))
            assert.equal(0, #maps:by("node", "1"))
            assert.equal(300, #maps:by("list", "2"))
            assert.equal(0, #maps:by("list", "1"))
            assert.equal(300, #maps:by("any", "3"))
            assert.equal(0, #maps:by("any", "2"))
            client:close()
            sim:close()
        end)
    end)
end

describe("a map of many members", function()
    it("has the last of those with one name", function()
        local members = {}
        for i = 1, 4000 do
            members[i] = ('"key-%d":%d'):format(i % 2000, i)
        end
        local data = assert(core.object('{"kind":"X","apiVersion":"v1","metadata":{"name":"a"},'
            .. '"data":{' .. table.concat(members, ",") .. "}}")).data
        local seen, count = {}, 0
        for key, value in kubelua.pairs(data) do
            seen[key], count = value, count + 1
        end
        assert.equal(2000, count)
        for i = 1, 2000 do
            local key = "key-" .. i % 2000
            assert.equal(2000 + i, data[key])
            assert.equal(2000 + i, seen[key])
        end
    end)
end)
