-- How often the status of one object may be written: another controller may write it, too, such as
-- a gateway with other addresses, and each would answer the other's write with its own, for ever.
-- Some writes are free, as an object's status changes with those that it names; a new generation of
-- the object begins anew.
local write_limit = {}

local FREE = 20 -- writes
local SECONDS = 1 -- until there is one more
local MOST = 1024 -- objects, until those that are not limited are forgotten

---@class resty.kubelua.gateway.WriteLimit
---@field known table<string, { generation: any, spent: number, at: number, has_waited: boolean? }>
---@field count integer
---@field most integer
local Limit = {}
Limit.__index = Limit

---@return resty.kubelua.gateway.WriteLimit
function write_limit.new()
    return setmetatable({ known = {}, count = 0, most = MOST }, Limit)
end

local function spent_now(entry, now)
    return math.max(0, entry.spent - (now - entry.at) / SECONDS)
end

local function forget_idle(self, now)
    self.count = 0
    for key, entry in pairs(self.known) do
        if spent_now(entry, now) == 0 then
            self.known[key] = nil
        else
            self.count = self.count + 1
        end
    end
    self.most = math.max(MOST, 2 * self.count)
end

---Counts a write.
---@param key string
---@param generation any
---@param now number seconds
---@return number wait seconds until it may be made; 0: at once
---@return boolean is_first it is the first that has to wait
function Limit:spend(key, generation, now)
    local entry = self.known[key]
    if not entry then
        self.count = self.count + 1
        if self.count > self.most then
            forget_idle(self, now)
        end
        entry = { generation = generation, spent = 0, at = now }
        self.known[key] = entry
    elseif entry.generation ~= generation then
        entry.generation, entry.spent = generation, 0
    end
    entry.spent, entry.at = spent_now(entry, now) + 1, now
    local wait = math.max(0, entry.spent - FREE) * SECONDS
    local is_first = wait > 0 and not entry.has_waited
    entry.has_waited = entry.has_waited or wait > 0
    return wait, is_first
end

return write_limit
