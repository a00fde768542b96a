-- Says which Ingresses name a script that is not there: an error for all of their paths, which
-- script/phases.lua answers.
local known = require "resty.kubelua.gateway.annotations.known"

local scripts = {}

---@param items kubelua.gateway.IngressItem[]
---@param is_ready (fun(namespace: string, name: string): true|nil, string?)? nil: it is not known
function scripts.check(items, is_ready)
    for _, item in ipairs(is_ready and items or {}) do
        local filter = item.parsed.script
        local name = filter and filter.configmap:match("/([^?]+)$")
        local ready, why = not name, nil
        if name then
            ready, why = is_ready(item.namespace, name)
        end
        if not ready then
            item.problems[#item.problems + 1] = { object = item.object, kind = "missing",
                annotation = known.SCRIPT, message = why .. ": 500" }
        end
    end
end

return scripts
