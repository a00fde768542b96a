-- kubelua.table and object:table: copies as Lua tables, which may be changed.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

---@class kubelua.TableOptions
---@field nulls? boolean false: members and elements that are null are left out; default: they are
---kubelua.null

local TYPES = { nulls = "boolean" }

local ARRAY = getmetatable(core.array({}))

local function is_table(value)
    return type(value) == "table"
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
local function copy(value, given)
    local is_view = core.is_view(value)
    if not is_view and not is_table(value) then
        misuse("kubelua.table: an object, a part of one, or a table expected, not a %s",
            type(value))
    end
    local result = is_view and core.view_table(value) or nil
    if given ~= nil then
        options.check("table", given, TYPES)
    end
    result = result or copy_table(value)
    if given and given.nulls == false then
        remove_nulls(result)
    end
    return result
end

core.object_methods.table = copy

return copy
