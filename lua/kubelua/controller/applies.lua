-- Remembers what a controller has applied, so that an apply that would change nothing is not sent:
-- the server would write nothing, and answer with the object that the cache has. Most such applies
-- follow the event of the apply before.
--
-- A cache may be behind: its object may have been changed or deleted meanwhile. So this holds only
-- for caches of `owns` without `when`: the event, once it comes, reconciles the owner again.
local cache_of = require "kubelua.controller.cache_of"
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"

-- Seconds: an apply is remembered for AGE after it was sent, and for twice as long at most. Then it
-- is sent again, because a new webhook or default of the server may change the object. Cluster API
-- also remembers its server-side applies, for half an hour (internal/util/ssa/cache.go).
local AGE = 600

---@class kubelua.controller.Applies
---@field state kubelua.controller.State
---@field renew_at number
---@field recent table<string, string> by UID: the reply's version, and a hash of what was sent
---@field older table<string, string> the same, of the AGE seconds before
---@field lists integer how many lists the caches of `owns` have taken
local Applies = {}
Applies.__index = Applies

local applies = {}

---@param state kubelua.controller.State
---@return kubelua.controller.Applies
function applies.new(state)
    return setmetatable({ state = state, renew_at = state.clock:now() + AGE, recent = {},
        older = {}, lists = 0 }, Applies)
end

-- The informers of the core of a source, which never change once it is open.
local function parts_of(source)
    source.parts = source.parts or informer_parts.informers(source.informer)
    return source.parts
end

local function count_lists(self)
    local count = 0
    for _, source in ipairs(self.state.in_order) do
        if source.role == "owns" then
            for _, informer in ipairs(parts_of(source)) do
                count = count + core.informer_lists_held(informer)
            end
        end
    end
    return count
end

-- Forgets what is too old. Forgets everything once a cache has taken another list: it may be that
-- of a cluster restored from a backup, which gives the same versions to other states.
local function renew(self)
    local now, lists = self.state.clock:now(), count_lists(self)
    if lists ~= self.lists or now >= self.renew_at + AGE then
        self.recent, self.older, self.renew_at, self.lists = {}, {}, now + AGE, lists
    elseif now >= self.renew_at then
        self.recent, self.older, self.renew_at = {}, self.recent, self.renew_at + AGE
    end
end

-- The same object at the same version in a cache of `owns` whose every event reconciles the owner;
-- with all its fields, in the version of the API that the document names.
local function find_owned(self, kind, object)
    for _, source in ipairs(cache_of.sources(self.state, kind, object.namespace)) do
        local cached = source.role == "owns" and not source.when
            and source.informer:get(object.key)
        if cached and cached.uid == object.uid
            and cached.resource_version == object.resource_version
            and cached.apiVersion == kind.api_version
            and not core.is_metadata_only(cached) and not core.is_pruned(cached) then
            return cached
        end
    end
    return nil
end

---Identifies a document and the options of client:apply: equal ones have the same digest. The
---second result is the object in a cache of `owns`, if this was applied to it, and it still has the
---version of that reply.
---@param object kubelua.Object? as some cache has it
---@param kind kubelua.Kind of the document
---@param document table
---@param options kubelua.ApplyOptions
---@return string digest
---@return kubelua.Object?
function Applies:find(object, kind, document, options)
    renew(self)
    local digest = core.digest(document, options.manager, options.force)
        or core.hash { document, options.manager, options.force }
    local entry = object and (self.recent[object.uid] or self.older[object.uid])
    if entry and entry == tostring(object.resource_version) .. " " .. digest then
        return digest, find_owned(self, kind, object)
    end
    return digest
end

---Records an answered apply, which was looked for with `find` before it was sent. The reply of a
---server that lies may lack a UID or a version.
---@param object kubelua.Object the reply
---@param digest string
function Applies:note(object, digest)
    if object.uid and object.resource_version then
        self.recent[object.uid] = object.resource_version .. " " .. digest
    end
end

-- Objects without an owner are in the same tables: their keys are no UIDs.
local function key_of(object, manager)
    return "unowned " .. object.uid .. " " .. manager
end

---Records that a field manager has applied an object.
---@param object kubelua.Object
---@param manager string
function Applies:note_manager(object, manager)
    renew(self)
    if object.uid then
        self.recent[key_of(object, manager)] = true
    end
end

-- True if the managed fields of an object name a manager that has applied it.
local function names_manager(object, manager)
    local entries = object:get("metadata.managedFields") or {}
    for i = 1, #entries do
        local entry = entries[i]
        if entry.manager == manager and entry.operation == "Apply"
            and (entry.subresource or "") == "" then
            return true
        end
    end
    return false
end

---True if it is known that a field manager has applied an object: it was recorded, or the object
---has managed fields that say so. Informers leave them out, unless the script wants them.
---@param object kubelua.Object
---@param manager string
---@return boolean
function Applies:has_manager(object, manager)
    renew(self)
    local key = key_of(object, manager)
    if self.recent[key] or self.older[key] then
        return true
    elseif names_manager(object, manager) then
        self:note_manager(object, manager)
        return true
    end
    return false
end

return applies
