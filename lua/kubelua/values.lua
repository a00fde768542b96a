-- Values as Kubernetes writes them: JSON, base64, hashes, times, conditions.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

---@class kubelua.Condition what an object's status says of one matter (metav1.Condition)
---@field type string "Ready"
---@field status string "True", "False" or "Unknown"
---@field reason string?
---@field message string?
---@field lastTransitionTime string? kubelua.time reads it
---@field observedGeneration integer?

local values = {}

---JSON as Lua tables, to be changed and written again: integers are exact, null is kubelua.null,
---an empty array stays one. Of text that is no JSON nil, message, "parse".
---@type fun(text: string): any, string?, string?
values.decode = core.decode

---The JSON of a table, a view, a part of one, or a scalar.
---@type fun(value: any): string
values.json = core.encode

---Base64, as the data of a Secret is written; the text may hold any bytes.
---@type fun(text: string): string
values.base64 = core.base64

---The bytes that base64 stands for; or nil, message, "parse".
---@type fun(text: string): string?, string?, string?
values.unbase64 = core.unbase64

---A hash of 14 letters and digits, good for a name: of equal values it is the same in any process,
---on any machine, in Lua 5.4 and LuaJIT; the order of keys does not matter.
---@type fun(value: any): string
values.hash = core.hash

---Unix time in seconds of a text of RFC 3339, such as "2026-11-22T10:00:00Z"; or nil, message,
---"parse".
---@type fun(text: string): number?, string?, string?
values.time = core.time

---Unix time as Kubernetes writes it: "2026-11-22T10:00:00Z", and with 6 digits of a second
---"2026-11-22T10:00:00.000000Z", which renewTime of Leases and eventTime of Events need.
---@type fun(seconds: number, digits?: 6): string
values.timestamp = core.timestamp

-- A field of a view or table; nil of anything else.
local function field(value, name)
    if type(value) == "table" or core.is_view(value) then
        return value[name]
    end
end

---The condition of a type that an object's status has; nil where it has none.
---@param object table
---@param name string "Ready"
---@return kubelua.Condition?
function values.condition(object, name)
    if type(object) ~= "table" and not core.is_view(object) then
        misuse("kubelua.condition: an object or a table expected, not a %s", type(object))
    elseif type(name) ~= "string" then
        misuse("kubelua.condition: the type of a condition expected, such as \"Ready\", not a %s",
            type(name))
    end
    local conditions = field(field(object, "status"), "conditions")
    if type(conditions) ~= "table" and not core.is_view(conditions) then
        return nil
    end
    for i = 1, #conditions do
        if field(conditions[i], "type") == name then
            return conditions[i]
        end
    end
    return nil
end

return values
