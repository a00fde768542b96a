-- The keys of objects that were deleted, with their parts, for the option `shards`: those of this
-- member until their run has ended, and those of others for a while. If their member ends before
-- its run, the next one does it.

---@class kubelua.controller.DeletedKeys
---@field clock kubelua.Clock
---@field seconds number the keys of others are kept for so long, and up to twice
---@field is_own fun(part: integer): boolean
---@field young table<string, integer> part by key
---@field old table<string, integer>
---@field ages_at number
local DeletedKeys = {}
DeletedKeys.__index = DeletedKeys

---@param clock kubelua.Clock
---@param seconds number
---@param is_own fun(part: integer): boolean true if this member has the part
---@return kubelua.controller.DeletedKeys
function DeletedKeys.new(clock, seconds, is_own)
    return setmetatable({ clock = clock, seconds = seconds, is_own = is_own, young = {}, old = {},
        ages_at = clock:now() + seconds }, DeletedKeys)
end

-- The old ones of other members are dropped, so that few are kept at any time.
local function grow_old(self)
    local kept = {}
    for key, part in pairs(self.old) do
        if self.is_own(part) then
            kept[key] = part
        end
    end
    self.old, self.young = self.young, kept
    self.ages_at = self.clock:now() + self.seconds
end

---@param key string
---@param part integer
function DeletedKeys:note(key, part)
    if self.clock:now() >= self.ages_at then
        grow_old(self)
    end
    self.young[key], self.old[key] = part, nil
end

---@param key string
---@return integer? part
function DeletedKeys:part_of(key)
    return self.young[key] or self.old[key]
end

---@param key string
function DeletedKeys:forget(key)
    self.young[key], self.old[key] = nil, nil
end

---All keys: a copy.
---@return table<string, integer> part by key
function DeletedKeys:all()
    local all = {}
    for _, from in ipairs { self.old, self.young } do
        for key, part in pairs(from) do
            all[key] = part
        end
    end
    return all
end

return DeletedKeys
