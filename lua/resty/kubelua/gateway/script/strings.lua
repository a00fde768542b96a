-- The library `string` for scripts of tenants. Searches are KubeLua's own (lua/src/pattern.c):
-- those of Lua may take hours for a pattern such as ".-.-.-b", in one call that nothing can stop.
local core = require "kubelua.core"

local find_pattern, find_text = core.find_pattern, core.find_text
local sub, real_rep, real_gsub = string.sub, string.rep, string.gsub
local concat, select, tostring, type = table.concat, select, tostring, type

local strings = { byte = string.byte, char = string.char, format = string.format,
    len = string.len, lower = string.lower, upper = string.upper, reverse = string.reverse,
    sub = sub }

local function expect_text(value, call)
    local kind = type(value)
    if kind == "string" then
        return value
    elseif kind == "number" then
        return tostring(value)
    end
    error(("string.%s: a string expected, not %s"):format(call, kind), 3)
end

local function first_place(text, from)
    if from == nil then
        return 1
    end
    from = math.floor(tonumber(from) or 1)
    return from < 0 and math.max(#text + from + 1, 1) or from == 0 and 1 or from
end

-- The captures of a search; the whole text that fits if the pattern has none.
local function captured(text, from, to, ...)
    if not from then
        return nil
    elseif select("#", ...) == 0 then
        return sub(text, from, to)
    end
    return ...
end

---@param text string
---@param pattern string
---@param from integer?
---@param plain boolean?
---@return integer? from
---@return integer? to
---@return any ... captures
function strings.find(text, pattern, from, plain)
    text, pattern = expect_text(text, "find"), expect_text(pattern, "find")
    return (plain and find_text or find_pattern)(text, pattern, first_place(text, from))
end

---@param text string
---@param pattern string
---@param from integer?
---@return any ... captures
function strings.match(text, pattern, from)
    text, pattern = expect_text(text, "match"), expect_text(pattern, "match")
    return captured(text, find_pattern(text, pattern, first_place(text, from)))
end

---@param text string
---@param pattern string
---@return fun(): any
function strings.gmatch(text, pattern)
    text, pattern = expect_text(text, "gmatch"), expect_text(pattern, "gmatch")
    local at = 1
    local function go_on(from, to, ...)
        at = from and (to < from and from + 1 or to + 1) or #text + 2
        return captured(text, from, to, ...)
    end
    return function()
        return go_on(find_pattern(text, pattern, at))
    end
end

-- "%1" and "%0" in the text that comes in place of another.
local function fill_in(template, whole, first, ...)
    local captures = { first == nil and whole or first, ... }
    return (real_gsub(template, "%%(.?)", function(digit)
        if digit == "0" then
            return whole
        elseif digit:find("%d") then
            return tostring(captures[tonumber(digit)] or error("invalid capture index", 0))
        end
        return digit
    end))
end

local function replacement_of(new, kind, text, from, to, ...)
    local whole = sub(text, from, to)
    if kind == "string" then
        return fill_in(new, whole, ...)
    end
    local value
    if kind == "table" then
        value = new[captured(text, from, to, ...)]
    else
        value = new(captured(text, from, to, ...))
    end
    if not value then
        return whole
    elseif type(value) ~= "string" and type(value) ~= "number" then
        error("string.gsub: invalid replacement (a " .. type(value) .. ")", 0)
    end
    return tostring(value)
end

---@param text string
---@param pattern string
---@param new string|table|function
---@param most integer?
---@return string, integer
function strings.gsub(text, pattern, new, most)
    text, pattern = expect_text(text, "gsub"), expect_text(pattern, "gsub")
    new = type(new) == "number" and tostring(new) or new
    local kind, anchored = type(new), sub(pattern, 1, 1) == "^"
    if kind ~= "string" and kind ~= "table" and kind ~= "function" then
        error("string.gsub: a string, a table or a function expected, not " .. kind, 2)
    end
    local parts, count, at = {}, 0, 1
    most = tonumber(most) or math.huge
    local function take(from, to, ...)
        if not from then
            return false
        end
        count = count + 1
        parts[#parts + 1] = sub(text, at, from - 1)
        parts[#parts + 1] = replacement_of(new, kind, text, from, to, ...)
        at = to + 1
        if to < from then -- nothing fits here: the next byte stays
            parts[#parts + 1] = sub(text, from, from)
            at = from + 1
        end
        return not anchored
    end
    while count < most and at <= #text + 1 and take(find_pattern(text, pattern, at)) do
        most = most + 0
    end
    parts[#parts + 1] = sub(text, at)
    return concat(parts), count
end

---@param text string
---@param count integer
---@param between string?
---@return string
function strings.rep(text, count, between)
    text = expect_text(text, "rep")
    if text == "" and (between or "") == "" then
        return ""
    end
    return real_rep(text, count, between)
end

return strings
