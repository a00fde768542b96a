-- Waits until the caches of a controller hold given writes. It does not poll: each cache wakes the
-- loop when it changes.
local core = require "kubelua.core"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"
local writes_seen = require "kubelua.controller.writes_seen"

local caches = {}

-- The writes in a list that the caches do not hold yet.
local function filter_missing(list, is_held)
    local left = {}
    for _, one in ipairs(list) do
        if not is_held(one) then
            left[#left + 1] = one
        end
    end
    return left
end

-- The caches that must hold the writes of a list, each once. A source with several namespaces has
-- one cache for each.
local function list_caches(list)
    local all, seen = {}, {}
    for _, one in ipairs(list) do
        local informer = writes_seen.informer(one)
        if not seen[informer] then
            seen[informer] = true
            all[#all + 1] = { source = one.source, informer = informer }
        end
    end
    return all
end

-- Makes each cache wake the loop at its next change. True if a cache may have changed since the
-- last call. If versions are not numbers, always true: the versions seen may have changed.
local function arm_wakeups(all)
    local has_changed = false
    for _, each in ipairs(all) do
        core.informer_wake_changed(each.informer, tasks.poller)
        local at = each.informer:resource_version()
        has_changed = has_changed or at ~= each.at or each.source.versions_seen ~= nil
        each.at = at
    end
    return has_changed
end

---Waits until the caches hold every write in a list, for at most so many seconds on the clock of
---the task. Returns the writes that they do not hold then.
---@param what string the name of the call, for messages
---@param seconds number
---@param list kubelua.controller.WriteSeen[]
---@param is_held fun(one: kubelua.controller.WriteSeen): boolean
---@return kubelua.controller.WriteSeen[]
function caches.await(what, seconds, list, is_held)
    list = filter_missing(list, is_held)
    if #list == 0 then
        return list
    end
    local clock, all = tasks.clock_here(), list_caches(list)
    local deadline = clock:now() + seconds
    local timer = clock:at(deadline, function() tasks.poller:wake() end)
    local ok, problem = pcall(waiting.wait, what, nil, function()
        -- The wake-ups are set before the caches are read: so a change in between still wakes the
        -- loop.
        if arm_wakeups(all) then
            list = filter_missing(list, is_held)
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
