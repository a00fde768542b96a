-- JSON for the log, of any value of Lua. It never raises, and never makes a record that a reader
-- of JSON refuses or a terminal obeys: bytes that are no UTF-8 and controls are escaped, NaN is a
-- text, a cycle is named, and what is too long is cut.
local core = require "kubelua.core"

local log_json = {}

-- How deep a table is written, and how many of its members.
local DEEPEST, MOST = 5, 100

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n",
    ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape_byte(byte)
    return ESCAPES[byte] or string.format("\\u%04x", byte:byte())
end

-- The code point at `at` of a text, and where the next one begins; nil: the bytes are no UTF-8 (RFC
-- 3629).
local function read_code(text, at)
    local first, second, third, fourth = text:byte(at, at + 3)
    local function is_more(byte)
        return byte and byte >= 0x80 and byte <= 0xbf
    end
    if first >= 0xc2 and first <= 0xdf and is_more(second) then
        return (first - 0xc0) * 64 + second - 0x80, at + 2
    elseif first >= 0xe0 and first <= 0xef and is_more(second) and is_more(third) then
        local code = ((first - 0xe0) * 64 + second - 0x80) * 64 + third - 0x80
        return code >= 0x800 and (code < 0xd800 or code > 0xdfff) and code or nil, at + 3
    elseif first >= 0xf0 and first <= 0xf4 and is_more(second) and is_more(third)
        and is_more(fourth) then
        local code = ((first - 0xf0) * 64 + second - 0x80) * 4096 + (third - 0x80) * 64
            + fourth - 0x80
        return code >= 0x10000 and code <= 0x10ffff and code or nil, at + 4
    end
    return nil
end

-- C1 controls, controls of bidirectional text, line separators.
local function is_obeyed(code)
    return code < 0xa0 or code == 0x61c or (code >= 0x200e and code <= 0x200f)
        or (code >= 0x2028 and code <= 0x202e) or (code >= 0x2066 and code <= 0x2069)
end

-- A character outside of ASCII as it stands in JSON, and where the next one begins. A byte that is
-- no UTF-8 becomes the text \x9b, as in the log's other format.
local function quote_wide(text, at)
    local code, after = read_code(text, at)
    if not code then
        return string.format("\\\\x%02x", text:byte(at)), at + 1
    elseif is_obeyed(code) then
        return string.format("\\u%04x", code), after
    end
    return text:sub(at, after - 1), after
end

---A text as a JSON string. If it has more than `most` bytes, it is cut, and ends in "...".
---@param text string
---@param most integer
---@return string
function log_json.quote(text, most)
    if #text <= most and not text:find('[%c\127-\255"\\]') then
        return '"' .. text .. '"'
    end
    local parts, length, at = {}, 0, 1
    while at <= #text do
        local last = (text:find('[%c\127-\255"\\]', at) or #text + 1) - 1
        local part
        if last >= at then
            last = math.min(last, at + math.max(most - length, 1) - 1)
            part, at = text:sub(at, last), last + 1
        elseif text:byte(at) < 0x80 then
            part, at = escape_byte(text:sub(at, at)), at + 1
        else
            part, at = quote_wide(text, at)
        end
        length = length + #part
        if length > most then
            parts[#parts + 1] = "..."
            break
        end
        parts[#parts + 1] = part
    end
    return '"' .. table.concat(parts) .. '"'
end

local function tell(value)
    local ok, text = pcall(tostring, value)
    return ok and type(text) == "string" and text or "a " .. type(value) .. " without a text"
end

local function write_number(number)
    if number ~= number then
        return '"NaN"'
    elseif math.abs(number) == math.huge then
        return number > 0 and '"Infinity"' or '"-Infinity"'
    end
    return (string.format(number == math.floor(number) and math.abs(number) < 2 ^ 53 and "%.0f"
        or "%.17g", number))
end

local write -- a function, below

local function has_text(value)
    local meta = getmetatable(value)
    return type(meta) == "table"
        and (rawget(meta, "__tostring") or rawget(meta, "__kubelua_text")) ~= nil
end

-- n if the keys are 1 to n, and MOST + 1 if there are more: that many keys are looked at. nil if it
-- is no array. No metamethod is called.
local function array_length(value)
    local count, highest = 0, 0
    for key in next, value do
        if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then
            return nil
        end
        count, highest = count + 1, math.max(highest, key)
        if count > MOST then
            return rawget(value, 1) ~= nil and count or nil
        end
    end
    return count > 0 and count == highest and count or nil
end

local function write_array(value, count, most, above)
    local parts, length = {}, 2
    for i = 1, count do
        local part = write(rawget(value, i), most - length, above)
        length = length + #part + 1
        if length > most or i > MOST then
            parts[#parts + 1] = '"..."'
            break
        end
        parts[#parts + 1] = part
    end
    return "[" .. table.concat(parts, ",") .. "]"
end

local function write_object(value, most, above)
    local names, texts = {}, {}
    for key in next, value do
        local name = tell(key)
        if #names < MOST and texts[name] == nil then
            names[#names + 1], texts[name] = name, { key = key }
        end
    end
    table.sort(names)
    local parts, length = {}, 2
    for _, name in ipairs(names) do
        local part = log_json.quote(name, 200) .. ":"
        part = part .. write(rawget(value, texts[name].key), most - length - #part, above)
        length = length + #part + 1
        if length > most then
            parts[#parts + 1] = '"...":true'
            break
        end
        parts[#parts + 1] = part
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

local function write_table(value, most, above)
    if has_text(value) then
        return log_json.quote(tell(value), most)
    elseif above[value] then
        return '"a table within itself"'
    elseif above.depth >= DEEPEST then
        return '"..."'
    end
    above[value], above.depth = true, above.depth + 1
    local count = array_length(value)
    local text = count and write_array(value, count, most, above)
        or write_object(value, most, above)
    above[value], above.depth = nil, above.depth - 1
    return text
end

-- A part of an object is written as JSON, and as a text if it is too long.
local function write_view(value, most)
    local ok, text = pcall(core.encode, value)
    if not ok then
        return log_json.quote(tell(value), most)
    elseif #text > most or text:find("[\127-\255]") then
        return log_json.quote(text, most)
    end
    return text
end

function write(value, most, above)
    local kind = type(value)
    most = math.max(most, 16)
    if kind == "string" then
        return log_json.quote(value, most)
    elseif kind == "number" then
        return write_number(value)
    elseif kind == "boolean" then
        return tostring(value)
    elseif value == core.null then
        return "null"
    elseif kind == "table" then
        return write_table(value, most, above)
    elseif kind == "userdata" and core.is_view(value) then
        return write_view(value, most)
    end
    return log_json.quote(tell(value), most)
end

---Any value as JSON of some `most` bytes at most.
---@param value any
---@param most integer
---@return string
function log_json.write(value, most)
    return write(value, most, { depth = 0 })
end

return log_json
