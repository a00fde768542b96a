-- One object that a run has written, and the test for whether a cache holds this write. It does
-- once it has reached the version of the write, or has seen that the object is gone. The wait until
-- it does.
local cache_of = require "kubelua.controller.cache_of"
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

---A write that a cache must come to hold: the last write of an object, or its deletion.
---@class kubelua.controller.WriteSeen
---@field source kubelua.controller.Source
---@field key string the object's key
---@field namespace string?
---@field informer kubelua.Informer? see writes_seen.informer
---@field uid string
---@field owner string? the UID of the controller of the object in the reply to the write
---@field former_owner string? the UID of the controller of the object that the cache had before
---@field version string? the version that the cache must reach
---@field reply kubelua.Object? the object in the server's reply
---@field is_selected boolean? the selectors of the source select the written object
---@field ends "gone"|"terminating"|"let_go"|nil the reply to a delete; let_go: an update removed
---the last finalizer of an object that is being deleted
---@field is_guess boolean? the UID is that of the cached object, not one that the server named
---@field base string? the version of the cache when the reply came
---@field list integer? if versions are not numbers: the number of the first list after the reply
---@field keys table<string, true> the keys whose runs wrote it
local writes_seen = {}

---The UID of an object's controller, by its owner references.
---@param object kubelua.Object
---@return string?
function writes_seen.controller_of(object)
    local references = object:get("metadata.ownerReferences") or {}
    for i = 1, #references do
        if references[i].controller then
            return references[i].uid
        end
    end
end

---The cache that must hold the write: that of its namespace, if the source has several.
---@param self kubelua.controller.WriteSeen
---@return kubelua.Informer
function writes_seen.informer(self)
    if not self.informer then
        local informer = self.source.informer
        self.informer = informer_parts.informer(informer, self.namespace) or informer
    end
    return self.informer
end

---The cached object, if it has the UID of the written one.
---@param self kubelua.controller.WriteSeen
---@return kubelua.Object?
function writes_seen.cached(self)
    local object = self.source.informer:get(self.key)
    return object and object.uid == self.uid and object or nil
end

-- A Scale is another kind, but has the UID and the version of the scaled object.
local function is_selected(self, write)
    if cache_of.takes_all(self.source) then
        return true
    elseif write.object.kind ~= write.kind.kind then
        return writes_seen.cached(self) ~= nil
    end
    return cache_of.selects(self.source, write.object)
end

-- The number of the first list that begins after now: a list under way does not count.
local function next_list(informer)
    local status = informer:status()
    return status.lists + (status.state == "watching" and 1 or 2)
end

-- The verbs that end an object.
writes_seen.ENDS = { delete = true, evict = true }

local function has_finalizers(object)
    local finalizers = object:get("metadata.finalizers")
    return finalizers ~= nil and #finalizers > 0
end

-- True if this write removed the last finalizer of an object that is being deleted. Then the server
-- usually deletes the object.
local function is_let_go(object)
    return object:get("metadata.deletionTimestamp") ~= nil and not has_finalizers(object)
        and (object:get("metadata.deletionGracePeriodSeconds") or 0) == 0
end

---Records an answered write of the object. It replaces the write recorded before.
---@param self kubelua.controller.WriteSeen
---@param write kubelua.Write
function writes_seen.note(self, write)
    local object, informer = write.object, writes_seen.informer(self)
    if writes_seen.ENDS[write.verb] then
        self.ends = (object or write.verb == "evict") and "terminating" or "gone"
        return
    end
    local former = writes_seen.cached(self)
    self.former_owner = former and writes_seen.controller_of(former)
    self.reply = object.kind == write.kind.kind and object or nil
    local order = self.version and core.compare_versions(object.resource_version, self.version)
    if order and order < 0 then
        return -- the reply to a later write came first
    end
    self.ends = self.ends or (is_let_go(object) and "let_go") or nil
    self.version, self.owner = object.resource_version, writes_seen.controller_of(object)
    self.is_selected = is_selected(self, write)
    self.base = informer:resource_version()
    self.list = not core.compare_versions(self.version, "1") and next_list(informer) or nil
end

-- If versions are not numbers: true if this version, or a later list, was seen.
local function was_version_seen(self, object)
    local versions = self.source.versions_seen
    return object and object.resource_version == self.version
        or versions and versions:has(self.uid, self.version)
        or self.list and writes_seen.informer(self):status().lists_held >= self.list or false
end

local function has_version(self, object)
    local at = writes_seen.informer(self):resource_version()
    local order = core.compare_versions(at, self.version)
    if order and order < 0 then
        -- The version has gone back: the cluster was restored from a backup, so versions are lower.
        return self.base ~= "" and (core.compare_versions(at, self.base) or 0) < 0
    end
    return order ~= nil or was_version_seen(self, object)
