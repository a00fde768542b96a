-- The life of a fleet's cluster for which the present code works. Each task inherits it from the
-- task that makes it; tasks.lua knows the task. What is made meanwhile ends with that life.

local here = {}

---The life for which the present code works; nil: it works for no cluster of a fleet.
---@return kubelua.fleet.Life?
function here.life()
    return nil
end

---The name of that cluster.
---@return string?
function here.name()
    local life = here.life()
    return life and life.name
end

---Notes how a thing ends that is made now: an informer, a handler, a client.
---@param thing any
---@param finish fun(thing: any) must not wait
function here.own(thing, finish)
    local life = here.life()
    if life then
        life.owned[thing] = finish
    end
end

return here
