-- Carries what webhooks change into objects: by a JSON patch (RFC 6902), as their answers have it,
-- and into the document of a server-side apply.
local core = require "kubelua.core"
local patch = require "kubelua.admission.patch"

local json_patch = {}

local ARRAY = getmetatable(core.array({}))

-- The key of a part of a pointer in a value.
local function read_key(value, part)
    if getmetatable(value) == ARRAY then
        return tonumber(part) + 1
    end
    return (part:gsub("~1", "/"):gsub("~0", "~"))
end

local function change(value, key, one)
    if getmetatable(value) == ARRAY and one.op == "add" then
        table.insert(value, key, one.value)
    elseif getmetatable(value) == ARRAY and one.op == "remove" then
        table.remove(value, key)
    else
        value[key] = one.value
    end
end

---Changes a value, and returns it: another one, if the patch replaces the whole.
---@param value any of kubelua.decode
---@param operations kubelua.admission.Operation[]
---@return any value
function json_patch.apply(value, operations)
    for _, one in ipairs(operations) do
        local at, key = value, nil
        for part in one.path:gmatch("/([^/]*)") do
            if key ~= nil then
                at = at[key]
            end
            key = read_key(at, part)
        end
        if key == nil then
            value = one.value
        else
            change(at, key, one)
        end
    end
    return value
end

---What an apply must send: the members that it has, and those that differ from what it leads to.
---Arrays are taken whole.
---@param sent table the document
---@param tried table the object that the document leads to
---@param changed table that object, with changes
---@return table document
function json_patch.merge(sent, tried, changed)
    local document = {}
    for key, value in pairs(changed) do
        local given, before = sent[key], tried[key]
        if given ~= nil or #patch.diff({ before }, { value }) > 0 then
            local is_divisible = type(value) == "table" and getmetatable(value) ~= ARRAY
                and type(before) == "table" and (given == nil or type(given) == "table")
            document[key] = is_divisible and json_patch.merge(given or {}, before, value) or value
        end
    end
    return document
end

return json_patch
