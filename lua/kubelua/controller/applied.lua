-- Remembers what a controller has applied, so that an apply that would change nothing is not sent:
-- the server would write nothing, and answer with the object that the cache has. Most such applies
-- follow the event of the apply before.
--
-- A cache may be behind: its object may have been changed or deleted meanwhile. So this holds only
-- for caches of `owns`: the event, once it comes, reconciles the owner again.
local core = require "kubelua.core"
local reach = require "kubelua.controller.reach"

-- Seconds: an apply is remembered for AGE at least, and for twice as long at most. Then it is sent
-- again, because a new webhook or default of the server may change the object. Cluster API also
-- remembers its server-side applies, for half an hour (internal/util/ssa/cache.go).
local AGE = 600

---@class kubelua.controller.Applied
---@field state kubelua.controller.State
---@field renew_at number
---@field recent table<string, string> by UID: the answer's version, and a hash of what was sent
---@field older table<string, string> the same, of the AGE seconds before
local Applied = {}
Applied.__index = Applied

local applied = {}

---@param state kubelua.controller.State
---@return kubelua.controller.Applied
function applied.new(state)
    return setmetatable({ state = state, renew_at = state.clock:now() + AGE, recent = {},
        older = {} }, Applied)
end

-- Forgets what is too old.
local function renew(self)
    local now = self.state.clock:now()
    if now >= self.renew_at then
        self.older = now < self.renew_at + AGE and self.recent or {}
        self.recent, self.renew_at = {}, now + AGE
    end
end

---Identifies a document and the options of client:apply: equal ones give the same text.
---@param document table
---@param options table
---@return string
function applied.digest(document, options)
    return core.hash { document, options.manager, options.force }
end

-- True if a cache of `owns` has exactly this object, with all its fields.
local function is_owned(self, kind, object)
    for _, source in ipairs(reach.sources(self.state, kind, object.namespace)) do
        local cached = source.role == "owns" and source.informer:get(object.key)
        if cached and cached.uid == object.uid
            and cached.resource_version == object.resource_version
            and not core.is_metadata_only(cached) and not core.is_pruned(cached) then
            return true
        end
    end
    return false
end

---True if the document with this digest was applied to this object, and the object still has the
---version of that answer.
---@param object kubelua.Object as the cache has it
---@param kind kubelua.Kind
---@param digest string
---@return boolean
function Applied:has(object, kind, digest)
    renew(self)
    local entry = self.recent[object.uid] or self.older[object.uid]
    return entry ~= nil and entry == object.resource_version .. " " .. digest
        and is_owned(self, kind, object)
end

---Records an answered apply. The answer of a server that lies may lack a UID or a version.
---@param object kubelua.Object the answer
---@param digest string
function Applied:note(object, digest)
    renew(self)
    if object.uid and object.resource_version then
        self.recent[object.uid] = object.resource_version .. " " .. digest
    end
end

return applied
