-- The versions of a key's own object that its runs have written: their events are no news. An event
-- may come before the reply to the write that caused it; it is judged once the reply is there.
local core = require "kubelua.core"

local NONE = {}

---@class kubelua.controller.WritesOwn
---@field queue fun(key: string) called if an early event of the key was news
---@field versions table<string, string[]> by key
---@field under_way table<string, integer> by key: how many writes have no reply yet
---@field early table<string, string[]> by key: versions of the events that came meanwhile
local WritesOwn = {}
WritesOwn.__index = WritesOwn

local writes_own = {}

---@param queue fun(key: string) see WritesOwn
---@return kubelua.controller.WritesOwn
function writes_own.new(queue)
    return setmetatable({ queue = queue, versions = {}, under_way = {}, early = {} }, WritesOwn)
end

-- True if a run has written this version; forgets it and all earlier versions of the key.
local function take_version(self, key, version)
    local written, later, is_own = self.versions[key], {}, false
    if not written then
        return false
    end
    for _, own in ipairs(written) do
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
---@param object kubelua.Object that the server sent back
function WritesOwn:add(key, object)
    self.versions[key] = self.versions[key] or {}
    table.insert(self.versions[key], object.resource_version)
end

---Call after a write of the key is over.
---@param key string
function WritesOwn:finish(key)
    local left = (self.under_way[key] or 1) - 1
    self.under_way[key] = left > 0 and left or nil
    if left > 0 then
        return
    end
    local early, is_news = self.early[key], false
    self.early[key] = nil
    for _, version in ipairs(early or NONE) do
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
