-- kubelua.json, decode, base64, hash, time and condition.
local core = require "kubelua.core"
local kubelua = require "kubelua"

describe("decode", function()
    it("makes Lua tables of JSON", function()
        local value = kubelua.decode('{"a":[1,"x",true,{"b":-2.5}],"c":"\\u00fc\\u0000"}')
        assert.same({ a = { 1, "x", true, { b = -2.5 } }, c = "ü\0" }, value)
        assert.equal(7, kubelua.decode(" 7 "))
        assert.is_false(kubelua.decode("false"))
        value.a[4].b = "changed"
        assert.equal("changed", value.a[4].b)
    end)

    it("keeps nulls, empty arrays and large integers, so it can be written again", function()
        for _, text in ipairs { "[]", "{}", '{"a":[]}', '{"a":{}}', "[null,null]", '[[],{},""]',
            "[9007199254740993,-9223372036854775808,18446744073709551615]",
            "123456789012345678901234567890" } do
            assert.equal(text, kubelua.json(kubelua.decode(text)))
        end
        assert.equal(kubelua.null, kubelua.decode("null"))
        assert.equal(kubelua.null, kubelua.decode("[null]")[1])
        assert.equal("9007199254740993", tostring(kubelua.decode("9007199254740993")))
    end)

    it("is nil, a message and \"parse\" for text that is not JSON", function()
        for _, text in ipairs { "", "{", "{'a':1}", "[1,]", "nul", "1 2", '"\255"', "\0",
            ("["):rep(10001) .. ("]"):rep(10001) } do
            local value, message, code = kubelua.decode(text)
            assert.is_nil(value)
            assert.equal("parse", code)
            assert.is_string(message)
        end
    end)
end)

describe("json", function()
    it("takes tables, views, parts of them and scalars", function()
        local pod = assert(core.object('{"metadata":{"name":"a"},"spec":{"a":[1]}}'))
        assert.equal('{"metadata":{"name":"a"},"spec":{"a":[1]}}', kubelua.json(pod))
        assert.equal('{"a":[1]}', kubelua.json(pod.spec))
        assert.equal('{"spec":{"a":[1]}}', kubelua.json { spec = pod.spec })
        assert.equal('[3,0.5,"x",true,null]', kubelua.json { 3.0, 0.5, "x", true, kubelua.null })
        assert.equal('"x"', kubelua.json("x"))
        assert.equal("[]", kubelua.json(kubelua.array {}))
        assert.equal("{}", kubelua.json {})
    end)
end)

describe("base64", function()
    it("encodes and decodes as RFC 4648 says", function()
        for plain, text in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v",
            foobar = "Zm9vYmFy", ["\0\255\0"] = "AP8A", ["p\0q"] = "cABx" } do
            assert.equal(text, kubelua.base64(plain))
            assert.equal(plain, kubelua.unbase64(text))
        end
        local all = {}
        for byte = 0, 255 do
            all[#all + 1] = string.char(byte)
        end
        local bytes = table.concat(all):rep(100)
        assert.equal(bytes, kubelua.unbase64(kubelua.base64(bytes)))
        assert.equal("foobar", kubelua.unbase64("Zm9v\nYmFy\r\n"))
    end)

    it("that is not valid is nil, a message and \"parse\"", function()
        for _, text in ipairs { "Zg", "Zg=", "Z", "Zm9v!", "Zm9v\0", "_w==", "Zg==Zg==" } do
            local bytes, message, code = kubelua.unbase64(text)
            assert.is_nil(bytes)
            assert.equal("parse", code)
            assert.matches("illegal base64 data at input byte %d", message)
        end
    end)
end)

