-- Tells if a member of a ring can do its work, and so should hold its Lease: it sees the others,
-- and the caches of its controllers are listed and go on. A member that held it otherwise would
-- keep keys on which it does not work.

---@class kubelua.shards.Readiness
---@field options table identity, lease: seconds for which a failure is borne
---@field teller kubelua.leader.Teller
---@field is_ready boolean the member should hold its Lease
---@field why string? it should not
---@field code string?
---@field waits_from number? when it was not ready first
---@field since table<kubelua.shards.User, number> since when the caches of a controller do not work
local Readiness = {}
Readiness.__index = Readiness

---@param options table
---@param teller kubelua.leader.Teller
---@return kubelua.shards.Readiness
function Readiness.new(options, teller)
    return setmetatable({ options = options, teller = teller, is_ready = false,
        since = setmetatable({}, { __mode = "k" }) }, Readiness)
end

-- Judges a controller. One whose caches fail counts as ready for `lease` seconds, once they were
-- listed; without a list it "waits" for so long.
local function judge(self, user, now)
    local problem, code, is_listed
    if user.problem then
        problem, code, is_listed = user.problem()
    end
    if not problem then
        self.since[user] = nil
        return "ready"
    end
    self.since[user] = self.since[user] or now
    if now - self.since[user] >= self.options.lease then
        return "failed", problem, code
    end
    return is_listed and "ready" or "waits", problem, code
end

-- Of several controllers, those that can work decide: the fault of another one costs its keys only.
-- Before the Lease is held, all have `lease` seconds to list.
local function check_users(self, users, now, holds)
    local count = { ready = 0, waits = 0, failed = 0 }
    local why, code
    for _, user in ipairs(users) do
        local state, problem, problem_code = judge(self, user, now)
        count[state] = count[state] + 1
        if state ~= "ready" then
            why, code = problem, problem_code
        end
    end
    if count.ready > 0 and (holds or count.waits == 0) or holds and count.waits > 0 then
        return true
    end
    return false, why, code
end

local function check_sight(self, sight, now, holds)
    local lease = self.options.lease
    if holds and now - (sight.heard_at or now) >= lease then
        return false, ("the watch of its Leases has been silent for %g s"):format(lease)
    elseif not holds and not sight.is_synced then
        local problem, code = sight:problem()
        return false, "the Leases of the ring are not listed" .. (problem and ": " .. problem
            or " yet"), code
    end
    return true
end

local function judge_all(self, users, sight, now, holds)
    local sees, why, code = check_sight(self, sight, now, holds)
    if not sees then
        return false, why, code
    end
    return check_users(self, users, now, holds)
end

-- What holds a member up at its start is told once it takes long.
local function tell(self, now, holds)
    self.waits_from = not self.is_ready and (self.waits_from or now) or nil
    if self.waits_from and not holds and now - self.waits_from >= self.options.lease then
        self.teller:say("ready", "warn", "%s works on nothing: %s", self.options.identity,
            self.why)
    end
end

---Looks anew if the member should hold its Lease.
---@param users kubelua.shards.User[]
---@param sight kubelua.shards.Sight
---@param now number
---@param holds boolean it holds the Lease
---@return boolean has_changed
function Readiness:update(users, sight, now, holds)
    local was_ready = self.is_ready
    self.is_ready, self.why, self.code = judge_all(self, users, sight, now, holds)
    tell(self, now, holds)
    return self.is_ready ~= was_ready
end

---True if the watch of the Leases must be opened anew: it is silent, or could not be opened.
---@param sight kubelua.shards.Sight
---@param now number
---@param holds boolean it holds the Lease
---@return boolean
function Readiness:must_reopen(sight, now, holds)
    return not sight.informer or holds and sight.is_synced and sight.heard_at ~= nil
        and now - sight.heard_at >= self.options.lease
end

return Readiness
