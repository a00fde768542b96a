-- Which events are written, and when: equal ones become one series, and no object has many. A pure
-- function of times; recorder.lua does the writing. The numbers are client-go's
-- (tools/record/events_cache.go), but that a series is written ever more rarely.
local WINDOW = 600 -- seconds after which an equal event begins a new series
local BURST, REFILL = 25, 300 -- events of an object at once, and seconds until there is one more
local FIRST_PERIOD, LONGEST_PERIOD = 10, 300 -- seconds between two writes of a series
local MOST = 4096 -- series, and objects, that are remembered

---Equal events.
---@class kubelua.events.Series
---@field key string
---@field count integer how often it happened
---@field written integer how much of that the server knows; 0: it has not been created
---@field last_at number when it happened last
---@field next_at number not to be written before this time
---@field period number seconds that the next pause lasts

---@class kubelua.events.Ledger
local Ledger = {}
Ledger.__index = Ledger

---@return kubelua.events.Ledger
function Ledger.new()
    return setmetatable({ series = {}, series_count = 0, budgets = {}, budget_count = 0 }, Ledger)
end

-- What has not been used for the window, or the older half where that is not enough, is forgotten.
local function prune(all, now)
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

-- Takes one of the events that an object may have; false: it has had them.
local function spend(self, now, object)
    local budget = self.budgets[object]
    if not budget then
        if self.budget_count >= MOST then
            self.budgets, self.budget_count = prune(self.budgets, now)
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

---Something has happened: the series that it is of, or nil where the object has had its events.
---@param now number
---@param key string what is equal in equal events
---@param object string what tells objects apart
---@return kubelua.events.Series?
---@return boolean? is_new
function Ledger:happened(now, key, object)
    local one = self.series[key]
    if one and one.last_at > now - WINDOW then
        one.count, one.last_at = one.count + 1, now
        return one, false
    elseif not spend(self, now, object) then
        return nil
    end
    if not one and self.series_count >= MOST then
        self.series, self.series_count = prune(self.series, now)
    end
    if not one then
        self.series_count = self.series_count + 1
    end
    one = { key = key, count = 1, written = 0, last_at = now, next_at = now,
        period = FIRST_PERIOD }
    self.series[key] = one
    return one, true
end

---The server knows this count of it. The second event is told at once, the others at longer and
---longer intervals.
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

---It cannot be written: the next equal event begins anew.
---@param one kubelua.events.Series
function Ledger:forget(one)
    if self.series[one.key] == one then
        self.series[one.key] = nil
        self.series_count = self.series_count - 1
    end
end

return Ledger
