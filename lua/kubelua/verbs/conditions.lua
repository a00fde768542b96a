-- The conditions that client:wait waits for: a function, fields of the object, a condition of its
-- status, or its deletion.
local core = require "kubelua.core"
local matching = require "kubelua.verbs.matching"
local misuse = require "kubelua.misuse"
local values = require "kubelua.values"

---@alias kubelua.WaitCondition
---| fun(object: kubelua.Object?): any met when it returns a true value; nil: no such object
---| table the fields that it must have; kubelua.null: it must not have this one
---| "deleted"
---| string the type of a condition of its status that must be True, such as "Ready"

local conditions = {}

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
                return matching.covers(core.view_table(object), condition)
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
    return what .. ": " .. message .. why .. (last and "; " .. matching.show(last)
        or "; the object does not exist" .. (absent and ": " .. absent or ""))
end

return conditions
