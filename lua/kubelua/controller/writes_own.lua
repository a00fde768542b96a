-- The versions of a key's own object that its runs have written: their events are no news. An event
-- may come before the answer to the write that caused it; it is judged once the answer is there.
local core = require "kubelua.core"

---@class kubelua.controller.WritesOwn
---@field queue fun(key: string) called if an early event of the key was news
---@field versions table<string, string[]> by key
---@field under_way table<string, integer> by key: how many writes have no answer yet
---@field early table<string, string[]> by key: versions of the events that came meanwhile
local WritesOwn = {}
WritesOwn.__index = WritesOwn

local writes_own = {}

---@param queue fun(key: string)
---@return kubelua.controller.WritesOwn
function writes_own.new(queue)
    return setmetatable({ queue = queue, versions = {}, under_way = {}, early = {} }, WritesOwn)
end

-- True if a run has written this version; forgets it and all earlier versions of the key.
local function take_version(self, key, version)
    local later, is_own = {}, false
    for _, own in ipairs(self.versions[key] or {}) do
        local order = core.compare_versions(own, version)
        is_own = is_own or order == 0
        if order and order > 0 then
            later[#later + 1] = own
        end
    end
    self.versions[key] = #later > 0 and later or nil
    return is_own
end

---Call before a run of the key writes.
---@param key string
function WritesOwn:begin(key)
    self.under_way[key] = (self.under_way[key] or 0) + 1
end

---Records a version that a run of the key has written.
---@param key string
---@param object kubelua.Object the answer
function WritesOwn:add(key, object)
    self.versions[key] = self.versions[key] or {}
    table.insert(self.versions[key], object.resource_version)
end

---Call after a write of the key was answered, or has failed.
---@param key string
function WritesOwn:finish(key)
    local left = (self.under_way[key] or 1) - 1
    self.under_way[key] = left > 0 and left or nil
    if left > 0 then
        return
    end
    local early, is_news = self.early[key] or {}, false
    self.early[key] = nil
    for _, version in ipairs(early) do
        is_news = not take_version(self, key, version) or is_news
    end
    if is_news then
        self.queue(key)
    end
end

---True if an event of the key's own object is no news, or may turn out to be none.
---@param key string
---@param object kubelua.Object
---@return boolean
function WritesOwn:take(key, object)
    if self.under_way[key] then
        self.early[key] = self.early[key] or {}
        table.insert(self.early[key], object.resource_version)
        return true
    end
    return take_version(self, key, object.resource_version)
end

---Forgets the versions of a key whose object is gone.
---@param key string
function WritesOwn:forget(key)
    self.versions[key] = nil
end

return writes_own
