-- The gateway of a spec with Lua on the route, which the namespace "web" may use.
local gateway_world = require "gateway_world"
local gateway_yaml = require "gateway_yaml"

local script_world = {}

---Starts it.
---@param options string fields of the option `scripts`
---@param more spec.GatewayWorldOptions?
---@return spec.GatewayWorld
function script_world.start(options, more)
    more = more or {}
    more.load = gateway_yaml.FOR_ALL
    more.options = "nginx = true, scripts = { namespaces = { \"web\" }, " .. options .. " }"
    return gateway_world.start(more)
end

---@param name string
---@param text string
---@param namespace string?
---@return table
function script_world.config_map(name, text, namespace)
    return { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = namespace or "web" },
        data = { ["route.lua"] = text } }
end

---A route whose host and ConfigMap have its name.
---@param name string
---@param namespace string?
---@return table
function script_world.route(name, namespace)
    return { apiVersion = "gateway.networking.k8s.io/v1", kind = "HTTPRoute",
        metadata = { name = name, namespace = namespace or "web" },
        spec = { parentRefs = { { name = "main", namespace = "web" } },
            hostnames = { name .. ".example.com" },
            rules = { { filters = { { type = "ExtensionRef",
                extensionRef = { group = "", kind = "ConfigMap", name = name } } },
                backendRefs = { { name = namespace and "three" or "one", port = 80 } } } } } }
end

---Serves a script; `text` is the whole of it, or the body of its function `access`.
---@param world spec.GatewayWorld
---@param name string
---@param text string
---@return string host
function script_world.serve(world, name, text)
    if not text:find("return {", 1, true) then
        text = "return { access = function(request) " .. text .. "\nend }"
    end
    assert(world.sim:apply(script_world.config_map(name, text)))
    assert(world.sim:apply(script_world.route(name)))
    return name .. ".example.com"
end

return script_world