end

-- True if the cache shows the end of the object. After an update that removed the last finalizer,
-- the server may still keep the object: then it is enough that the cache has it without finalizers,
-- at the version of the update or a later one.
local function has_end(self, object)
    if not object then
        return true
    elseif self.ends == "terminating" then
        return object:get("metadata.deletionTimestamp") ~= nil
    end
    return self.ends == "let_go" and not has_finalizers(object)
        and (core.compare_versions(object.resource_version, self.version) or -1) >= 0
end

---True if the cache holds the write; the second result is true if that will not change. The
---selectors of the source may exclude the written object: then no event may come, and it is enough
---that the cache does not have it, although an earlier state of it may still appear.
---@param self kubelua.controller.WriteSeen
---@return boolean has_it, boolean for_good
function writes_seen.look(self)
    local object = writes_seen.cached(self)
    if self.ends then
        local has_ended = has_end(self, object)
        if not has_ended or not self.version then
            return has_ended, has_ended
        end
    end
    if has_version(self, object) then
        return true, true
    end
    return not self.is_selected and not object, false
end

---The versions of objects that a cache has had. They are needed for servers whose versions are not
---numbers: there, a later version does not show that an earlier one was seen.
---@class kubelua.controller.VersionsSeen
local VersionsSeen = {}
VersionsSeen.__index = VersionsSeen

-- Seconds for which a version is remembered at least: twice the default timeout of a write, whose
-- reply may come after its event.
local LONG = 60

local function note_version(self, object)
    local now = scheduler.machine:now()
    if now - self.since > LONG then
        self.before, self.recent, self.since = self.recent, {}, now
    end
    self.recent[object.uid .. " " .. object.resource_version] = true
    tasks.poller:wake()
end

---Begins to watch an informer. Changes are not coalesced: every version is seen.
---@param name string for messages
---@param informer kubelua.Informer
---@return kubelua.controller.VersionsSeen?, string?, string?
local function watch_versions(name, informer)
    local self = setmetatable({ recent = {}, before = {}, since = scheduler.machine:now() },
        VersionsSeen)
    local registration, message, code = informer:on {
        name = name,
        coalesce = false,
        add = function(object) note_version(self, object) end,
        update = function(_, object) note_version(self, object) end,
    }
    if not registration then
        return nil, message, code
    end
    self.registration = registration
    return self
end

---True if the cache has had this object at exactly this version, not long ago.
---@param uid string
---@param version string
---@return boolean
function VersionsSeen:has(uid, version)
    local seen = uid .. " " .. version
    return self.recent[seen] or self.before[seen] or false
end

local function prepare_source(state, source)
    local first = informer_parts.informers(source.informer)[1]
    if not core.compare_versions(first:resource_version(), "1") then
        local seen, message, code = watch_versions(state.what .. ": " .. source.name,
            source.informer)
        if not seen then
            return nil, message, code
        end
        source.versions_seen = seen
    end
    source.is_prepared = true
    return true
end

---Looks at each new source: if its versions are not numbers, remembers those that come.
---Called before each run, when all caches have synced.
---@param state kubelua.controller.State
---@return true?, string?, string?
function writes_seen.prepare(state)
    for _, source in pairs(state.sources) do
        if not source.is_prepared then
            local ok, message, code = prepare_source(state, source)
            if not ok then
                return nil, message, code
            end
        end
    end
    return true
end

---True if the result of a query may depend on this write.
---@param self kubelua.controller.WriteSeen
---@param filter { namespace: string?, owner: string? }
---@return boolean
function writes_seen.is_asked_for(self, filter)
    if filter.namespace and self.namespace ~= filter.namespace then
        return false
    end
    return not filter.owner or not self.owner or self.owner == filter.owner
        or self.former_owner == filter.owner
end

---Says which write is awaited, for messages.
---@param self kubelua.controller.WriteSeen
---@return string
function writes_seen.tell(self)
    local what = self.source.name .. " " .. self.key
    if self.ends then
        return "the deletion of " .. what
    end
    return what .. " at version " .. self.version .. " (the cache is at version "
        .. writes_seen.informer(self):resource_version() .. ")"
end

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
---the task. Returns the writes that they do not hold then. It does not poll: each cache wakes the
---loop when it changes.
---@param what string the name of the call, for messages
---@param seconds number
---@param list kubelua.controller.WriteSeen[]
---@param is_held fun(one: kubelua.controller.WriteSeen): boolean
---@return kubelua.controller.WriteSeen[]
function writes_seen.await(what, seconds, list, is_held)
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

return writes_seen
