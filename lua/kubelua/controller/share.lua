-- The caches of a controller with shards = { caches = "share" }: they hold the objects of this
-- member's share, and what these own. The share is known before the member may work on it, so it is
-- listed early; a part is worked on only once every cache has its list.
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"
local parts_of = require "kubelua.shards.parts"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

---@class kubelua.controller.Share
---@field state kubelua.controller.State
---@field options table of shards.options
---@field is_partial boolean the caches hold a part; else all objects
---@field wanted table<integer, true>? the parts that the caches are to hold; nil: not known yet
---@field held table<integer, true> those that every cache holds
---@field changed fun() called when `held` is new
---@field text string `wanted`, as the shard of an informer
---@field task kubelua.Task? that waits for the lists
---@field trim_timer kubelua.Timer? gives back the memory of the objects that have left
local Share = {}
Share.__index = Share

local TRIM = 2 -- seconds after the lists are there

---@param state kubelua.controller.State
---@param options table of shards.options
---@param changed fun()
---@return kubelua.controller.Share
function Share.new(state, options, changed)
    return setmetatable({ state = state, options = options, changed = changed, held = {},
        is_partial = options.caches == "share", text = parts_of.shard({}) }, Share)
end

-- What the shard of a source is of; nil: its cache holds all objects.
local function find_by(self, source)
    local by = self.options.by
    if not self.is_partial or source.given.shard then
        return nil
    elseif source.role == "reconciles" or source.role == "owns" and by == "namespace" then
        return by
    elseif source.role == "owns" then
        local kind = self.state.main.kind or core.builtin_kind(self.state.main.resource)
        return by == "uid" and "owner_uid" or kind.namespaced and "owner_key" or "owner_name"
    end
end

---True if a source can be opened only once the kind of the reconciled objects is known.
---@param source kubelua.controller.Source
---@return boolean
function Share:needs_kind(source)
    local main = self.state.main
    return self.is_partial and source.role == "owns" and self.options.by == "key"
        and not main.kind and not core.builtin_kind(main.resource)
end

---Adds to the options of a source's informer which objects it is to hold.
---@param source kubelua.controller.Source
---@param given table
function Share:narrow(source, given)
    local by, options = find_by(self, source), self.options
    if by then
        source.share, source.share_by = self, by
        given.shard, given.shard_by = self.text, by
        given.ring = table.concat({ options.namespace or "", options.name,
            options.identity or "" }, "/")
    end
end

local function holds_all(self)
    for _, source in ipairs(self.state.in_order) do
        if find_by(self, source) and not (source.informer and source.informer:holds_shard()) then
            return false
        end
    end
    return true
end

-- Asked once a round: each cache wakes the loop when it changes.
local function arm_and_look(self)
    for _, source in ipairs(self.state.in_order) do
        for _, informer in ipairs(source.share_by and source.informer
            and informer_parts.informers(source.informer) or {}) do
            core.informer_wake_changed(informer, tasks.poller)
        end
    end
    return self.state.is_stopped or holds_all(self)
end

-- The objects that have left are dropped as their events are handled, and many others may be put
-- into their place: a list needs room for both.
local function trim_later(self)
    if self.trim_timer then
        self.trim_timer.cancelled = true
    end
    self.trim_timer = self.state.clock:at(self.state.clock:now() + TRIM, function()
        self.trim_timer = nil
        collectgarbage()
        core.memory_trim()
    end)
end

local function await_lists(self)
    repeat -- the share may be another one by the time that the task goes on
        waiting.wait("share", nil, function() return arm_and_look(self) end)
    until self.state.is_stopped or holds_all(self)
    self.task = nil
    if not self.state.is_stopped then
        self.held = self.wanted
        self.changed()
        trim_later(self)
    end
end

local function begin_waiting(self)
    if not self.task then
        self.task = tasks.task(self.state.what .. ": lists of its share", await_lists, self)
        self.task.doing, self.task.outlasts = function() end, true
        tasks.leave_scope(self.task)
        tasks.leave_script(self.task)
    end
end

---Sets the parts that the caches are to hold.
---@param parts table<integer, true>
function Share:want(parts)
    if not self.is_partial then
        return
    end
    self.wanted, self.text = parts, parts_of.shard(parts)
    self.held = parts_of.both(self.held, parts)
    for _, source in ipairs(self.state.in_order) do
        if source.share_by and source.informer then
            source.informer:set_shard(self.text) -- a stopped informer takes none
        end
    end
    begin_waiting(self)
end

---True if the caches hold all that they are to hold.
---@return boolean
function Share:is_held()
    return not self.is_partial or self.wanted ~= nil and parts_of.are_equal(self.held, self.wanted)
end

---Those of the parts that this process may work on which it can work on.
---@param allowed table<integer, true>
---@return table<integer, true>
function Share:limit(allowed)
    return self.is_partial and parts_of.both(allowed, self.held) or allowed
end

-- The part that decides if a source has an object, by an owner or by itself.
local function has_part(self, by, meant)
    local part = by:find("uid$") and core.shard_part_of_uid(meant.uid or "")
        or core.shard_part(by == "namespace" and meant.namespace or meant.key or "")
    return self.wanted ~= nil and self.wanted[part] == true
end

---True if the cache of a source may hold an object.
---@param source kubelua.controller.Source
---@param object kubelua.Object
---@return boolean
function Share:has(source, object)
    local by, namespace = source.share_by, object.namespace
    if not by then
        return true
    elseif not by:find("^owner") then
        return has_part(self, by, { uid = object.uid, namespace = namespace or "",
            key = object.key })
    end
    local owners = core.get(object, "metadata.ownerReferences") or {}
    for i = 1, #owners do
        local key = by == "owner_key" and namespace and namespace .. "/" .. owners[i].name
            or owners[i].name
        if has_part(self, by, { uid = owners[i].uid, key = key }) then
            return true
        end
    end
    return false
end

return Share
