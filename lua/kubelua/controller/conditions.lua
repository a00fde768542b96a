-- Merges the conditions of a status (metav1.Condition): one for each type, with the time of its
-- last change.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local tasks = require "kubelua.tasks"

local conditions = {}

local function check_condition(condition)
    if type(condition) ~= "table" or type(condition.type) ~= "string"
        or type(condition.status) ~= "string" then
        misuse("run:status: a condition is a table such as { type = \"Ready\", status = \"True\", "
            .. "reason = \"Done\", message = \"...\" }")
    end
end

-- False for conditions of Deployments, Jobs and Nodes: they are older than metav1.Condition, and
-- have another time instead of observedGeneration.
local function has_generation(condition)
    return not (condition.lastUpdateTime or condition.lastProbeTime or condition.lastHeartbeatTime)
end

-- lastTransitionTime changes only if the status changes.
local function complete_condition(condition, old, generation)
    if old and old.status == condition.status and old.lastTransitionTime then
        condition.lastTransitionTime = old.lastTransitionTime
    elseif condition.lastTransitionTime == nil then
        condition.lastTransitionTime = core.timestamp(math.floor(tasks.clock_here():unix()))
    end
    if condition.observedGeneration == nil and has_generation(condition) then
        condition.observedGeneration = generation
    end
    return condition
end

---The old conditions. A wanted one replaces the old one of its type, or is appended.
---@param old kubelua.Condition[]?
---@param wanted kubelua.Condition[] missing fields are filled in
---@param generation integer? of the object that the run has read
---@return kubelua.Condition[]
function conditions.merge(old, wanted, generation)
    if type(wanted) ~= "table" then
        misuse("run:status: 'conditions' is a list of conditions, not a %s", type(wanted))
    end
    local merged, place = core.array(), {}
    for _, condition in ipairs(type(old) == "table" and old or {}) do
        merged[#merged + 1] = condition
        place[condition.type] = #merged
    end
    for key, condition in pairs(wanted) do
        check_condition(type(key) == "number" and condition or nil)
    end
    for _, condition in ipairs(wanted) do
        local at = place[condition.type] or #merged + 1
        merged[at] = complete_condition(condition, merged[at], generation)
        place[condition.type] = at
    end
    return merged
end

return conditions
