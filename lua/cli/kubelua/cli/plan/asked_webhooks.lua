-- Asks the webhooks of a script that is rehearsed about the objects of the manifests, so that their
-- functions run.
local tasks = require "kubelua.tasks"
local values = require "kubelua.values"

local MOST = 200 -- objects

-- As an API server asks before it creates, changes and deletes the object.
local function ask(admission, name, object)
    admission.ask(name, { object = values.table(object) })
    admission.ask(name, { object = values.table(object), old = values.table(object) })
    admission.ask(name, { old = values.table(object) })
end

---@param cluster kubelua.Sim
---@param objects kubelua.PlanObject[]
return function(cluster, objects)
    local admission = package.loaded["kubelua.admission"]
    for _, hook in ipairs(admission and admission.ready() or {}) do
        tasks.task("kubelua.admit " .. hook.name, function()
            for i = 1, math.min(#objects, MOST) do
                local one = objects[i]
                local key = (one.namespace and one.namespace .. "/" or "") .. one.name
                local object = cluster:get(one.kind, key)
                if object then
                    ask(admission, hook.name, object)
                end
            end
        end)
    end
end
