-- What kubelua.quantity and kubelua.duration share: exact numbers with a sign, counted in units of
-- 10^-9, and the operators of a class of them.
local misuse = require "kubelua.misuse"
local natural = require "kubelua.natural"

local exact = {}

---@class kubelua.exact.Number
---@field negative boolean false if it is 0
---@field nanos kubelua.Natural

function exact.is_finite(value)
    return type(value) == "number" and value == value and math.abs(value) ~= math.huge
end

---What a message says of a value of a wrong type: "nan", "a table".
---@return string
function exact.describe(value)
    return type(value) == "number" and tostring(value) or "a " .. type(value)
end

---@param a kubelua.exact.Number
---@param b kubelua.exact.Number
---@return integer order 0 if they are equal, below 0 if `a` is less, else above 0
function exact.compare(a, b)
    if a.negative ~= b.negative then
        return a.negative and -1 or 1
    end
    local order = natural.compare(a.nanos, b.nanos)
    return a.negative and -order or order
end

---@param a kubelua.exact.Number
---@param b kubelua.exact.Number
---@return kubelua.exact.Number a new table; `negative` may be true of 0
function exact.add(a, b)
    if a.negative == b.negative then
        return { negative = a.negative, nanos = natural.add(a.nanos, b.nanos) }
    elseif natural.compare(a.nanos, b.nanos) < 0 then
        a, b = b, a
    end
    return { negative = a.negative, nanos = natural.subtract(a.nanos, b.nanos) }
end

---The nearest double.
---@param a kubelua.exact.Number
---@return number
function exact.to_number(a)
    return tonumber((a.negative and "-" or "") .. natural.text(a.nanos) .. "e-9") --[[@as number]]
end

---What a class tells of its objects.
---@class kubelua.exact.Class
---@field what string "a quantity", for messages
---@field inside fun(value: any): kubelua.exact.Number? nil: it is none of the class
---@field parse fun(text: string): kubelua.exact.Number?, string?
---@field of_number fun(call: string, number: number): kubelua.exact.Number
---@field expected string what an operand may be, for messages

---The number of an operand: an object, a text or a number. Raises for anything else.
---@param class kubelua.exact.Class
---@param call string for messages
---@param value any
---@return kubelua.exact.Number
function exact.operand(class, call, value)
    local number = class.inside(value)
    if number then
        return number
    elseif exact.is_finite(value) then
        return class.of_number(call, value)
    elseif type(value) == "string" then
        local parsed, problem = class.parse(value)
        if parsed then
            return parsed
        end
        misuse("%s: '%s': %s", call, value:sub(1, 100), problem)
    end
    return misuse("%s: %s expected, not %s", call, class.expected, exact.describe(value))
end

---The object and the finite number of a product, in any order. Raises without such a number.
---@param class kubelua.exact.Class
---@return kubelua.exact.Number
---@return number
function exact.factors(class, a, b)
    local number, factor = class.inside(a) or class.inside(b), class.inside(a) and b or a
    if not exact.is_finite(factor) then
        misuse("%s *: a finite number expected, not %s", class.what, exact.describe(factor))
    end
    return number, factor
end

---Gives a metatable the comparisons, and what makes a text of an object by its __tostring.
---@param class kubelua.exact.Class
---@param metatable table
function exact.add_operators(class, metatable)
    local function compare(operator, a, b)
        local call = class.what .. " " .. operator
        return exact.compare(exact.operand(class, call, a), exact.operand(class, call, b))
    end
    function metatable.__eq(a, b)
        local first, second = class.inside(a), class.inside(b)
        return first ~= nil and second ~= nil and exact.compare(first, second) == 0
    end
    function metatable.__lt(a, b) return compare("<", a, b) < 0 end
    function metatable.__le(a, b) return compare("<=", a, b) <= 0 end
    function metatable.__concat(a, b) return tostring(a) .. tostring(b) end
    metatable.__kubelua_text = metatable.__tostring -- kubelua.json and the verbs write it as this
end

return exact
