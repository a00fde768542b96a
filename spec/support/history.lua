-- Checks the events that one handler gets of each object: an add, then updates whose `old` is the
-- last known object, then perhaps a delete, all with one UID and rising versions; after a delete,
-- an add of something new.
local history = {}
history.__index = history

function history.new()
    return setmetatable({ known = {}, breaches = {} }, history)
end

local function breach(self, format, ...)
    self.breaches[#self.breaches + 1] = string.format(format, ...)
end

-- Compares versions: decimal numbers of any length.
local function is_older(a, b)
    if #a ~= #b then
        return #a < #b
    end
    return a < b
end

function history:add(object)
    local key = object.key
    if self.known[key] then
        breach(self, "%s was added, and is there already", key)
    end
    self.known[key] = { uid = object.uid, version = object.resource_version }
end

function history:update(old, new)
    local key = new.key
    local known = self.known[key]
    if not known then
        breach(self, "%s was updated, and was never added", key)
        return
    end
    if old.key ~= key or old.uid ~= known.uid or new.uid ~= known.uid then
        breach(self, "%s was updated from UID %s to %s; it had %s", key, old.uid, new.uid,
            known.uid)
    end
    if old.resource_version ~= known.version then
        breach(self, "%s was updated from version %s; the one before was %s", key,
            old.resource_version, known.version)
    end
    if is_older(new.resource_version, known.version) then
        breach(self, "%s went back from version %s to %s", key, known.version,
            new.resource_version)
    end
    self.known[key] = { uid = new.uid, version = new.resource_version }
end

function history:delete(object)
    local known = self.known[object.key]
    if not known then
        breach(self, "%s was deleted, and was not there", object.key)
    elseif object.uid ~= known.uid then
        breach(self, "%s was deleted with UID %s; it had %s", object.key, object.uid, known.uid)
    end
    self.known[object.key] = nil
end

---Returns the objects that exist after these events: lines "key uid version", sorted.
---@return string[]
function history:believes()
    local lines = {}
    for key, known in pairs(self.known) do
        lines[#lines + 1] = key .. " " .. known.uid .. " " .. known.version
    end
    table.sort(lines)
    return lines
end

return history
