-- kubelua.quantity: as resource.Quantity of apimachinery. spec/values compares random ones with it.
local kubelua = require "kubelua"

local function q(text)
    return assert(kubelua.quantity(text))
end

describe("a quantity", function()
    it("is written in canonical form, with the format it had", function()
        for text, expected in pairs { ["1500m"] = "1500m", ["1.5"] = "1500m", ["0.5"] = "500m",
            ["1000"] = "1k", ["1000m"] = "1", ["12e6"] = "12e6", ["1E3"] = "1E3", ["1e4"] = "10e3",
            ["1.5Gi"] = "1536Mi", ["1024Ki"] = "1Mi", ["1025Ki"] = "1025Ki", ["0.5Ki"] = "512",
            ["0.1Ki"] = "102400m", ["512Ki"] = "512Ki", ["0"] = "0", ["-0"] = "0", ["0Gi"] = "0",
            ["100000u"] = "100m", ["1n"] = "1n", ["-1500m"] = "-1500m", ["1.500"] = "1.500",
            ["+5"] = "+5", ["007"] = "007", ["100E"] = "100E", ["1000k"] = "1M",
            ["123456789012345678901234567890"] = "123456789012345678901234567890",
            ["9007199254740993"] = "9007199254740993", ["0.1234567891"] = "123456790n" } do
            assert.equal(expected, tostring(q(text)), text)
        end
    end)

    it("finer than a billionth is rounded away from 0", function()
        assert.equal("1n", tostring(q("0.1n")))
        assert.equal("-1e-9", tostring(q("-1e-30")))
        assert.equal(0, q("-0"):compare("-0Ki"))
    end)

    it("with a binary suffix is 2^63-1 at most", function()
        assert.equal("9223372036854775807", tostring(q("8Ei")))
        assert.equal("7Ei", tostring(q("7Ei")))
        assert.equal("-9223372036854775807", tostring(q("-100Ei")))
    end)

    it("of 1000E and more keeps its suffix, which Go loses", function()
        assert.equal("1000E", tostring(q("1000E")))
        assert.equal("1e21", tostring(q("1000e18")))
        assert.equal("1024Ei", tostring(q("1Ei") * 1024))
    end)

    it("of a text that is none is nil, a message and \"parse\"", function()
        for text, why in pairs { [""] = "write a number", ["1x"] = "write a number",
            ["1 "] = "write a number", ["1.2.3"] = "write a number", ["1KB"] = "write a number",
            ["1K"] = "the suffix 'K'", ["1e"] = "the suffix 'e'", ["1mi"] = "the suffix 'mi'",
            ["1e1001"] = "beyond 1000", ["Pi"] = "no digits", ["1\0"] = "write a number" } do
            local quantity, message, code = kubelua.quantity(text)
            assert.is_nil(quantity, text)
            assert.matches(why, message, 1, true)
            assert.equal("parse", code)
        end
    end)

    it("of another value raises at the line of the script", function()
        for _, value in ipairs { true, {}, 0 / 0, math.huge, print } do
            local ok, message = pcall(kubelua.quantity, value)
            assert.is_false(ok)
            assert.matches("kubelua.quantity: a text such as", message, 1, true)
        end
        assert.is_false((pcall(kubelua.quantity)))
    end)

    it("may be made of a number, as JSON has it", function()
        for text, number in pairs { ["3"] = 3, ["100m"] = 0.1, ["-2500m"] = -2.5, ["0"] = 0,
            ["100E"] = 1e20, ["1n"] = 1e-12, ["9007199254740991"] = 2 ^ 53 - 1 } do
            assert.equal(text, tostring(q(number)))
        end
        local cpu = q("2")
        assert.equal(cpu, kubelua.quantity(cpu))
    end)

    it("is compared as an amount", function()
        assert.is_true(q("1") == q("1000m"))
        assert.is_true(q("1Ki") == q("1024"))
        assert.is_true(q("1Ki") > q("1k"))
        assert.is_true(q("-1") < q("0.5n"))
        assert.is_true(q("1") <= q("1") and q("1") >= q("1"))
        assert.is_false(q("1") < q("1"))
        assert.is_false(q("1") == "1")
        assert.is_false(q("1") == {})
        assert.is_true(q("9007199254740992") < q("9007199254740993"))
        assert.equal(-1, q("500m"):compare("1"))
        assert.equal(0, q("500m"):compare(0.5))
        assert.equal(1, q("2Gi"):compare(q("1G")))
    end)

    it("is added, subtracted, multiplied and negated exactly", function()
        assert.equal("1500m", tostring(q("1") + q("500m")))
        assert.equal("1Mi", tostring(q("0") + q("1Mi")))
        assert.equal("1536Mi", tostring(q("1Gi") + "512Mi"))
        assert.equal("500m", tostring(1 - q("500m")))
        assert.equal("-1", tostring(q("1") - q("2")))
        assert.equal("0", tostring(q("3Gi") - "3Gi"))
        assert.equal("6Gi", tostring(q("2Gi") * 3))
        assert.equal("-6Gi", tostring(-3 * q("2Gi")))
        assert.equal("110m", tostring(q("100m") * 1.1))
        assert.equal("1n", tostring(q("1n") * 0.25))
        assert.equal("-1k", tostring(-q("1k")))
        assert.equal("14Ei", tostring(q("7Ei") + q("7Ei")))
        assert.equal("9007199254740993", tostring(q("9007199254740992") + 1))
        local before = q("1")
        local _ = before + "1"
        assert.equal("1", tostring(before))
    end)

    it("tells a wrong operand at the line of the script", function()
        for _, call in ipairs {
            function() return q("1") + "x" end,
            function() return q("1") + {} end,
            function() return q("1") * "2" end,
            function() return q("1") * q("2") end,
            function() return q("1") * (0 / 0) end,
            function() return q("1"):compare(nil) end,
            function() return q("1").value({}) end,
        } do
            local ok, message = pcall(call)
            assert.is_false(ok)
            assert.matches("quantity_spec.lua:%d+: ", message)
        end
    end)

    it("has an integer, thousandths and a number", function()
        assert.equal(2, q("1500m"):value())
        assert.equal(-2, q("-1500m"):value())
        assert.equal(1500, q("1.5"):milli())
        assert.equal(1, q("1u"):milli())
        assert.equal(1.5, q("1500m"):number())
        assert.equal(2 ^ 30, q("1Gi"):value())
        assert.equal(1e21, q("1000E"):value())
        assert.equal("BinarySI", q("1Ki"):format())
        assert.equal("DecimalSI", q("1k"):format())
        assert.equal("DecimalExponent", q("1e3"):format())
    end)

    it("is a text in JSON, in copies and in messages", function()
        local pod = { limits = { cpu = q("1") * 2, memory = q("1Gi") }, list = { q("5") } }
        assert.equal('{"list":["5"]}', kubelua.json { list = pod.list })
        assert.equal('{"cpu":"2"}', kubelua.json { cpu = pod.limits.cpu })
        assert.equal('"2"', kubelua.json(pod.limits.cpu))
        assert.equal("2", tostring(kubelua.table(pod).limits.cpu))
        assert.equal(kubelua.hash { a = "2" }, kubelua.hash { a = pod.limits.cpu })
        assert.equal("cpu: 2!", "cpu: " .. pod.limits.cpu .. "!")
    end)
end)

