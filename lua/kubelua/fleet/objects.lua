-- A source of a fleet that is a watch in the home cluster: Secrets or ClusterProfiles. What an
-- object means is the affair of secrets.lua and profiles.lua.
local clients = require "kubelua.client"
local fleet_options = require "kubelua.fleet.options"

---@class kubelua.fleet.Objects: kubelua.fleet.Source
---@field home kubelua.fleet.Home
---@field request kubelua.InformerOptions
---@field entry fun(object: kubelua.Object): kubelua.fleet.Entry? nil: it is no cluster
---@field informer kubelua.Informer?
local Objects = {}
Objects.__index = Objects

-- Seconds that a read waits for the first list before it says what is wrong.
local PATIENCE = 5

---Begins to watch.
---@param changed fun()
---@return true?, string?, string?
function Objects:open(changed)
    local message, code
    self.informer, message, code = clients.informer(self.home.client, self.request)
    if not self.informer then
        return nil, message, code
    end
    local ok
    ok, message, code = self.informer:on { name = "fleet: " .. self.what, add = changed,
        update = changed, delete = changed, synced = changed, error = function() end }
    return ok and true, message, code
end

-- The oldest first: of two of one name, it has it.
local function is_before(a, b)
    if a.created ~= b.created then
        return a.created < b.created
    end
    return a.key < b.key
end

-- What the source says of an object.
local function read_one(self, object)
    local entry = self.entry(object)
    if entry and not fleet_options.is_name(entry.name) then
        entry.name, entry.problem = object.key, fleet_options.tell_name(entry.name)
    end
    return entry
end

---@return kubelua.fleet.Entry[]?, string?, string?
function Objects:read()
    local ok, message, code = self.informer:wait_synced(PATIENCE)
    if not ok then
        local status = self.informer:status()
        return nil, status.error or message, status.code or code
    end
    local objects, entries = {}, {}
    for i, object in ipairs(self.informer:list() or {}) do
        objects[i] = { key = object.key, object = object,
            created = object:get("metadata.creationTimestamp") or "" }
    end
    table.sort(objects, is_before)
    for _, one in ipairs(objects) do
        entries[#entries + 1] = read_one(self, one.object)
    end
    return entries
end

function Objects:close()
    if self.informer then
        self.informer:stop()
        self.informer = nil
    end
end

---A source.
---@param what string for messages
---@param home kubelua.fleet.Home
---@param request kubelua.InformerOptions
---@param entry fun(object: kubelua.Object): kubelua.fleet.Entry?
---@return kubelua.fleet.Source
return function(what, home, request, entry)
    request.namespace = request.namespace or home.client:namespace()
    return setmetatable({ home = home, request = request, entry = entry,
        what = what .. (request.namespace == "*" and "" or " in " .. request.namespace) }, Objects)
end
