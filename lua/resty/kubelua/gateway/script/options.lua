-- The administrator's choice for Lua on the route: the option `scripts` of gateway.init.
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"

local options = {}

---@class resty.kubelua.ScriptOptions
---@field namespaces string[]|"all" whose routes and Ingresses may use scripts
---@field require? string[] modules that scripts may require
---@field milliseconds? number of CPU time that a call may take; default 50
---@field megabytes? number by which memory may grow in a call; default 16
---@field body? integer bytes of a request's body that a script may read; default 1 MB
---@field sockets? "services"|"all" where scripts may connect to; default: Services of the namespace
---@field tables? string[] tables of kube.owner's scripts that scripts may read

---@class resty.kubelua.gateway.ScriptLimits
---@field milliseconds number
---@field megabytes number

local TYPES = { namespaces = "table|string", require = "table", milliseconds = "number",
    megabytes = "number", body = "number", sockets = "string", tables = "table" }
local DEFAULTS = { milliseconds = 50, megabytes = 16, body = 1024 * 1024, sockets = "services" }
local LIST = "gateway.init: scripts.%s has names: { \"%s\" }"

local function set_of(list, name, example)
    local set = {}
    for _, value in ipairs(list or {}) do
        if type(value) ~= "string" then
            misuse(LIST:format(name, example))
        end
        set[value] = true
    end
    return set
end

---Checks the option, and fills in what is not said. nil: no namespace may use scripts.
---@param given resty.kubelua.ScriptOptions?
---@return table?
function options.read(given)
    if given == nil then
        return nil
    end
    options_of.check("gateway.init: scripts", given, TYPES)
    local is_all = given.namespaces == "all"
    if not is_all and type(given.namespaces) ~= "table" then
        misuse("gateway.init: scripts.namespaces says who may use Lua: a list of namespaces, or "
            .. "\"all\"")
    elseif given.sockets and given.sockets ~= "all" and given.sockets ~= "services" then
        misuse("gateway.init: scripts.sockets is \"services\" or \"all\"")
    end
    local result = { is_all = is_all, require = set_of(given.require, "require", "resty.http"),
        tables = set_of(given.tables, "tables", "flags"),
        namespaces = is_all and {} or set_of(given.namespaces, "namespaces", "web") }
    for name, value in pairs(DEFAULTS) do
        result[name] = given[name] or value
    end
    for _, name in ipairs { "milliseconds", "megabytes", "body" } do
        if result[name] <= 0 then
            misuse(("gateway.init: scripts.%s is above 0"):format(name))
        end
    end
    result.seconds, result.bytes = result.milliseconds / 1000, result.megabytes * 1024 * 1024
    return result
end

---True if a namespace may use scripts.
---@param settings table? of options.read
---@param namespace string
---@return boolean
function options.allows(settings, namespace)
    return settings ~= nil and (settings.is_all or settings.namespaces[namespace] == true)
end

---Why a namespace may not use scripts.
---@param settings table? of options.read
---@param namespace string
---@return string
function options.refusal(settings, namespace)
    if settings then
        return ("Lua on the route is not switched on for the namespace %s: gateway.init { scripts "
            .. "= { namespaces = ... } }"):format(namespace)
    end
    return "Lua on the route is not switched on: gateway.init { scripts = { namespaces = { \""
        .. namespace .. "\" } } }"
end

return options
