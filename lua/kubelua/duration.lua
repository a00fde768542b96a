-- kubelua.duration: times as Go writes them ("1h30m"), which is how metav1.Duration has them in
-- JSON. The rules are those of ParseDuration and Duration.String in Go's package time
-- (docs/KUBERNETES.md#durations). Exact: a count of nanoseconds within 64 bits.
local exact = require "kubelua.exact"
local misuse = require "kubelua.misuse"
local natural = require "kubelua.natural"

---A time span, which never changes: each operation returns a new one.
---@class kubelua.Duration
---@operator add(kubelua.Duration|string|number): kubelua.Duration
---@operator sub(kubelua.Duration|string|number): kubelua.Duration
---@operator mul(number): kubelua.Duration
---@operator unm: kubelua.Duration
local methods = {}

local Duration = { __name = "kubelua.Duration", __index = methods }

-- The key of the fields that are not for the script.
local INSIDE = {}

local NANOSECONDS = { ns = 1, us = 1e3, ["\194\181s"] = 1e3, ["\206\188s"] = 1e3, ms = 1e6, s = 1e9,
    m = 60e9, h = 3600e9 }
local UNITS = {}
for unit, nanoseconds in pairs(NANOSECONDS) do
    UNITS[unit] = natural.parse(string.format("%.0f", nanoseconds))
end

local MOST = natural.parse("9223372036854775807") -- 2^63-1
local MOST_NEGATIVE = natural.parse("9223372036854775808")
local MOST_TEXT = "9223372036854775808"
local MOST_LENGTH = 2000 -- characters of a duration

---@param span kubelua.exact.Number
---@return kubelua.Duration
local function make(span)
    span.negative = span.negative and #span.nanos > 0
    return setmetatable({ [INSIDE] = span }, Duration)
end

---@return kubelua.exact.Number?
local function inside(value)
    return getmetatable(value) == Duration and rawget(value, INSIDE) or nil
end

local function has_room(span)
    return natural.compare(span.nanos, span.negative and MOST_NEGATIVE or MOST) <= 0
end

-- The nanoseconds of a fraction, cut off. As in Go, digits that 64 bits cannot hold do not count,
-- and the product is one of doubles.
local function of_fraction(places, nanoseconds)
    local digits, scale = "", 1.0
    for digit in places:gmatch("%d") do
        local more = digits == "" and digit == "0" and "" or digits .. digit
        if #more > #MOST_TEXT or (#more == #MOST_TEXT and more > MOST_TEXT) then
            break
        end
        digits, scale = more, scale * 10
    end
    local fraction = (tonumber(digits) or 0) + 0.0
    return natural.parse(string.format("%.0f", math.floor(fraction * (nanoseconds / scale))))
end

-- Reads one number and unit at the start of the text; returns the nanoseconds and the rest.
local function read_part(text)
    local whole, places, unit, rest = text:match("^(%d*)%.?(%d*)([^%.%d]*)(.*)$")
    if whole == "" and places == "" then
        return nil, "write numbers with units, such as 1h30m, 1.5s or 300ms"
    elseif unit == "" then
        return nil, "a number has no unit: use ns, us, ms, s, m or h"
    elseif not UNITS[unit] then
        return nil, "there is no unit '" .. unit .. "': use ns, us, ms, s, m or h"
    end
    local nanos = natural.multiply(natural.parse(whole), UNITS[unit])
    if places ~= "" then
        nanos = natural.add(nanos, of_fraction(places, NANOSECONDS[unit]))
    end
    return nanos, rest
end

---@return kubelua.exact.Number?, string?
local function parse(text)
    if #text > MOST_LENGTH then
        return nil, "it has more than " .. MOST_LENGTH .. " characters"
    end
    local sign, rest = text:match("^([+-]?)(.*)$")
    local span = { negative = sign == "-", nanos = {} }
    if rest == "0" then
        return { negative = false, nanos = {} }
    elseif rest == "" then
        return nil, "write numbers with units, such as 1h30m, 1.5s or 300ms"
    end
    while rest ~= "" do
        local nanos
        nanos, rest = read_part(rest)
        if not nanos then
            return nil, rest
        end
        span.nanos = natural.add(span.nanos, nanos)
    end
    if not has_room(span) then
        return nil, "it is longer than 292 years, the most that 64 bits of nanoseconds hold"
    end
    span.negative = span.negative and #span.nanos > 0
    return span
end

local function check_room(call, span)
    if not has_room(span) then
        misuse("%s: longer than 292 years, the most that a duration holds", call)
    end
    return span
end

-- A number times a span of nanoseconds, rounded to a nanosecond (half of one: away from 0).
local function multiply(call, span, number)
    local digits, power = natural.decimal(math.abs(number))
    local nanos = natural.multiply(span.nanos, natural.parse(digits))
    if power > 0 then
        nanos = natural.shift(nanos, power)
    elseif power < 0 then
        local text = natural.text(nanos)
        nanos = natural.parse(text:sub(1, power - 1))
        if (tonumber(text:sub(power, power)) or 0) >= 5 then
            nanos = natural.add(nanos, { 1 })
        end
    end
    local is_negative = span.negative ~= (number < 0) and #nanos > 0
    return check_room(call, { negative = is_negative, nanos = nanos })
end

local SECOND = { negative = false, nanos = UNITS.s }

---@type kubelua.exact.Class
local CLASS = { what = "a duration", inside = inside, parse = parse,
    of_number = function(call, number) return multiply(call, SECOND, number) end,
    expected = "a duration, a text such as \"1h30m\", or a finite number of seconds" }

local function operand(call, value)
    return exact.operand(CLASS, call, value)
end

local function add(call, a, b)
    return make(check_room(call, exact.add(a, b)))
end

local function negate(a)
    return { negative = not a.negative and #a.nanos > 0, nanos = a.nanos }
end

-- Digits with a point before the last `places`, without zeros at its end.
local function write_fraction(digits, places)
    digits = ("0"):rep(places + 1 - #digits) .. digits
    local whole, fraction = digits:sub(1, #digits - places), digits:sub(#digits - places + 1)
    fraction = fraction:match("^(.-)0*$")
    return whole .. (fraction ~= "" and "." .. fraction or "")
end

local function write(nanos)
    local digits = natural.text(nanos)
    if #digits <= 3 then
        return digits == "0" and "0s" or digits .. "ns"
    elseif #digits <= 6 then
        return write_fraction(digits, 3) .. "\194\181s"
    elseif #digits <= 9 then
        return write_fraction(digits, 6) .. "ms"
    end
    local seconds = tonumber(digits:sub(1, -10))
    local minutes = (seconds - seconds % 60) / 60
    local text = write_fraction(string.format("%.0f", seconds % 60) .. digits:sub(-9), 9) .. "s"
    if minutes >= 60 then
        return string.format("%.0fh%.0fm%s", (minutes - minutes % 60) / 60, minutes % 60, text)
    end
    return minutes > 0 and string.format("%.0fm%s", minutes, text) or text
end

local function check(call, self)
    return inside(self) or misuse("%s: call it with a colon, as in duration:%s()", call, call)
end

---The number of seconds: the nearest double.
---@return number
function methods:seconds()
    return exact.to_number(check("seconds", self))
end

---@param other kubelua.Duration|string|number a number is of seconds
---@return integer -1 if it is less than the other, 0 if they are equal, 1 if it is more
function methods:compare(other)
    return exact.compare(check("compare", self), operand("duration:compare", other))
end

function Duration.__add(a, b)
    return add("a duration +", operand("a duration +", a), operand("a duration +", b))
end

function Duration.__sub(a, b)
    return add("a duration -", operand("a duration -", a), negate(operand("a duration -", b)))
end

function Duration.__unm(a)
    return make(check_room("- of a duration", negate(inside(a))))
end

function Duration.__mul(a, b)
    return make(multiply("a duration *", exact.factors(CLASS, a, b)))
end

function Duration.__tostring(self)
    local span = inside(self)
    return (span.negative and "-" or "") .. write(span.nanos)
end

exact.add_operators(CLASS, Duration)

---Reads a duration as Go's time.ParseDuration does, or makes one of a number of seconds; or nil,
---message, "parse".
---@param value string|number|kubelua.Duration
---@return kubelua.Duration?, string?, string?
return function(value)
    if inside(value) then
        return value --[[@as kubelua.Duration]]
    elseif exact.is_finite(value) then
        return make(multiply("kubelua.duration", SECOND, value))
    elseif type(value) ~= "string" then
        return misuse("kubelua.duration: a text such as \"1h30m\", or a finite number of seconds "
            .. "expected, not %s", exact.describe(value))
    end
    local span, problem = parse(value)
    if not span then
        return nil, string.format("'%s' is not a duration: %s", value:sub(1, 100),
            problem), "parse"
    end
    return make(span)
end
