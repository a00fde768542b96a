-- JSON with the members of objects in order: equal values are equal texts, so that a change of the
-- text is one of the value.
local core = require "kubelua.core"
local sorted_keys = require "kubelua.sorted_keys"

local ARRAY = getmetatable(core.array())

local write

local function write_array(value)
    local parts = {}
    for i, item in ipairs(value) do
        parts[i] = write(item)
    end
    return "[" .. table.concat(parts, ",") .. "]"
end

local function write_object(value)
    local parts = {}
    for i, name in ipairs(sorted_keys(value)) do
        parts[i] = core.encode(name) .. ":" .. write(value[name])
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

---@param value any of core.decode, or tables of such values
---@return string
function write(value)
    if type(value) ~= "table" then
        return core.encode(value)
    elseif getmetatable(value) == ARRAY or #value > 0 then
        return write_array(value)
    end
    return write_object(value)
end

return write
