-- Before a member releases its Lease, because it cannot do its work any more, that work must have
-- ended: the others take over all its keys at once. What it claims stands until then.

---@class kubelua.shards.Resignation
---@field renew number seconds after which runs are cancelled
---@field since number? when it began; nil: the member does not resign
---@field is_over boolean the work has ended: the Lease can be released
local Resignation = {}
Resignation.__index = Resignation

local PARTS = require("kubelua.shards.parts").COUNT

---@param renew number
---@return kubelua.shards.Resignation
function Resignation.new(renew)
    return setmetatable({ renew = renew, is_over = false }, Resignation)
end

---@param now number
function Resignation:begin(now)
    self.since, self.is_over = now, false
end

---The member can do its work again, or has its Lease no more.
function Resignation:cancel()
    self.since, self.is_over = nil, false
end

local function cancel_runs(users)
    for part = 1, PARTS do
        for _, user in ipairs(users) do
            if user.is_busy(part) then
                user.cancel(part)
            end
        end
    end
end

---Looks if the work has ended.
---@param users kubelua.shards.User[]
---@param is_working boolean a run goes on, or a write may still be carried out
---@param now number
---@return boolean is_over it has ended now
function Resignation:go_on(users, is_working, now)
    if not self.since or self.is_over then
        return false
    elseif not is_working then
        self.is_over = true
    elseif now >= self.since + self.renew then
        cancel_runs(users)
    end
    return self.is_over
end

return Resignation
