-- The conditions that client:wait waits for: a function, fields of the object, a condition of its
-- status, or its deletion.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local values = require "kubelua.values"

---@alias kubelua.WaitCondition
---| fun(object: kubelua.Object?): any met when it returns a true value; nil: no such object
---| table the fields that it must have; kubelua.null: it must not have this one
---| "deleted"
---| string the type of a condition of its status that must be True, such as "Ready"

local conditions = {}

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
function conditions.covers(found, wanted, path)
    path = path or ""
    if wanted == core.null then
        wanted = nil
    end
    if found == core.null then
        found = nil
    end
    wanted = values.stands_for(wanted) or wanted
    if type(wanted) ~= "table" then
        if found == wanted then
            return true
        end
        return false, path .. " is " .. show_value(found) .. ", not " .. show_value(wanted)
    elseif type(found) ~= "table" or (#wanted > 0 and #found ~= #wanted) then
        return false, path .. " is " .. show_value(found) .. ", not " .. show_value(wanted)
    end
    for key, value in pairs(wanted) do
        local same, difference = conditions.covers(found[key], value, join_path(path, key))
        if not same then
            return false, difference
        end
    end
    return true
end

---An object as text for a message: the parts that change most come first, without managedFields.
---@param object kubelua.Object
---@return string
local function show_object(object)
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

local function has_condition(object, name)
    local condition = values.condition(object, name)
    if not condition then
        return false, "it has no condition " .. name
    end
    return condition.status == "True",
        "its condition " .. name .. " is " .. tostring(condition.status)
end

---Turns a condition into a function that tests an object. Its second result says why not.
---@param call string for the message
---@param condition kubelua.WaitCondition?
---@return fun(object: kubelua.Object?): any, string?
function conditions.reader(call, condition)
    if condition == nil then
        return function(object) return object end
    elseif type(condition) == "function" then
        return condition
    elseif condition == "deleted" then
        return function(object) return not object end
    elseif type(condition) == "string" then
        return function(object)
            if object then
                return has_condition(object, condition)
            end
            return false
        end
    elseif type(condition) == "table" then
        return function(object)
            if object then
                return conditions.covers(core.view_table(object), condition)
            end
            return false
        end
    end
    return misuse("%s: the condition is a function, a table of fields, \"deleted\" or the type of "
        .. "a condition such as \"Ready\", not a %s", call, type(condition))
end

---The message of a wait that timed out: what the object has instead.
---@param what string the object's resource and key
---@param message string
---@param last kubelua.Object?
---@param why any the second result of the function of conditions.reader
---@param absent string? why there is no object
---@return string
function conditions.tell(what, message, last, why, absent)
    why = type(why) == "string" and "; " .. why or ""
    return what .. ": " .. message .. why .. (last and "; " .. show_object(last)
        or "; the object does not exist" .. (absent and ": " .. absent or ""))
end

return conditions
