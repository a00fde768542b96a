-- Waits for caches without asking them again and again: each wakes the loop when it changes.
local core = require "kubelua.core"
local held = require "kubelua.controller.held"
local loop = require "kubelua.loop"
local scheduler = require "kubelua.scheduler"

local caches = {}

-- The writes of a list that the caches do not hold yet.
local function without(list, is_held)
    local left = {}
    for _, one in ipairs(list) do
        if not is_held(one) then
            left[#left + 1] = one
        end
    end
    return left
end

-- The caches that are to hold a list: of a source, one, or one of each of its namespaces.
local function caches_of(list)
    local all, seen = {}, {}
    for _, one in ipairs(list) do
        local informer = held.informer(one)
        if not seen[informer] then
            seen[informer] = true
            all[#all + 1] = { source = one.source, informer = informer }
        end
    end
    return all
end

-- Has each cache wake the loop when it changes; true if one has changed since the last call.
local function watch(all)
    local has_changed = false
    for _, each in ipairs(all) do
        core.informer_wake_changed(each.informer, scheduler.poller)
        local at = each.informer:resource_version()
        has_changed = has_changed or at ~= each.at or each.source.sightings ~= nil
        each.at = at
    end
    return has_changed
end

---Waits until the caches hold all of a list, for so many seconds at most, on the clock of the task;
---returns what is left of it.
---@param what string of the call, for messages
---@param seconds number
---@param list kubelua.controller.Held[]
---@param is_held fun(one: kubelua.controller.Held): boolean
---@return kubelua.controller.Held[]
function caches.await(what, seconds, list, is_held)
    list = without(list, is_held)
    if #list == 0 then
        return list
    end
    local clock, all = scheduler.clock_here(), caches_of(list)
    local deadline = clock:now() + seconds
    local timer = clock:at(deadline, function() scheduler.poller:wake() end)
    local ok, problem = pcall(loop.wait, what, nil, function()
        -- They are told to wake before they are looked at: a change between the two wakes.
        if watch(all) then
            list = without(list, is_held)
        end
        return #list == 0 or clock:now() >= deadline
    end)
    timer.cancelled = true
    if not ok then
        error(problem, 0)
    end
    return list
end

return caches
