-- The global `kube` of scripts: endpoints of their namespace's Services, and what the
-- administrator's scripts have put into the map for the namespace.
local budget = require "resty.kubelua.gateway.script.budget"
local environment = require "resty.kubelua.gateway.script.environment"
local routing = require "resty.kubelua.gateway.routing"
local values = require "resty.kubelua.gateway.script.values"

---@class resty.kubelua.ScriptKube
local Kube = {}

---Picks an endpoint of a Service of the script's namespace.
---@param service string "name:port"
---@return string? host nil: there is none
---@return integer|string port or the reason
function Kube.pick(service)
    local script = budget.current().script
    local name = values.service("kube.pick", script.namespace, service)
    local host, port = routing.kube.pick(name)
    return host, port
end

-- Values of the map are shared by all requests of a worker: a script gets its own.
local function copy(value, depth)
    if type(value) ~= "table" then
        return value
    elseif depth > 20 then
        error("kube.lookup: the value is nested too deep", 0)
    end
    local own = {}
    for key, item in next, value do
        own[key] = copy(item, depth + 1)
    end
    return own
end

---A value that a script of kube.owner has put under "NAMESPACE/key", in a table of the option
---`tables`.
---@param table_name string
---@param key string
---@return any
function Kube.lookup(table_name, key)
    local script = budget.current().script
    if type(table_name) ~= "string" or not script.limits.tables[table_name] then
        values.refuse("kube.lookup", "no such table: gateway.init { scripts = { tables = ... } }")
    end
    key = values.line("kube.lookup", "the key", key)
    return copy(routing.kube.lookup(table_name, script.namespace .. "/" .. key), 1)
end

return environment.share(Kube)
