-- The end of a member's work on the parts that it gives up.

local PARTS = require("kubelua.shards.parts").COUNT

local function is_busy(self, part, now)
    if self.writes:has(part, now) then
        return true
    end
    for _, user in ipairs(self.users) do
        if user.is_busy(part) then
            return true
        end
    end
    return false
end

---Ends the work on the parts that leave. True once it has ended.
---@param self kubelua.shards.Membership
---@param now number
---@return boolean
return function(self, now)
    local busy = {}
    for part = 1, PARTS do
        if self.ring:leaves(part) and is_busy(self, part, now) then
            busy[#busy + 1] = part
        end
    end
    if #busy == 0 then
        self.waits_since = nil
        return true
    end
    self.waits_since = self.waits_since or now
    if now >= self.waits_since + self.options.renew then
        for _, part in ipairs(busy) do
            for _, user in ipairs(self.users) do
                user.cancel(part)
            end
        end
    end
    return false
end
