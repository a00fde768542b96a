-- The changes that arrive while a run is in progress: they wait, in order, so that a run sees the
-- objects of one moment. Of several sets of one object in a row the last counts. Pure.
local Waiting = {}
Waiting.__index = Waiting

local waiting = {}

---@class resty.kubelua.gateway.WaitingChange
---@field call string the method of the compiler
---@field key string of its object
---@field arguments table

---@class resty.kubelua.gateway.Waiting
---@field changes resty.kubelua.gateway.WaitingChange[] from `first` to `last`
---@field latest table<string, resty.kubelua.gateway.WaitingChange> by key
---@return resty.kubelua.gateway.Waiting
function waiting.new()
    return setmetatable({ changes = {}, first = 1, last = 0, latest = {} }, Waiting)
end

---@param key string
---@param call string
---@param ... any
function Waiting:add(key, call, ...)
    local latest = self.latest[key]
    if latest and latest.call == call then
        latest.arguments = { ... }
        return
    end
    local change = { call = call, key = key, arguments = { ... } }
    self.last = self.last + 1
    self.changes[self.last], self.latest[key] = change, change
end

---Takes the first change; nil: there is none.
---@return resty.kubelua.gateway.WaitingChange?
function Waiting:take()
    local change = self.changes[self.first]
    if not change then
        self.changes, self.first, self.last = {}, 1, 0
        return nil
    end
    self.changes[self.first] = nil
    self.first = self.first + 1
    if self.latest[change.key] == change then
        self.latest[change.key] = nil
    end
    return change
end

return waiting
