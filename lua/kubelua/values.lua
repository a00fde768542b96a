-- Conversions of values as Kubernetes writes them: JSON, base64, hashes, times, conditions.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

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

---@class kubelua.TableOptions
---@field nulls? boolean false: members and elements that are null are left out; default: they are
---kubelua.null

local TABLE = { nulls = "boolean" }

local ARRAY = getmetatable(core.array({}))

---The text that a quantity or a duration stands for in JSON; nil for any other value.
---@param value any
---@return string?
function values.stands_for(value)
    local mark = type(value) == "table" and getmetatable(value)
    return type(mark) == "table" and mark.__kubelua_text and tostring(value) or nil
end

-- A quantity or a duration is no table of JSON, and never changes.
local function is_table(value)
    return type(value) == "table" and not values.stands_for(value)
end

-- An array stays one when it is empty, and a copy of an object that lacks fields (`drop`) is not
-- taken for a whole one.
local function keep_mark(from, to)
    local mark = getmetatable(from)
    if mark == ARRAY or (mark and core.is_pruned(from)) then
        setmetatable(to, mark)
    end
end

-- Copies a table, with all tables and views in it. It keeps a list of what is left to do, since the
-- stack of Lua is shorter than JSON may be deep.
local function copy_table(value)
    local copies, left = { [value] = {} }, { value }
    while #left > 0 do
        local from = table.remove(left)
        local to = copies[from]
        keep_mark(from, to)
        for key, item in pairs(from) do
            if core.is_view(item) then
                item = core.view_table(item)
            elseif is_table(item) then
                if not copies[item] then
                    copies[item], left[#left + 1] = {}, item
                end
                item = copies[item]
            end
            to[key] = item
        end
    end
    return copies[value]
end

local function compact(array)
    local length, kept = #array, 0
    for i = 1, length do
        local item = array[i]
        array[i] = nil
        if item ~= core.null then
            kept = kept + 1
            array[kept] = item
        end
    end
end

local function remove_nulls(value)
    local seen, left = { [value] = true }, { value }
    while #left > 0 do
        local one = table.remove(left)
        if getmetatable(one) == ARRAY or one[1] ~= nil then
            compact(one)
        end
        for key, item in pairs(one) do
            if item == core.null then
                one[key] = nil
            elseif is_table(item) and not seen[item] then
                seen[item], left[#left + 1] = true, item
            end
        end
    end
end

---A copy of an object, of a part of one, or of a table, as Lua tables, which may be changed.
---@param value table|kubelua.Object
---@param given kubelua.TableOptions?
---@return table
function values.table(value, given)
    local is_view = core.is_view(value)
    if not is_view and not is_table(value) then
        misuse("kubelua.table: an object, a part of one, or a table expected, not a %s",
            type(value))
    end
    local result = is_view and core.view_table(value) or nil
    if given ~= nil then
        options.check("table", given, TABLE)
    end
    result = result or copy_table(value)
    if given and given.nulls == false then
        remove_nulls(result)
    end
    return result
end

core.object_methods.table = values.table

return values
