-- `require` of scripts: only modules that the administrator names. They run outside of the limits,
-- since they may wait, and with nginx's rights. A script gets no table of a module itself, but a
-- view of it; and a module gets plain values of a script, no functions.
local budget = require "resty.kubelua.gateway.script.budget"
local values = require "resty.kubelua.gateway.script.values"

local modules = {}

local real_require = require
local MOST_DEPTH, MOST_FIELDS = 10, 10000

-- The table of a module behind each view. Weak: it goes with the view.
local inner = setmetatable({}, { __mode = "k" })

local function copy_in(value, count, depth)
    local kind = type(value)
    if inner[value] then
        return inner[value]
    elseif kind == "table" then
        local copy = {}
        if depth > MOST_DEPTH then
            values.refuse("require", "a table for a module is nested too deep")
        end
        for key, item in next, value do
            count[1] = count[1] + 1
            if count[1] > MOST_FIELDS then
                values.refuse("require", "a table for a module has too many fields")
            end
            copy[copy_in(key, count, depth + 1)] = copy_in(item, count, depth + 1)
        end
        return copy
    elseif kind ~= "nil" and kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
        values.refuse("require", "a module takes no %s of a script", kind)
    end
    return value
end

local view_of

local function show_all(...)
    local list, count = { ... }, select("#", ...)
    for i = 1, count do
        list[i] = view_of(list[i])
    end
    return unpack(list, 1, count)
end

local function caller_of(f)
    return function(...)
        local list, count = { ... }, select("#", ...)
        for i = 1, count do
            list[i] = copy_in(list[i], { 0 }, 1)
        end
        return show_all(budget.pause(f, unpack(list, 1, count)))
    end
end

local VIEW = { __metatable = false, __index = function(self, key)
    return view_of(inner[self][copy_in(key, { 0 }, 1)])
end, __newindex = function()
    error("a table of a module cannot be changed", 2)
end }

function view_of(value)
    local kind = type(value)
    if kind == "table" then
        local view = setmetatable({}, VIEW)
        inner[view] = value
        return view
    elseif kind == "function" then
        return caller_of(value)
    elseif kind == "userdata" or kind == "cdata" or kind == "thread" then
        return value == ngx.null and value or nil
    end
    return value
end

---@param name any
---@return any
function modules.require(name)
    local script = budget.current().script
    if type(name) ~= "string" or not script.limits.require[name] then
        values.refuse("require", "the module %s is not in the list of gateway.init { scripts = { "
            .. "require = ... } }", type(name) == "string" and name:sub(1, 100) or "of that kind")
    end
    return view_of(budget.pause(real_require, name))
end

return modules