describe("a hash", function()
    -- Made by Python's hashlib: the same in every process, interpreter and version.
    it("never changes between versions", function()
        assert.equal("chxpgctjv2q7vw", kubelua.hash {})
        assert.equal("clnzprgjwbwqd5", kubelua.hash {
            a = "ü\n", b = { x = { 1, -2.5, kubelua.null }, y = kubelua.array {} }, c = 1000,
        })
    end)

    it("can be a name, or the end of a name", function()
        for i = 1, 1000 do
            assert.matches("^[bcdfghjklmnpqrstvwxz][bcdfghjklmnpqrstvwxz2456789]+$",
                kubelua.hash { i = i })
        end
        assert.equal(14, #kubelua.hash {})
    end)

    it("does not depend on the order in which keys came", function()
        local up, down = {}, {}
        for i = 1, 100 do
            up["k" .. i] = i
            down["k" .. 101 - i] = 101 - i
        end
        -- Other numbers are added and removed first, which changes the table's order
        for i = 101, 200 do
            down["k" .. i] = i
            down["k" .. i] = nil
        end
        assert.equal(kubelua.hash(up), kubelua.hash(down))
    end)

    it("differs where values differ", function()
        local seen = {}
        local values = { {}, kubelua.array {}, { {} }, { 1 }, { "1" }, { 1, 2 }, { 2, 1 }, "", "1",
            1, 1.5, true, false, kubelua.null, { a = 1 }, { a = "1" }, { b = 1 }, { a = { b = 1 } },
            { a = kubelua.null }, { ["a\0"] = 1 } }
        for i, value in ipairs(values) do
            local hash = kubelua.hash(value)
            assert.is_nil(seen[hash], i)
            seen[hash] = true
        end
        for i = 1, 2000 do
            local hash = kubelua.hash { replica = i }
            assert.is_nil(seen[hash])
            seen[hash] = true
        end
    end)

    it("hashes a number by its value, as integer or float", function()
        assert.equal(kubelua.hash { n = 3 }, kubelua.hash { n = 3.0 })
        assert.equal(kubelua.hash { n = 2 ^ 60 }, kubelua.hash(kubelua.decode(
            '{"n":1152921504606846976}')))
        assert.equal(kubelua.hash { n = 0 }, kubelua.hash { n = -0.0 })
        assert.not_equal(kubelua.hash { n = 0.1 }, kubelua.hash { n = 0.2 })
    end)

    it("of a view is the hash of its table", function()
        local pod = assert(core.object([[{"kind":"Pod","metadata":{"name":"a","labels":{}},
            "spec":{"big":18446744073709551615,"real":1.0,"exponent":1e17,"empty":[],"none":null,
                "vast":123456789012345678901234567890}}]]))
        assert.equal(kubelua.hash(pod:table()), kubelua.hash(pod))
        assert.equal(kubelua.hash(kubelua.table(pod.spec)), kubelua.hash(pod.spec))
        assert.equal(kubelua.hash { spec = pod:table().spec }, kubelua.hash { spec = pod.spec })
        assert.not_equal(kubelua.hash(pod), kubelua.hash(pod.spec))
    end)

    it("of a value without JSON form raises", function()
        local loop = {}
        loop.loop = { loop }
        for _, value in ipairs { print, { f = print }, loop, { 1, a = 2 }, { [1] = 1, [3] = 3 },
            0 / 0, 1 / 0, "\255", { ["\255"] = 1 }, io.stdout, { [true] = 1 },
            coroutine.create(print) } do
            assert.has_error(function() kubelua.hash(value) end)
        end
        assert.has_error(function() kubelua.hash(nil) end)
        assert.has_error(function() kubelua.hash() end)
    end)
end)

describe("a time", function()
    it("is read as Unix time", function()
        assert.equal(0, kubelua.time("1970-01-01T00:00:00Z"))
        assert.equal(951827696, kubelua.time("2000-02-29T12:34:56Z"))
        assert.equal(1767225600.25, kubelua.time("2026-01-01T00:00:00.25Z"))
        assert.equal(1795341600, kubelua.time("2026-11-22t11:30:00.000+01:30"))
        assert.equal(-62135596800, kubelua.time("0001-01-01T00:00:00Z"))
        assert.equal(253402300799, kubelua.time("9999-12-31T23:59:59z"))
        assert.equal(662688000, kubelua.time("1990-12-31T23:59:60Z"))
        assert.equal("1795341600", tostring(kubelua.time("2026-11-22T10:00:00Z")))
    end)

    it("that is not valid is nil, a message and \"parse\"", function()
        for _, text in ipairs { "", "yesterday", "2026-11-22", "2026-11-22T10:00:00",
            "2026-02-29T10:00:00Z", "2026-11-22 10:00:00Z", "2026-11-22T10:00:00Z\0" } do
            local seconds, message, code = kubelua.time(text)
            assert.is_nil(seconds)
            assert.is_string(message)
            assert.equal("parse", code)
        end
    end)

    it("is written in whole seconds, or in six digits", function()
        assert.equal("2026-11-22T10:00:00Z", kubelua.timestamp(1795341600))
        assert.equal("2026-11-22T10:00:00Z", kubelua.timestamp(1795341600.999))
        assert.equal("2026-11-22T10:00:00.000000Z", kubelua.timestamp(1795341600, 6))
        assert.equal("2026-11-22T10:00:00.999000Z", kubelua.timestamp(1795341600.999, 6))
        assert.equal("2026-11-22T10:00:01.000000Z", kubelua.timestamp(1795341600.9999999, 6))
        assert.equal("1969-12-31T23:59:58.500000Z", kubelua.timestamp(-1.5, 6))
        assert.equal("1969-12-31T23:59:58Z", kubelua.timestamp(-1.5))
        assert.equal("0001-01-01T00:00:00Z", kubelua.timestamp(-62135596800))
        assert.equal("9999-12-31T23:59:59Z", kubelua.timestamp(253402300799))
    end)

    it("of a Lease is written again unchanged", function()
        for micros = 0, 999999, 4999 do
            local text = ("2026-11-22T10:00:00.%06dZ"):format(micros)
            assert.equal(text, kubelua.timestamp(kubelua.time(text), 6))
        end
        local now = kubelua.now()
        assert.is_true(math.abs(kubelua.time(kubelua.timestamp(now, 6)) - now) < 2e-6)
    end)

    it("that RFC 3339 cannot write raises", function()
        for _, seconds in ipairs { 0 / 0, 1 / 0, -1 / 0, 1e300, 253402300800, -62135596801,
            "1795341600", false } do
            assert.has_error(function() kubelua.timestamp(seconds) end)
        end
        assert.has_error(function() kubelua.timestamp(0, 3) end)
        assert.has_error(function() kubelua.timestamp(0, "6") end)
    end)
end)

describe("a condition", function()
    local READY = '{"metadata":{"name":"a"},"status":{"conditions":['
        .. 'null,{"type":"Initialized","status":"True"},'
        .. '{"type":"Ready","status":"False","reason":"Why"}]}}'

    it("is found by its type in views and tables", function()
        for _, object in ipairs { assert(core.object(READY)), (kubelua.decode(READY)),
            { status = assert(core.object(READY)).status } } do
            assert.equal("Why", kubelua.condition(object, "Ready").reason)
            assert.equal("True", kubelua.condition(object, "Initialized").status)
            assert.is_nil(kubelua.condition(object, "ready"))
        end
    end)

    it("of a table is the table itself", function()
        local object = kubelua.decode(READY)
        kubelua.condition(object, "Ready").status = "True"
        assert.equal("True", object.status.conditions[3].status)
    end)

    it("is nil if there is no status, or one of another form", function()
        for _, status in ipairs { "null", "{}", '"Ready"', "[1]", '{"conditions":null}',
            '{"conditions":[]}', '{"conditions":"Ready"}', '{"conditions":{"type":"Ready"}}',
            '{"conditions":["Ready",7,[],null]}' } do
            local text = '{"metadata":{"name":"a"},"status":' .. status .. "}"
            assert.is_nil(kubelua.condition(kubelua.decode(text), "Ready"), text)
            assert.is_nil(kubelua.condition(assert(core.object(text)), "Ready"), text)
        end
        assert.is_nil(kubelua.condition({}, "Ready"))
        assert.is_nil(kubelua.condition(assert(core.object('{"metadata":{"name":"a"}}')), "Ready"))
    end)

    it("of a value that is no object raises", function()
        assert.has_error(function() kubelua.condition(nil, "Ready") end)
        assert.has_error(function() kubelua.condition("Ready", "Ready") end)
        assert.has_error(function() kubelua.condition(kubelua.null, "Ready") end)
        assert.has_error(function() kubelua.condition({}) end)
    end)
end)
