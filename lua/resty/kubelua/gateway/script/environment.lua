-- What scripts of tenants see as their globals: nothing that reaches files, programs, other
-- scripts' values, or the rest of the worker. Each request has an environment of its own; what all
-- share is read-only, and is reached through an empty table.
local budget = require "resty.kubelua.gateway.script.budget"
local strings = require "resty.kubelua.gateway.script.strings"

local environment = {}

local getmetatable, setmetatable, type = getmetatable, setmetatable, type

-- The tables that are shared. Functions of `table` and rawset pass metatables by.
local shared = setmetatable({}, { __mode = "k" })

local function refuse_write(_, name)
    error(("%s cannot be changed here"):format(type(name) == "string" and name or "this table"), 2)
end

---A table for scripts that shows the fields of another, and cannot be changed.
---@param fields table
---@return table
function environment.share(fields)
    local empty = setmetatable({}, { __index = fields, __newindex = refuse_write,
        __metatable = false })
    shared[empty] = true
    return empty
end

-- Calls a function that writes to its first argument without metamethods.
local function guard(write)
    return function(list, ...)
        if shared[list] then
            refuse_write()
        end
        return write(list, ...)
    end
end

local function is_before(a, b)
    return a < b
end

-- Of Lua code, the time is measured; of a sort without a function, it would not be.
local function sort(list, before)
    return table.sort(list, before or is_before)
end

if rawget(_G, "jit") then
    require("jit").off(is_before)
end

local unpack_list = rawget(_G, "unpack") or table.unpack

local TABLE = { concat = table.concat, insert = guard(table.insert), remove = guard(table.remove),
    sort = guard(sort), unpack = unpack_list }

local function copy_without(library, left_out)
    local fields = {}
    for name, value in pairs(library) do
        fields[name] = name ~= left_out and value or nil
    end
    return fields
end

local function public_metatable(value)
    return type(value) == "table" and getmetatable(value) or nil
end

local GLOBALS = { assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs,
    pcall = budget.pcall, rawequal = rawequal, rawget = rawget, rawset = guard(rawset),
    select = select, setmetatable = setmetatable, getmetatable = public_metatable,
    tonumber = tonumber, tostring = tostring, type = type, unpack = unpack_list,
    string = environment.share(strings), table = environment.share(TABLE),
    math = environment.share(copy_without(math, "randomseed")), _VERSION = _VERSION }

local is_known, bit = pcall(require, "bit")
GLOBALS.bit = is_known and environment.share(copy_without(bit)) or nil

local META = { __index = GLOBALS, __metatable = false }

---Adds a global for all scripts.
---@param name string
---@param value any
function environment.add(name, value)
    GLOBALS[name] = value
end

---The environment of one request.
---@return table
function environment.new()
    return setmetatable({}, META)
end

return environment
