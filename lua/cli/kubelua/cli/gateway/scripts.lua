-- The ConfigMaps with Lua on the route, for kubelua gateway check: compiles them as the gateway
-- does, with its default limits, as if all namespaces might use scripts.
local chunk = require "resty.kubelua.gateway.script.chunk"
local options = require "resty.kubelua.gateway.script.options"

---Makes a function that says if a ConfigMap has a script that compiles. If no ConfigMap was read,
---as of a cluster, each has.
---@param texts table<string, string> by "namespace/name"
---@return fun(namespace: string, name: string): true|nil, string?
return function(texts)
    local limits, results = options.read { namespaces = "all" }, {}
    return function(namespace, name)
        local key = namespace .. "/" .. name
        if not next(texts) then
            return true
        elseif not texts[key] then
            return nil, ("there is no ConfigMap %s with the key %s"):format(key, chunk.KEY)
        elseif results[key] == nil then
            local script, why = chunk.compile(key, texts[key], limits)
            results[key] = script and "" or why
        end
        if results[key] ~= "" then
            return nil, ("the script %s does not compile: %s"):format(key, results[key])
        end
        return true
    end
end
