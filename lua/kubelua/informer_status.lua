-- How an informer is, and how one of several namespaces is: what their informers' say together.

---What informer:status returns; seconds.
---@class kubelua.Status
---@field state "resolving"|"listing"|"streaming"|"watching"|"backoff"|"stopped"
---@field has_synced boolean
---@field age? number since the server said anything; nil: it never did
---@field retry_in number
---@field lists integer
---@field lists_held integer of these, such as the cache has held
---@field watches integer
---@field events integer
---@field failures integer
---@field objects integer
---@field queued integer changes that wait to be told
---@field error? string of a failure that still stands
---@field code? string
---@field plugin? string an exec credential plugin that is waited for
---@field plugin_running? number

---The same of several namespaces.
---@class kubelua.StatusOfSeveral: kubelua.Status
---@field namespaces table<string, kubelua.Status> each one's own

-- What is least far comes first.
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

---The state that is least far, the sums, the first error; and each namespace's own.
---@param parts kubelua.NamespacePart[]
---@return kubelua.StatusOfSeveral
return function(parts)
    local all = { has_synced = true, retry_in = 0, namespaces = {} }
    for _, part in ipairs(parts) do
        local status = part.informer:status()
        all.namespaces[part.namespace] = status
        add_status(all, part.namespace, status)
    end
    return all
end
