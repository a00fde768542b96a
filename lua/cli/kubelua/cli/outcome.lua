-- Judges a run by the informers and controllers that its script has left open.
local controllers = require "kubelua.controller"
local idle = require "kubelua.controller.idle"
local informers = require "kubelua.informer"

local outcome = {}

local function is_open(status)
    return status.state ~= "stopped"
end

---Says which controller has not begun, and why: it waits for a first list. nil: all have.
---@return string?
function outcome.unlisted()
    for state in pairs(controllers.started) do
        if not state.is_listed and not state.is_stopped then
            return idle.left(state)
        end
    end
    return nil
end

---Says why nothing was read: the error of an open informer, if no informer has its first list. nil:
---an informer has its first list, or no open informer has an error.
---@return string?
function outcome.unreached()
    local problem
    for informer in pairs(informers.open) do
        local status = informer:status()
        if status.has_synced then
            return nil
        elseif is_open(status) and status.error then
            problem = tostring(informer) .. ": " .. status.error
        end
    end
    return problem
end

---The resources of open informers that have no handler, and for which no call has waited.
---@return string[]
function outcome.unheard()
    local names = {}
    for informer in pairs(informers.open) do
        if is_open(informer:status()) and not informers.is_used(informer) then
            names[#names + 1] = informers.resource(informer)
        end
    end
    table.sort(names)
    return names
end

return outcome
