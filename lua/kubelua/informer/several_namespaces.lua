-- An informer of several namespaces: it has the methods of an informer, over one informer of the
-- core for each namespace.
--
-- It is in Lua, and not one informer of the core with several watches, because all informers of a
-- client share the watch of a namespace: so a namespace is watched once, even if the lists of
-- namespaces overlap. Each watch has its own version, backoff and first list in any case, and no
-- server orders the changes of two namespaces. So a reading is a snapshot of each namespace, but
-- not of all at one moment.
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"
local misuse = require "kubelua.misuse"
local registrations = require "kubelua.registration"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local PARTS = informer_parts.KEY

---@class kubelua.SeveralNamespaces: kubelua.Informer
local Several = { __name = "kubelua.informer", __metatable = "kubelua.informer" }
Several.__index = Several

local several = {}

---Opens an informer of several namespaces.
---@param namespaces string[] sorted by namespace .. "/"
---@param open fun(namespace: string): kubelua.Informer?, table|string, string? also its state
---@return kubelua.Informer?, string?, string?
function several.open(namespaces, open)
    local parts = {}
    for i, namespace in ipairs(namespaces) do
        local informer, state, code = open(namespace)
        if not informer then
            for _, part in ipairs(parts) do
                part.informer:stop()
            end
            return nil, state, code -- `state` is the message
        end
        parts[i] = { namespace = namespace, informer = informer, state = state }
    end
    return setmetatable({ [PARTS] = parts }, Several)
end

local function check_parts(self)
    return type(self) == "table" and self[PARTS]
        or misuse("a kubelua.informer expected, not a %s: call its methods with a colon, as in "
            .. "object:method()", type(self))
end

local function find_part(self, namespace)
    for _, part in ipairs(check_parts(self)) do
        if part.namespace == namespace then
            return part
        end
    end
    return nil
end

-- The parts; or nil, message, "forked". They have one client, so the first one answers for all.
local function usable_parts(self)
    local parts = check_parts(self)
    local ok, message, code = core.informer_check(parts[1].informer)
    if not ok then
        return nil, message, code
    end
    return parts
end

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
local function add_up_status(parts)
    local all = { has_synced = true, retry_in = 0, namespaces = {}, unreadable = { count = 0 } }
    for _, part in ipairs(parts) do
        local status = part.informer:status()
        all.namespaces[part.namespace] = status
        add_status(all, part.namespace, status)
    end
    return all
end

-- Joins the arrays that a method returns for each part. Keys begin with the namespace, and the
-- parts are sorted, so the result is sorted.
local function join_arrays(parts, method, ...)
    local all = {}
    for _, part in ipairs(parts) do
        local some, message, code = part.informer[method](part.informer, ...)
        if not some then
            return nil, message, code
        end
        for i = 1, #some do
            all[#all + 1] = some[i]
        end
    end
    return all
end

local function all_hold(parts, holds)
    for _, part in ipairs(parts) do
        if not holds(part.informer) then
            return false
        end
    end
    return true
end

function Several:has_synced()
    local parts, message, code = usable_parts(self)
    if not parts then
        return nil, message, code
    end
    return all_hold(parts, function(informer) return informer:has_synced() end)
end

function Several:get(key, ...)
    local parts, message, code = usable_parts(self)
    if not parts then
        return nil, message, code
    end
    local part = parts[1] -- the first part raises for a wrong key
    if type(key) == "string" then
        part = find_part(self, select("#", ...) > 0 and key or key:match("^(.-)/"))
    end
    if part then
        return part.informer:get(key, ...)
    end
    return nil
end

function Several:list(filter)
    return join_arrays(check_parts(self), "list", filter)
end

function Several:by(index, value)
    return join_arrays(check_parts(self), "by", index, value)
end

function Several:values(index)
    local all, message, code = join_arrays(check_parts(self), "values", index)
    if not all then
        return nil, message, code
    end
    table.sort(all)
    local distinct = {}
    for _, value in ipairs(all) do
        if value ~= distinct[#distinct] then
            distinct[#distinct + 1] = value
        end
    end
    return distinct
end

function Several:count()
    local total = 0
    local parts, message, code = usable_parts(self)
    if not parts then
        return nil, message, code
    end
    for _, part in ipairs(parts) do
        total = total + part.informer:count()
    end
    return total
end

---The resourceVersion of one namespace. Without a namespace: the lowest, which every namespace has
---reached; "" if one has none yet, or they cannot be compared.
---@param namespace string?
---@return string?, string?, string?
function Several:resource_version(namespace)
    if namespace ~= nil then
        local part = find_part(self, namespace)
            or misuse("resource_version: '%s' is not a namespace of this informer", namespace)
        return part.informer:resource_version()
    end
    local least
    local parts, message, code = usable_parts(self)
    if not parts then
        return nil, message, code
    end
    for _, part in ipairs(parts) do
        local version = part.informer:resource_version()
        local order = least and core.compare_versions(version, least)
        if version == "" or (least and not order) then
            return ""
        elseif not least or order < 0 then
            least = version
        end
    end
    return least
end

-- Calls a method of each informer, until one fails.
local function call_each(self, method, ...)
    for _, part in ipairs(check_parts(self)) do
        local ok, message, code = part.informer[method](part.informer, ...)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

function Several:index(name, index)
    return call_each(self, "index", name, index)
end

function Several:on(given)
    local parts = check_parts(self)
    for _, part in ipairs(parts) do
        if part.state.is_retired then
            return part.informer:on(given) -- it says why not
        end
    end
    return registrations.over(parts, given)
end

function Several:wait_synced(seconds)
    scheduler.check_bound("wait_synced", seconds)
    local parts = check_parts(self)
    for _, part in ipairs(parts) do
        part.state.was_awaited = true
        local ok, message, code = core.informer_wake(part.informer, tasks.poller)
        if not ok then
            return nil, message, code
        end
    end
    local _, is_ended = waiting.wait("wait_synced", seconds, function()
        return all_hold(parts, core.informer_settled)
    end)
    if is_ended then
        return nil, waiting.CANCELED, "canceled"
    end
    for _, part in ipairs(parts) do
        local ok, message, code = core.informer_outcome(part.informer)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

function Several:set_shard(shard)
    return call_each(self, "set_shard", shard)
end

function Several:holds_shard()
    return all_hold(check_parts(self), function(informer) return informer:holds_shard() end)
end

---@return kubelua.StatusOfSeveral
function Several:status()
    return add_up_status(check_parts(self))
end

function Several:stop()
    for _, part in ipairs(check_parts(self)) do
        part.informer:stop()
    end
end

function Several:__tostring()
    local names = {}
    for i, part in ipairs(self[PARTS]) do
        names[i] = part.namespace
    end
    return "kubelua.informer: " .. self[PARTS][1].state.what .. " in " .. table.concat(names, ", ")
        .. " (" .. self:status().state .. ")"
end

return several
