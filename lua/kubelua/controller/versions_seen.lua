-- Remembers the versions of objects that a cache has had. It is needed for servers whose versions
-- are not numbers: there, a later version does not show that an earlier one was seen.
local tasks = require "kubelua.tasks"
local scheduler = require "kubelua.scheduler"

---@class kubelua.controller.VersionsSeen
local VersionsSeen = {}
VersionsSeen.__index = VersionsSeen

-- Seconds for which a version is remembered at least: twice the default timeout of a write, whose
-- answer may come after its event.
local LONG = 60

local versions_seen = {}

local function note_version(self, object)
    local now = scheduler.machine:now()
    if now - self.since > LONG then
        self.before, self.recent, self.since = self.recent, {}, now
    end
    self.recent[object.uid .. " " .. object.resource_version] = true
    tasks.poller:wake()
end

---Begins to watch an informer. No changes are merged: every version is seen.
---@param name string for messages
---@param informer kubelua.Informer
---@return kubelua.controller.VersionsSeen?, string?, string?
function versions_seen.new(name, informer)
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

return versions_seen
