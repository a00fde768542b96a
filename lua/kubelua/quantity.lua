-- kubelua.quantity: amounts as Kubernetes writes them ("1500m", "2Gi"), exact. The rules are those
-- of ParseQuantity and Quantity.String in k8s.io/apimachinery, pkg/api/resource
-- (docs/KUBERNETES.md#quantities).
local exact = require "kubelua.exact"
local misuse = require "kubelua.misuse"
local natural = require "kubelua.natural"

---An amount, which never changes: each operation returns a new one.
---@class kubelua.Quantity
---@operator add(kubelua.Quantity|string|number): kubelua.Quantity
---@operator sub(kubelua.Quantity|string|number): kubelua.Quantity
---@operator mul(number): kubelua.Quantity
---@operator unm: kubelua.Quantity
local methods = {}

local Quantity = { __name = "kubelua.Quantity", __index = methods }

-- The key of the fields that are not for the script.
local INSIDE = {}

---@class kubelua.quantity.Amount: kubelua.exact.Number
---@field format "DecimalSI"|"BinarySI"|"DecimalExponent"
---@field text string? what it was made of, if that is its canonical form

-- ten: the power of ten; two: that of two.
local SUFFIXES = {
    [""] = { ten = 0 }, n = { ten = -9 }, u = { ten = -6 }, m = { ten = -3 }, k = { ten = 3 },
    M = { ten = 6 }, G = { ten = 9 }, T = { ten = 12 }, P = { ten = 15 }, E = { ten = 18 },
    Ki = { two = 10 }, Mi = { two = 20 }, Gi = { two = 30 }, Ti = { two = 40 }, Pi = { two = 50 },
    Ei = { two = 60 },
}

local DECIMAL, BINARY = {}, {} -- suffixes by power
for suffix, powers in pairs(SUFFIXES) do
    DECIMAL[powers.ten or "none"] = suffix
    BINARY[powers.two or "none"] = suffix
end

local ONE = natural.parse("1000000000") -- in units of 10^-9
local TIMES_1024 = natural.parse("1024")
-- An amount with a binary suffix is 2^63-1 at most: a larger one becomes this one.
local MOST_BINARY = natural.shift(natural.parse("9223372036854775807"), 9)
-- Apimachinery takes any power of ten, and cuts it to 32 bits. A number of a thousand digits is
-- enough.
local MOST_POWER = 1000
-- The largest number of digits with which apimachinery keeps an amount as an integer.
local MOST_DIGITS = 18

---@param amount kubelua.quantity.Amount
---@return kubelua.Quantity
local function make(amount)
    amount.negative = amount.negative and #amount.nanos > 0
    return setmetatable({ [INSIDE] = amount }, Quantity)
end

---@return kubelua.quantity.Amount?
local function inside(value)
    return getmetatable(value) == Quantity and rawget(value, INSIDE) or nil
end

-- True if apimachinery keeps the text as it came. It does for short texts in canonical form, whose
-- sign and leading zeros may be any. `digits` are without leading zeros in front of the point.
local function is_canonical(digits, whole, places, powers)
    if powers.two then
        return places == 0 and 14 - whole - powers.two * 3 / 10 >= 0
            and (tonumber(digits:sub(-3)) or 0) % 8 ~= 0
    end
    local power = powers.ten - places
    return whole + places <= MOST_DIGITS and power >= -9 and power % 3 == 0
        and digits:sub(-3) ~= "000" and digits:sub(1, 1) ~= "0"
end

local MOST_TEXT = 2000 -- characters of a quantity
local number_type = rawget(math, "type") -- nil in LuaJIT

-- True if the part before the suffix may lack digits: apimachinery takes it for 0 where it does not
-- need an arbitrary precision.
local function may_lack_digits(powers)
    return powers.two and powers.two < 50 or powers.ten and powers.ten >= -9
end

local function read_suffix(suffix)
    local powers = SUFFIXES[suffix]
    if powers then
        return powers, powers.two and "BinarySI" or "DecimalSI"
    end
    local power = tonumber(suffix:match("^[eE]([+-]?%d+)$"))
    if not power then
        return nil, "the suffix '" .. suffix .. "' is none of a quantity: use n, u, m, k, M, G, T, "
            .. "P, E, Ki, Mi, Gi, Ti, Pi, Ei, or an exponent such as e3"
    elseif math.abs(power) > MOST_POWER then
        return nil, "the exponent is beyond " .. MOST_POWER
    end
    return { ten = power }, "DecimalExponent"
end

-- The digits times the suffix, in units of 10^-9, and rounded up.
local function apply_suffix(digits, places, powers)
    local number = natural.parse(digits)
    for _ = 1, (powers.two or 0) / 10 do
        number = natural.multiply(number, TIMES_1024)
    end
    return (natural.shift(number, 9 - places + (powers.ten or 0)))
end

---@return kubelua.quantity.Amount?, string?
local function parse(text)
    if #text > MOST_TEXT then
        return nil, "it has more than " .. MOST_TEXT .. " characters"
    end
    -- Each part on its own: in one pattern a text that fails costs the cube of its length.
    local sign, whole, at = text:match("^([+-]?)(%d*)()")
    local places = ""
    if text:sub(at, at) == "." then
        places, at = text:match("^(%d*)()", at + 1)
    end
    local suffix = text:match("^[eEinumkKMGTP]*[+-]?%d*$", at)
    if not suffix or text == "" then
        return nil, "write a number and a suffix, such as 1500m, 0.5 or 2Gi"
    end
    local powers, format = read_suffix(suffix)
    if not powers then
        return nil, format
    end
    if whole == "" and places == "" and not may_lack_digits(powers) then
        return nil, "it has no digits"
    end
    whole = whole:gsub("^0+", "")
    whole = whole == "" and "0" or whole
    local nanos = apply_suffix(whole .. places, #places, powers)
    if powers.two and natural.compare(nanos, MOST_BINARY) > 0 then
        nanos = MOST_BINARY
    end
    local is_kept = is_canonical(whole .. places, #whole, #places, powers)
    if powers.two and #nanos > 0 and natural.compare(nanos, ONE) < 0 then
        format = "DecimalSI"
    end
    return { negative = sign == "-" and #nanos > 0, nanos = nanos, format = format,
        text = is_kept and text or nil }
end

-- A finite Lua number: whole numbers exactly; others as the shortest decimal number that is this
-- double, so 0.1 is "0.1".
local function of_number(number)
    local digits, power
    if number_type and number_type(number) == "integer" then -- also beyond what a double holds
        digits, power = string.format("%d", number):match("%d+"), 0
    else
        digits, power = natural.decimal(math.abs(number))
    end
    return { negative = number < 0, nanos = natural.shift(natural.parse(digits), 9 + power),
        format = "DecimalSI" }
end

---@type kubelua.exact.Class
local CLASS = { what = "a quantity", inside = inside, parse = parse,
    of_number = function(_, number) return of_number(number) end,
    expected = "a quantity, a text such as \"500m\", or a finite number" }

local function operand(call, value)
    return exact.operand(CLASS, call, value)
end

-- As Quantity.Add: the sum has the format of `a`, or that of `b` if `a` is 0.
local function add(a, b)
    local sum = exact.add(a, b)
    sum.format = #a.nanos == 0 and b.format or a.format
    return make(sum)
end

local function negate(a)
    return { negative = not a.negative and #a.nanos > 0, nanos = a.nanos, format = a.format }
end

local function divide_1024(number)
    local power = 0
    local quotient, rest = natural.divide(number, 1024)
    while rest == 0 and power < 60 do
        number, power = quotient, power + 10
        quotient, rest = natural.divide(number, 1024)
    end
    return natural.text(number) .. (power > 0 and BINARY[power] or "")
end

-- The digits, and the largest suffix without a fraction. Amounts of 1000E and more have no larger
-- suffix: apimachinery writes none then, so 1000E becomes 1; here it stays 1000E.
local function write_decimal(amount)
    local digits = natural.text(amount.nanos)
    local short = digits:match("^(.-)0*$")
    local power = #digits - #short - 9
    while power % 3 ~= 0 or (amount.format ~= "DecimalExponent" and power > 18) do
        short, power = short .. "0", power - 1
    end
    if amount.format == "DecimalExponent" then
        return short .. (power ~= 0 and string.format("e%d", power) or "")
    end
    return short .. DECIMAL[power]
end

local function write(amount)
    if #amount.nanos == 0 then
        return "0"
    elseif amount.format == "BinarySI" then
        local whole, is_exact = natural.shift(amount.nanos, -9)
        if is_exact and natural.compare(whole, TIMES_1024) >= 0 then
            return (amount.negative and "-" or "") .. divide_1024(whole)
        end
    end
    return (amount.negative and "-" or "") .. write_decimal(amount)
end

local function check(call, self)
    return inside(self) or misuse("%s: call it with a colon, as in quantity:%s()", call, call)
end

-- The amount in units of 10^power, rounded away from 0, as Quantity.Value and MilliValue say.
local function to_units(amount, power)
    local whole = natural.text((natural.shift(amount.nanos, -9 - power)))
    return tonumber((amount.negative and "-" or "") .. whole)
end

---The amount as an integer; a fraction is rounded away from 0. A number of Lua: an integer up to
---2^63 in Lua 5.4, exact up to 2^53 in LuaJIT, beyond that the nearest double.
---@return number
function methods:value()
    return to_units(check("value", self), 0)
end

---The same in thousandths: 1500 for "1.5".
---@return number
function methods:milli()
    return to_units(check("milli", self), -3)
end

---The amount as the nearest double.
---@return number
function methods:number()
    return exact.to_number(check("number", self))
end

---@param other kubelua.Quantity|string|number
---@return integer -1 if it is less than the other, 0 if they are equal, 1 if it is more
function methods:compare(other)
    return exact.compare(check("compare", self), operand("quantity:compare", other))
end

---How its text is written: as powers of 1000, of 1024, or with an exponent.
---@return "DecimalSI"|"BinarySI"|"DecimalExponent"
function methods:format()
    return check("format", self).format
end

function Quantity.__add(a, b)
    return add(operand("a quantity +", a), operand("a quantity +", b))
end

function Quantity.__sub(a, b)
    return add(operand("a quantity -", a), negate(operand("a quantity -", b)))
end

function Quantity.__unm(a)
    return make(negate(inside(a)))
end

-- A product that is finer than 10^-9 is rounded away from 0, as in parsing.
function Quantity.__mul(a, b)
    local amount, factor = exact.factors(CLASS, a, b)
    local digits, power = natural.decimal(math.abs(factor))
    return make { negative = amount.negative ~= (factor < 0), format = amount.format,
        nanos = natural.shift(natural.multiply(amount.nanos, natural.parse(digits)), power) }
end

-- The canonical form, with the format that it has been parsed from.
function Quantity.__tostring(self)
    local amount = inside(self)
    amount.text = amount.text or write(amount)
    return amount.text
end

exact.add_operators(CLASS, Quantity)

---Reads a quantity; or nil, message, "parse".
---@param value string|number|kubelua.Quantity
---@return kubelua.Quantity?, string?, string?
return function(value)
    if inside(value) then
        return value --[[@as kubelua.Quantity]]
    elseif exact.is_finite(value) then
        return make(of_number(value))
    elseif type(value) ~= "string" then
        return misuse("kubelua.quantity: a text such as \"500m\", or a finite number expected, "
            .. "not %s", exact.describe(value))
    end
    local amount, problem = parse(value)
    if not amount then
        return nil, string.format("'%s' is not a quantity: %s", value:sub(1, 100),
            problem), "parse"
    end
    return make(amount)
end