describe("a quantity in what is written", function()
    local cluster, client

    setup(function()
        cluster = assert(require("kubelua.sim").new())
        client = assert(kubelua.connect { sim = cluster })
    end)

    teardown(function()
        client:close()
        cluster:close()
    end)

    local function quota(cpu)
        return { apiVersion = "v1", kind = "ResourceQuota", spec = { hard = { cpu = cpu } },
            metadata = { name = "a", namespace = "default" } }
    end

    it("is its text in each verb, and in what is waited for", function()
        local function expect_cpu(text, object, message)
            assert.equal(text, assert(object, message).spec.hard.cpu)
        end
        expect_cpu("2", client:create(quota(q("1") * 2)))
        expect_cpu("3", client:update(quota(q("3"))))
        expect_cpu("4", client:apply(quota(q("4")), { force = true }))
        expect_cpu("5", client:patch("resourcequotas", "default/a", quota(q("5"))))
        expect_cpu("500m", client:patch("resourcequotas", "default/a",
            { { op = "replace", path = "/spec/hard/cpu", value = q("0.5") } }, { type = "json" }))
        expect_cpu("500m", client:wait("resourcequotas", "default/a",
            { spec = { hard = { cpu = q("0.5") } } }, 5))
    end)

    -- With one pattern for all parts the first of these took a minute.
    it("is refused at once when a long text is none", function()
        local digits = ("1"):rep(2000)
        local refused, message, code = kubelua.quantity(digits:sub(2) .. "!")
        assert.same({ nil, "parse" }, { refused, code })
        assert.matches("write a number and a suffix", message)
        assert.matches("more than 2000 characters",
            (select(2, kubelua.quantity(digits .. "1"))))
        assert.is_table(kubelua.quantity(digits))
    end)

    it("takes integers exactly that no double holds", function()
        local least = rawget(math, "mininteger")
        if least then
            assert.equal("9007199254740993", tostring(kubelua.quantity(9007199254740993)))
            assert.equal("-9223372036854775808", tostring(kubelua.quantity(least)))
        end
        assert.equal("-9007199254740991", tostring(kubelua.quantity(-9007199254740991)))
    end)

    it("is the less, the further below 0 it is", function()
        assert.is_true(q("-2Gi") < q("-1Gi"))
        assert.is_false(q("-1Gi") <= q("-2Gi"))
        assert.equal(1, q("-1"):compare("-1001m"))
        assert.equal(-1, q("-1n"):compare(0))
        assert.equal("-1", tostring(q("-3") + q("2")))
    end)
end)
