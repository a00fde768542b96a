-- A cache of bounded size, by name: two tables. When the young one is full, it becomes the old one,
-- and the old one is dropped. Names that are in use stay.
local cache = {}
cache.__index = cache

---@class resty.kubelua.Cache
---@field young table<string, any>
---@field old table<string, any>
---@field count integer entries in `young`
---@field most integer entries that each table may have

---@param most integer this many names are kept for certain
---@return resty.kubelua.Cache
function cache.new(most)
    return setmetatable({ young = {}, old = {}, count = 0, most = most }, cache)
end

---@param name string
---@param value any
function cache:set(name, value)
    if self.young[name] == nil then
        if self.count >= self.most then
            self.young, self.old, self.count = {}, self.young, 0
        end
        self.count = self.count + 1
    end
    self.young[name] = value
end

---@param name string
---@return any
function cache:get(name)
    local value = self.young[name]
    if value ~= nil then
        return value
    end
    value = self.old[name]
    if value ~= nil then
        self:set(name, value)
    end
    return value
end

return cache
