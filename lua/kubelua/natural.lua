-- Natural numbers of any size, exact in both interpreters: LuaJIT has no integers beyond 2^53. For
-- quantity.lua and duration.lua.
--
-- A number is a list of parts of 7 digits, the lowest first, without zeros at its end; 0 is the
-- empty list. The product of two parts and a carry is below 2^53, so every step is exact.
local natural = {}

---@alias kubelua.Natural number[]

local BASE, DIGITS = 10000000, 7

local function drop_zeros(parts)
    while parts[#parts] == 0 do
        parts[#parts] = nil
    end
    return parts
end

---@param digits string decimal digits only; "" is 0
---@return kubelua.Natural
function natural.parse(digits)
    local parts = {}
    for last = #digits, 1, -DIGITS do
        parts[#parts + 1] = tonumber(digits:sub(math.max(last - DIGITS + 1, 1), last))
    end
    return drop_zeros(parts)
end

---@param a kubelua.Natural
---@return string digits without leading zeros
function natural.text(a)
    local texts = { string.format("%.0f", a[#a] or 0) }
    for i = #a - 1, 1, -1 do
        texts[#texts + 1] = string.format("%07.0f", a[i])
    end
    return table.concat(texts)
end

---@param a kubelua.Natural
---@param b kubelua.Natural
---@return integer order -1, 0 or 1
function natural.compare(a, b)
    if #a ~= #b then
        return #a < #b and -1 or 1
    end
    for i = #a, 1, -1 do
        if a[i] ~= b[i] then
            return a[i] < b[i] and -1 or 1
        end
    end
    return 0
end

---@param a kubelua.Natural
---@param b kubelua.Natural
---@return kubelua.Natural
function natural.add(a, b)
    local sum, carry = {}, 0
    for i = 1, math.max(#a, #b) do
        local part = (a[i] or 0) + (b[i] or 0) + carry
        carry = part >= BASE and 1 or 0
        sum[i] = part - carry * BASE
    end
    sum[#sum + 1] = carry > 0 and carry or nil
    return sum
end

---@param a kubelua.Natural
---@param b kubelua.Natural at most a
---@return kubelua.Natural
function natural.subtract(a, b)
    local rest, borrow = {}, 0
    for i = 1, #a do
        local part = a[i] - (b[i] or 0) - borrow
        borrow = part < 0 and 1 or 0
        rest[i] = part + borrow * BASE
    end
    return drop_zeros(rest)
end

---@param a kubelua.Natural
---@param b kubelua.Natural
---@return kubelua.Natural
function natural.multiply(a, b)
    local product = {}
    for i = 1, #a + #b do
        product[i] = 0
    end
    for i = 1, #a do
        local carry = 0
        for j = 1, #b do
            local part = product[i + j - 1] + a[i] * b[j] + carry
            local low = part % BASE
            product[i + j - 1] = low
            carry = (part - low) / BASE
        end
        product[i + #b] = carry
    end
    return drop_zeros(product)
end

---@param a kubelua.Natural
---@param divisor number a whole number from 1 to 10^7
---@return kubelua.Natural quotient
---@return number rest
function natural.divide(a, divisor)
    local quotient, rest = {}, 0
    for i = #a, 1, -1 do
        local part = rest * BASE + a[i]
        rest = part % divisor
        quotient[i] = (part - rest) / divisor
    end
    return drop_zeros(quotient), rest
end

---a * 10^power. With a power below 0 the result is rounded up.
---@param a kubelua.Natural
---@param power integer
---@return kubelua.Natural
---@return boolean is_exact
function natural.shift(a, power)
    local digits = natural.text(a)
    if power >= 0 then
        return natural.parse(digits .. ("0"):rep(power)), true
    end
    local kept = math.max(#digits + power, 0)
    local result = natural.parse(digits:sub(1, kept))
    if digits:find("[1-9]", kept + 1) then
        return natural.add(result, { 1 }), false
    end
    return result, true
end

---The shortest decimal number that is this double: the digits, and the power of ten of the last
---one. 0.1 is "1", -1.
---@param number number finite, at least 0
---@return string digits
---@return integer power
function natural.decimal(number)
    local text = string.format("%.15g", number)
    for precision = 16, 17 do
        if tonumber(text) == number then
            break
        end
        text = string.format("%." .. precision .. "g", number)
    end
    local whole, fraction, power = text:match("^(%d+)%.?(%d*)e?([+-]?%d*)$")
    return whole .. fraction, (tonumber(power) or 0) - #fraction
end

return natural
