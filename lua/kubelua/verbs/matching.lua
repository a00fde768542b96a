-- Compares a value with the fields that it should have, and says what differs: for objects that a
-- test waits for, and bodies that were sent.
local core = require "kubelua.core"

local matching = {}

local LONGEST = 2000

local function show_value(value)
    if value == nil then
        return "absent"
    end
    return core.encode(value)
end

-- The path of a field below a path: "spec.containers[1].image"
local function join_path(path, key)
    if type(key) == "number" then
        return path .. "[" .. key .. "]"
    elseif key:find("[./]") then
        return path .. "[\"" .. key .. "\"]"
    end
    return path == "" and key or path .. "." .. key
end

---True if `found` has all that is wanted: of a table, the named fields; of an array, the same
---number of items, each of which has what is wanted. kubelua.null means that the field is absent.
---@param found any
---@param wanted any
---@param path string? the path of `found`, for the message
---@return boolean, string? difference
function matching.covers(found, wanted, path)
    path = path or ""
    if wanted == core.null then
        wanted = nil
    end
    if found == core.null then
        found = nil
    end
    if type(wanted) ~= "table" then
        if found == wanted then
            return true
        end
        return false, path .. " is " .. show_value(found) .. ", not " .. show_value(wanted)
    elseif type(found) ~= "table" or (#wanted > 0 and #found ~= #wanted) then
        return false, path .. " is " .. show_value(found) .. ", not " .. show_value(wanted)
    end
    for key, value in pairs(wanted) do
        local same, difference = matching.covers(found[key], value, join_path(path, key))
        if not same then
            return false, difference
        end
    end
    return true
end

---An object as text for a message: the parts that change most come first, without managedFields.
---@param object kubelua.Object
---@return string
function matching.show(object)
    local metadata = core.view_table(object).metadata
    metadata.managedFields = nil
    local parts = {}
    for _, part in ipairs { { "status", object.status }, { "metadata", metadata },
        { "spec", object.spec }, { "data", object.data } } do
        if part[2] ~= nil then
            parts[#parts + 1] = "its " .. part[1] .. " is " .. core.encode(part[2])
        end
    end
    local text = table.concat(parts, "; ")
    return #text <= LONGEST and text or text:sub(1, LONGEST) .. "..."
end

return matching
