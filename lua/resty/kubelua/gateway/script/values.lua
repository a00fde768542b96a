-- Checks what a script hands over. A value may be a table with metamethods of the script, so only
-- strings and numbers are taken, and tables are read without them.
local framing = require "resty.kubelua.gateway.framing"

local values = {}

local find, lower, type, tostring = string.find, string.lower, type, tostring
local MOST_NAMES = 1000
local MOST = 8192 -- bytes of a name or a value of a header, of a path or a query

---Raises an error in the name of a call of the script.
---@param call string
---@param format string
function values.refuse(call, format, ...)
    error(("%s: " .. format):format(call, ...), 0)
end

---A text, or a number as one.
---@param call string
---@param what string
---@param value any
---@return string
function values.text(call, what, value)
    if type(value) == "number" then
        value = tostring(value)
    elseif type(value) ~= "string" then
        values.refuse(call, "%s is a string, not a %s", what, type(value))
    end
    return value
end

---A text of one line that is not too long.
---@param call string
---@param what string
---@param value any
---@return string
function values.line(call, what, value)
    value = values.text(call, what, value)
    if #value > MOST then
        values.refuse(call, "%s has more than %d bytes", what, MOST)
    elseif find(value, "%c") then
        values.refuse(call, "%s has a control character", what)
    end
    return value
end

-- Names that were found to be good: as many as a worker's scripts have, but not without end.
local good, count = {}, 0

local function remember(name)
    if count >= MOST_NAMES then
        good, count = {}, 0
    end
    good[name], count = true, count + 1
end

---The name of a header that a script may change.
---@param call string
---@param name any
---@return string
function values.header(call, name)
    if good[name] then
        return name
    end
    name = values.line(call, "the name of a header", name)
    if name == "" or find(name, "[^%w!#$%%&'*+%-.^_`|~]") then
        values.refuse(call, "\"%s\" is no name of a header", name)
    elseif framing[lower(name)] then
        values.refuse(call, "the header %s cannot be changed", name)
    end
    remember(name)
    return name
end

---The value of a header: a text, a list of texts, or nil, which removes it.
---@param call string
---@param value any
---@return string|string[]|nil
function values.header_value(call, value)
    local kind = type(value)
    if kind == "string" and #value <= MOST and not find(value, "%c") or kind == "nil" then
        return value
    elseif kind ~= "table" then
        return values.line(call, "the value of a header", value)
    end
    local list = {}
    for i = 1, 100 do
        local item = rawget(value, i)
        if item == nil then
            break
        end
        list[i] = values.line(call, "the value of a header", item)
    end
    return list
end

---The name of a Service's port, "name:80" or "name:http", in the namespace of the script.
---@param call string
---@param namespace string
---@param name any
---@return string "namespace/name:port"
function values.service(call, namespace, name)
    if type(name) ~= "string" or #name > 200 or not find(name, "^[%w%-]+:[%w%-]+$") then
        values.refuse(call, "a Service of the script's namespace is named as \"name:port\"")
    end
    return namespace .. "/" .. name
end

return values
