-- The writes for the parts of a member that may still be carried out: a part is not given up
-- before they have a result.
local members = require "kubelua.leader.member"

---@class kubelua.shards.Writes
---@field lease number seconds
---@field now fun(): number
---@field ended fun() called after each write
---@field waiting table<integer, integer> by part: how many have no result
---@field unsure table<integer, number> by part: when a write was sent whose result is not known
local Writes = {}
Writes.__index = Writes

---@param lease number seconds
---@param now fun(): number
---@param ended fun()
---@return kubelua.shards.Writes
function Writes.new(lease, now, ended)
    return setmetatable({ lease = lease, now = now, ended = ended, waiting = {}, unsure = {} },
        Writes)
end

---Counts a write until its result is known.
---@param part integer
---@param write kubelua.Write
function Writes:follow(part, write)
    local begun, answered, is_sent = write.begun, write.answered, false
    write.begun = function()
        is_sent = true
        self.waiting[part] = (self.waiting[part] or 0) + 1
        begun()
    end
    write.answered = function()
        if is_sent then
            is_sent = false
            self.waiting[part] = self.waiting[part] - 1
        end
        if members.is_unsure(write) then
            self.unsure[part] = self.now()
        end
        answered()
        self.ended()
    end
end

---True if a write for any part may still be carried out.
---@return boolean
function Writes:are_open()
    local now = self.now()
    for part in pairs(self.waiting) do
        if self:has(part, now) then
            return true
        end
    end
    return false
end

---True if a write for a part may still be carried out. One without a result counts for `lease`
---seconds: if this process had died then, another member could have the part by now.
---@param part integer
---@param now number
---@return boolean
function Writes:has(part, now)
    local unsure = self.unsure[part]
    if unsure and now - unsure >= self.lease then
        self.unsure[part], unsure = nil, nil
    end
    return unsure ~= nil or (self.waiting[part] or 0) > 0
end

return Writes
