-- Conversions of values as Kubernetes writes them: JSON, base64, hashes, times, conditions.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

---@class kubelua.Condition an entry of status.conditions (metav1.Condition)
---@field type string "Ready"
---@field status string "True", "False" or "Unknown"
---@field reason string?
---@field message string?
---@field lastTransitionTime string? kubelua.time reads it
---@field observedGeneration integer?

local values = {}

---Reads JSON into Lua tables, which may be changed and written again: integers stay exact, null is
---kubelua.null, an empty array stays an array. Text that is not JSON: nil, message, "parse".
---@type fun(text: string): any, string?, string?
values.decode = core.decode

---The JSON of a table, a view, a part of one, or a scalar.
---@type fun(value: any): string
values.json = core.encode

---Encodes bytes as base64, as in the data of a Secret.
---@type fun(text: string): string
values.base64 = core.base64

---Decodes base64; or nil, message, "parse".
---@type fun(text: string): string?, string?, string?
values.unbase64 = core.unbase64

---A hash of 14 letters and digits, for use in a name. Equal values have the same hash in any
---process, on any machine, in Lua 5.4 and LuaJIT; the order of keys does not matter.
---@type fun(value: any): string
values.hash = core.hash

---Reads a time of RFC 3339, such as "2026-11-22T10:00:00Z", as Unix seconds; or nil, message,
---"parse".
---@type fun(text: string): number?, string?, string?
values.time = core.time

---Writes Unix seconds as Kubernetes does: "2026-11-22T10:00:00Z"; with digits = 6
---"2026-11-22T10:00:00.000000Z", which a Lease's renewTime and an Event's eventTime need.
---@type fun(seconds: number, digits?: 6): string
values.timestamp = core.timestamp

-- A field of a view or table; nil for any other value.
local function read_field(value, name)
    if type(value) == "table" or core.is_view(value) then
        return value[name]
    end
end

---The condition of that type in an object's status; nil if there is none.
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
    local conditions = read_field(read_field(object, "status"), "conditions")
    if type(conditions) ~= "table" and not core.is_view(conditions) then
        return nil
    end
    for i = 1, #conditions do
        if read_field(conditions[i], "type") == name then
            return conditions[i]
        end
    end
    return nil
end

return values
