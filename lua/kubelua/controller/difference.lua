-- The difference between two JSON values as a merge patch (RFC 7396): the patch turns the old value
-- into exactly the wanted one.
local core = require "kubelua.core"

local difference = {}

local ARRAY = getmetatable(core.array())

local function is_array(value)
    return #value > 0 or (ARRAY ~= nil and getmetatable(value) == ARRAY)
end

---A copy of a value as tables. Nulls in the objects of a script's table are left out, because a
---merge patch cannot set them; a view is copied as it is.
---@param value any
---@return any
function difference.plain(value)
    if core.is_view(value) then
        return core.view_table(value)
    elseif type(value) ~= "table" or value == core.null then
        return value
    end
    local copy = is_array(value) and core.array() or {}
    for name, part in pairs(value) do
        if part ~= core.null or is_array(value) then
            copy[name] = difference.plain(part)
        end
    end
    return copy
end

local function are_equal(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for name, part in pairs(a) do
        if not are_equal(part, b[name]) then
            return false
        end
    end
    for name in pairs(b) do
        if a[name] == nil then
            return false
        end
    end
    return true
end

---The patch that changes `old` into `wanted`: nil if they are equal; null if it must be removed.
---@param old any as JSON is decoded; nil: absent
---@param wanted any a result of difference.plain
---@return any
function difference.of(old, wanted)
    if wanted == core.null then
        return old ~= nil and old ~= core.null and core.null or nil
    elseif old ~= nil and are_equal(old, wanted) then
        return nil
    elseif type(old) ~= "table" or type(wanted) ~= "table" or is_array(old) or is_array(wanted) then
        return wanted
    end
    local patch = {}
    for name in pairs(old) do
        if wanted[name] == nil then
            patch[name] = core.null
        end
    end
    for name, part in pairs(wanted) do
        patch[name] = difference.of(old[name], part)
    end
    return patch
end

return difference
