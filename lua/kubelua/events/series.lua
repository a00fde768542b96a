-- Decides which events are written, and when: equal events become one series, and the events of an
-- object are limited. It only computes with times; events.lua writes. The numbers are client-go's
-- (tools/record/events_cache.go), except that a long series is written less and less often.
local WINDOW = 600 -- seconds after which an equal event begins a new series
local BURST, REFILL = 25, 300 -- events of an object at once; seconds until one more is allowed
local FIRST_PERIOD, LONGEST_PERIOD = 10, 300 -- seconds between two writes of a series
local MOST = 4096 -- series, and objects, that are remembered

---Equal events.
---@class kubelua.events.Series
---@field key string
---@field count integer how often the event happened
---@field written integer the count that the server knows; 0: not created yet
---@field last_at number when it happened last
---@field next_at number it is not written before this time
---@field period number seconds of the next pause

---@class kubelua.events.Ledger
local Ledger = {}
Ledger.__index = Ledger

---@return kubelua.events.Ledger
function Ledger.new()
    return setmetatable({ series = {}, series_count = 0, budgets = {}, budget_count = 0 }, Ledger)
end

-- Forgets what was not used in the window; if that is not enough, also the older half.
local function prune_old(all, now)
    local kept, times = {}, {}
    for key, one in pairs(all) do
        if one.last_at > now - WINDOW then
            kept[key] = one
            times[#times + 1] = one.last_at
        end
    end
    if #times >= MOST then
        table.sort(times)
        local middle = times[math.floor(#times / 2)]
        local all_kept = kept
        kept, times = {}, {}
        for key, one in pairs(all_kept) do
            if one.last_at > middle then
                kept[key] = one
                times[#times + 1] = true
            end
        end
    end
    return kept, #times
end

-- Takes one from the events that an object may have; false: none is left.
local function spend_budget(self, now, object)
    local budget = self.budgets[object]
    if not budget then
        if self.budget_count >= MOST then
            self.budgets, self.budget_count = prune_old(self.budgets, now)
        end
        budget = { left = BURST, last_at = now }
        self.budgets[object] = budget
        self.budget_count = self.budget_count + 1
    end
    budget.left = math.min(BURST, budget.left + (now - budget.last_at) / REFILL)
    budget.last_at = now
    if budget.left < 1 then
        return false
    end
    budget.left = budget.left - 1
    return true
end

---Counts an event. Returns its series; nil: the object has had too many events.
---@param now number
---@param key string equal for equal events
---@param object string identifies the object
---@return kubelua.events.Series?
---@return boolean? is_new
function Ledger:happened(now, key, object)
    local one = self.series[key]
    if one and one.last_at > now - WINDOW then
        one.count, one.last_at = one.count + 1, now
        return one, false
    elseif not spend_budget(self, now, object) then
        return nil
    end
    if not one and self.series_count >= MOST then
        self.series, self.series_count = prune_old(self.series, now)
    end
    if not one then
        self.series_count = self.series_count + 1
    end
    one = { key = key, count = 1, written = 0, last_at = now, next_at = now,
        period = FIRST_PERIOD }
    self.series[key] = one
    return one, true
end

---Notes the count that the server knows now. The second event is written at once, later ones at
---longer and longer intervals.
---@param now number
---@param one kubelua.events.Series
---@param count integer
function Ledger:was_written(now, one, count)
    one.written = count
    if count > 1 then
        one.next_at = now + one.period
        one.period = math.min(LONGEST_PERIOD, 2 * one.period)
    end
end

---The series cannot be written: the next equal event begins a new one.
---@param one kubelua.events.Series
function Ledger:forget(one)
    if self.series[one.key] == one then
        self.series[one.key] = nil
        self.series_count = self.series_count - 1
    end
end

return Ledger
