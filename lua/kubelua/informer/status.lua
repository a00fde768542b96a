-- informer:status() of an informer of several namespaces: computed from the status of each.

---An object of the server that cannot be read.
---@class kubelua.UnreadableObject
---@field key string "namespace/name"
---@field why string
---@field cached boolean the cache has its former state

---All of them that there are now: an array of the first 100 by key.
---@class kubelua.UnreadableObjects
---@field count integer how many there are
---@field [integer] kubelua.UnreadableObject

---What informer:status returns; times are in seconds.
---@class kubelua.Status
---@field state "resolving"|"listing"|"streaming"|"watching"|"backoff"|"stopped"
---@field has_synced boolean
---@field age? number since the last message of the server; nil: there was none
---@field retry_in number
---@field lists integer
---@field lists_held integer of these, lists that the cache holds
---@field watches integer
---@field events integer
---@field failures integer
---@field objects integer
---@field queued integer changes that were read and are not in the cache yet
---@field unreadable kubelua.UnreadableObjects
---@field error? string the failure that has not been overcome yet
---@field code? string
---@field plugin? string the exec credential plugin that runs now
---@field plugin_running? number

---The same for several namespaces.
---@class kubelua.StatusOfSeveral: kubelua.Status
---@field namespaces table<string, kubelua.Status> the status of each

-- In the order of progress: the least advanced state comes first.
local STATES = { stopped = 1, backoff = 2, resolving = 3, listing = 4, streaming = 5, watching = 6 }

local SUMS = { "lists", "lists_held", "watches", "events", "failures", "objects", "queued" }

local function add_status(all, namespace, status)
    if not all.state or STATES[status.state] < STATES[all.state] then
        all.state = status.state
    end
    for _, name in ipairs(SUMS) do
        all[name] = (all[name] or 0) + status[name]
    end
    all.has_synced = all.has_synced and status.has_synced
    for _, each in ipairs(status.unreadable) do
        all.unreadable[#all.unreadable + 1] = each
    end
    all.unreadable.count = all.unreadable.count + status.unreadable.count
    if status.age and (not all.age or status.age > all.age) then
        all.age = status.age
    end
    if status.retry_in > 0 and (all.retry_in == 0 or status.retry_in < all.retry_in) then
        all.retry_in = status.retry_in
    end
    if status.error and not all.error then
        all.error, all.code = "namespace " .. namespace .. ": " .. status.error, status.code
    end
    if status.plugin and not all.plugin then
        all.plugin, all.plugin_running = status.plugin, status.plugin_running
    end
end

---The least advanced state, the sums, the first error; and the status of each namespace.
---@param parts kubelua.NamespacePart[]
---@return kubelua.StatusOfSeveral
return function(parts)
    local all = { has_synced = true, retry_in = 0, namespaces = {}, unreadable = { count = 0 } }
    for _, part in ipairs(parts) do
        local status = part.informer:status()
        all.namespaces[part.namespace] = status
        add_status(all, part.namespace, status)
    end
    return all
end
