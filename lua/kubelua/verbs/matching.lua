-- Compares something with the fields that it should have, and tells what it has instead: of
-- objects that a test waits for, of bodies that were sent.
local core = require "kubelua.core"

local matching = {}

local LONGEST = 2000

local function show(value)
    if value == nil then
        return "absent"
    end
    return core.encode(value)
end

-- "spec.containers[1].image"
local function below(path, key)
    if type(key) == "number" then
        return path .. "[" .. key .. "]"
    elseif key:find("[./]") then
        return path .. "[\"" .. key .. "\"]"
    end
    return path == "" and key or path .. "." .. key
end

---True if all that is wanted is there: of tables the fields that are named, arrays as a whole.
---kubelua.null is what is not there.
---@param found any
---@param wanted any
---@param path string? where this is, for the message
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
        return false, path .. " is " .. show(found) .. ", not " .. show(wanted)
    elseif type(found) ~= "table" or (#wanted > 0 and #found ~= #wanted) then
        return false, path .. " is " .. show(found) .. ", not " .. show(wanted)
    end
    for key, value in pairs(wanted) do
        local same, difference = matching.covers(found[key], value, below(path, key))
        if not same then
            return false, difference
        end
    end
    return true
end

---What an object has, as a message tells it: what changes most at first, no managedFields.
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
