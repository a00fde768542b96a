-- kubelua.duration: as Go's time.Duration. spec/values compares random ones with it.
local kubelua = require "kubelua"

local function d(text)
    return assert(kubelua.duration(text))
end

describe("a duration", function()
    it("is written as Go writes it", function()
        for text, expected in pairs { ["1h30m"] = "1h30m0s", ["90m"] = "1h30m0s", ["1.5s"] = "1.5s",
            ["0"] = "0s", ["-0"] = "0s", ["1ns"] = "1ns", ["1500ns"] = "1.5\194\181s",
            ["1us"] = "1\194\181s", ["1\194\181s"] = "1\194\181s", ["1\206\188s"] = "1\194\181s",
            ["300ms"] = "300ms", ["-1.5h"] = "-1h30m0s", ["+5m"] = "5m0s", [".5m"] = "30s",
            ["1.s"] = "1s", ["1h1ns"] = "1h0m0.000000001s", ["1000s"] = "16m40s",
            ["0.3333333333333333333h"] = "20m0s", ["60s60m60h"] = "61h1m0s",
            ["9007199.254740993s"] = "2501h59m59.254740993s",
            ["9223372036854775807ns"] = "2562047h47m16.854775807s",
            ["-9223372036854775808ns"] = "-2562047h47m16.854775808s" } do
            assert.equal(expected, tostring(d(text)), text)
        end
    end)

    it("of a text that is none is nil, a message and \"parse\"", function()
        for text, why in pairs { [""] = "write numbers with units", ["-"] = "write numbers",
            ["1"] = "has no unit", ["1.5"] = "has no unit", ["1h5"] = "has no unit",
            ["1d"] = "no unit 'd'", ["1 h"] = "no unit ' h'", ["h"] = "write numbers",
            [".s"] = "write numbers", ["9223372036854775808ns"] = "292 years",
            ["2562048h"] = "292 years", ["-9223372036854775809ns"] = "292 years" } do
            local duration, message, code = kubelua.duration(text)
            assert.is_nil(duration, text)
            assert.matches(why, message, 1, true)
            assert.equal("parse", code)
        end
    end)

    it("of another value raises at the line of the script", function()
        for _, value in ipairs { true, {}, 0 / 0, math.huge, 1e10 } do
            assert.is_false((pcall(kubelua.duration, value)))
        end
    end)

    it("may be made of seconds, and has them", function()
        assert.equal("1m30s", tostring(d(90)))
        assert.equal("100ms", tostring(d(0.1)))
        assert.equal("-1.5s", tostring(d(-1.5)))
        assert.equal("1ns", tostring(d(0.6e-9)))
        assert.equal("0s", tostring(d(0.4e-9)))
        assert.equal(5400, d("1h30m"):seconds())
        assert.equal(-0.0015, d("-1.5ms"):seconds())
    end)

    it("is compared, added, subtracted and multiplied exactly", function()
        assert.is_true(d("60m") == d("1h"))
        assert.is_true(d("59m") < d("1h") and d("1h") <= d("1h") and d("-1h") < d("1ns"))
        assert.is_false(d("1h") == "1h")
        assert.equal(0, d("1h"):compare(3600))
        assert.equal(-1, d("1h"):compare("61m"))
        assert.equal(0, d("0"):compare("-0s"))
        assert.equal(0, d("0"):compare(-0.0))
        assert.equal("1h0m1.5s", tostring(d("1h") + 1.5))
        assert.equal("-1m0s", tostring(d("1h") - "61m"))
        assert.equal("1h30m0s", tostring(d("1h") * 1.5))
        assert.equal("-2s", tostring(-2 * d("1s")))
        assert.equal("-1s", tostring(-d("1s")))
        assert.equal("2501h59m59.254740994s", tostring(d("9007199.254740993s") + "1ns"))
        for _, call in ipairs {
            function() return d("2000000h") + "2000000h" end,
            function() return d("1h") * 1e10 end,
            function() return d("1h") * d("1h") end,
            function() return d("1h") + "x" end,
            function() return -d("-9223372036854775808ns") end,
        } do
            local ok, message = pcall(call)
            assert.is_false(ok)
            assert.matches("duration_spec.lua:%d+: ", message)
        end
    end)

    it("is a text in JSON, as metav1.Duration", function()
        assert.equal('{"interval":"1m30s"}', kubelua.json { interval = d(90) })
        assert.equal("every 1m30s", "every " .. d(90))
    end)

    it("is refused if it is longer than any that makes sense", function()
        local _, message, code = kubelua.duration(("0h"):rep(1001))
        assert.equal("parse", code)
        assert.matches("more than 2000 characters", message)
    end)

    it("is the less, the further below 0 it is", function()
        assert.is_true(d("-2h") < d("-1h"))
        assert.equal(1, d("-1s"):compare("-1.001s"))
        assert.equal("-1h0m0s", tostring(d("-3h") + d("2h")))
    end)
end)
