-- Prints plain tables as YAML, for the manifests of kubelua plan and deploy: the same table gives
-- the same bytes. A text of several lines, such as a script, is a block that a person can read.
local core = require "kubelua.core"
local sorted_keys = require "kubelua.sorted_keys"

local yaml = {}

-- These keys come first, as people write manifests; the others follow by name.
local FIRST = { apiVersion = 1, kind = 2, metadata = 3, name = 4, namespace = 5, image = 6,
    command = 7, args = 8 }

-- Words that a reader of YAML 1.1 takes for something other than a text.
local RESERVED = {}
for word in ("true false yes no on off y n null nan inf"):gmatch("%a+") do
    RESERVED[word] = true
end

local ARRAY = getmetatable(core.array())
local RAW = {} -- the metatable of what yaml.raw returns

---A text that is printed as it is, such as the template expression {{ .Values.image }}.
---@param text string
---@return table
function yaml.raw(text)
    return setmetatable({ text = text }, RAW)
end

---@param value any
---@return boolean
function yaml.is_raw(value)
    return getmetatable(value) == RAW
end

local function is_before(a, b)
    local first, second = FIRST[a] or math.huge, FIRST[b] or math.huge
    if first ~= second then
        return first < second
    end
    return a < b
end

local function is_plain(text)
    return text:find("^[%a/][%w_./:-]*$") and not text:find(":$") and not RESERVED[text:lower()]
end

-- A JSON text is YAML too, once DEL and what Unicode has for controls, breaks and the byte order
-- mark are escaped. The text is UTF-8, which core.encode checks.
local function quote(text)
    local function escape(high, low)
        local code = (high:byte() % 32) * 64 + low:byte() % 64
        return ("\\u%04x"):format(code)
    end
    return (core.encode(text):gsub("\127", "\\u007f"):gsub("(\194)([\128-\159])", escape)
        :gsub("\226\128([\168\169])", function(byte)
            return ("\\u20%02x"):format(byte:byte() - 128)
        end):gsub("\239\187\191", "\\ufeff"))
end

local function to_scalar(value)
    if type(value) == "string" then
        return is_plain(value) and value or quote(value)
    end
    return core.encode(value)
end

-- True if a block keeps each byte of the text: readers change or refuse other breaks and controls.
local function is_block(text)
    return text:find("[^\n]\n") and not text:find("[%z\1-\8\11-\31\127]")
        and not text:find("\194[\128-\159]") and not text:find("\226\128[\168\169]")
        and not text:find("\239\187\191", 1, true) and pcall(core.encode, text)
end

-- Writes a text as a block: "|", and the lines indented. Behind the bar, a sign says how many
-- breaks end the text; and if the first line begins with blanks, a number says how far lines are
-- indented.
local function write_block(out, text, indent)
    local body, breaks = text:match("^(.-)(\n*)$")
    local chomp = breaks == "" and "-" or breaks == "\n" and "" or "+"
    out[#out + 1] = "|" .. (body:find("^[ \n\t]") and "2" or "") .. chomp .. "\n"
    for line in (body .. "\n"):gmatch("(.-)\n") do
        out[#out + 1] = line == "" and "\n" or indent .. line .. "\n"
    end
    out[#out + 1] = breaks:sub(2)
end

local write_value

local function write_list(out, list, indent)
    for _, item in ipairs(list) do
        out[#out + 1] = indent .. "-"
        write_value(out, item, indent .. "  ", "item")
    end
end

-- The first key of a map that is an item stands behind the dash.
local function write_map(out, map, indent, place)
    for i, key in ipairs(sorted_keys(map, is_before)) do
        out[#out + 1] = (i == 1 and place == "item" and " " or indent) .. to_scalar(key) .. ":"
        write_value(out, map[key], indent, "member")
    end
end

-- Writes what follows a key ("member"), a dash ("item"), or begins a document ("document").
function write_value(out, value, indent, place)
    local gap = place == "document" and "" or " "
    if yaml.is_raw(value) then
        out[#out + 1] = gap .. value.text .. "\n"
    elseif type(value) == "table" and next(value) == nil then
        out[#out + 1] = gap .. (getmetatable(value) == ARRAY and "[]\n" or "{}\n")
    elseif type(value) == "table" and value[1] ~= nil then
        out[#out + 1] = place == "document" and "" or "\n"
        write_list(out, value, indent)
    elseif type(value) == "table" then
        local deeper = place == "member" and indent .. "  " or indent
        out[#out + 1] = place == "member" and "\n" or ""
        write_map(out, value, deeper, place)
    elseif type(value) == "string" and is_block(value) then
        out[#out + 1] = gap
        write_block(out, value, place == "item" and indent or indent .. "  ")
    else
        out[#out + 1] = gap .. to_scalar(value) .. "\n"
    end
end

---One document, without the line of dashes. Raises if a text is not UTF-8.
---@param value any
---@return string
function yaml.encode(value)
    local out = {}
    write_value(out, value, "", "document")
    return table.concat(out)
end

---A comment of one line: what readers take for a break, or refuse, is a blank there.
---@param text string
---@return string
function yaml.comment(text)
    local line = text:gsub("%c", " "):gsub("\194[\128-\159]", " "):gsub("\226\128[\168\169]", " ")
        :gsub("\239\187\191", " "):gsub("\239\191[\190\191]", " ")
    if not pcall(core.encode, line) then
        line = line:gsub("[\128-\255]", "?") -- it is no UTF-8
    end
    return "# " .. line .. "\n"
end

---Several documents.
---@param values any[]
---@param comment string?
---@return string
function yaml.stream(values, comment)
    local out = {}
    for i, value in ipairs(values) do
        out[i] = "---\n" .. (comment and yaml.comment(comment) or "") .. yaml.encode(value)
    end
    return table.concat(out)
end

return yaml
