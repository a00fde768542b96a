-- An empty table of Lua is `{}` in JSON, an object. Where a server wants a list, its error is right
-- and says nothing of this; here the remedy is added.
local core = require "kubelua.core"

local empties = {}

-- What servers say if an object stands where a list is expected: a server-side apply; the schema of
-- a custom resource; Go's decoder; the same for a patch, whose message is cut before the reason.
local COMPLAINTS = { "expected list", "must be of type array", "cannot unmarshal object into",
    "is invalid: patch: Invalid value" }

local ARRAY = getmetatable(core.array())

-- Finds an empty object whose field the message names; returns its path, such as "spec.ports".
local function find_named(value, path, name, message)
    if type(value) ~= "table" or value == core.null then
        return nil
    elseif next(value) == nil then
        local is_named = name and getmetatable(value) ~= ARRAY and message:find(name, 1, true)
        return is_named and path or nil
    end
    for key, item in pairs(value) do
        local is_index = type(key) == "number"
        local below = is_index and path .. "[" .. key .. "]"
            or (path == "" and "" or path .. ".") .. tostring(key)
        local found = find_named(item, below, is_index and name or key, message)
        if found then
            return found
        end
    end
    return nil
end

---The message of a refusal; with a remedy, if the body has `{}` where the server wants a list.
---@param message string
---@param body string? JSON
---@return string
function empties.explain(message, body)
    local is_complaint = false
    for _, complaint in ipairs(COMPLAINTS) do
        is_complaint = is_complaint or message:find(complaint, 1, true) ~= nil
    end
    if not is_complaint or not body or not body:find("{}", 1, true) then
        return message
    end
    local path = find_named(core.decode(body), "", nil, message)
    return path and message .. "; " .. path .. " is {}, which is an object in JSON: for an empty "
        .. "list write kubelua.array()" or message
end

return empties
