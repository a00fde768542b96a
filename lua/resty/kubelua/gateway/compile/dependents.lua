-- What reads what: after a change of "Service web/shop" only the routes that read it are compiled
-- anew. Subjects and keys are strings ("HTTPRoute web/shop", "ReferenceGrant data"). Pure.
local sorting = require "resty.kubelua.gateway.compile.sorting"

local Dependents = {}
Dependents.__index = Dependents

local dependents = {}

---@class resty.kubelua.gateway.Dependents
---@field dirty table<string, true> subjects that are to be compiled anew
function dependents.new()
    return setmetatable({ readers = {}, reads = {}, dirty = {} }, Dependents)
end

---Says what a subject reads now, in place of what it read before. Cost: the keys.
---@param subject string
---@param keys table<string, true>? nil: nothing any more
function Dependents:set(subject, keys)
    local readers = self.readers
    for key in pairs(self.reads[subject] or {}) do
        local those = readers[key]
        those[subject] = nil
        if not next(those) then
            readers[key] = nil
        end
    end
    self.reads[subject] = keys
    for key in pairs(keys or {}) do
        local those = readers[key]
        if not those then
            those = {}
            readers[key] = those
        end
        those[subject] = true
    end
end

---Marks the subjects that read a key. Cost: the readers of this key.
---@param key string
function Dependents:mark(key)
    local dirty = self.dirty
    for subject in pairs(self.readers[key] or {}) do
        dirty[subject] = true
    end
end

---Takes the marked subjects, in an order that does not depend on the run.
---@param pace fun() called between two pieces of work
---@return string[]
function Dependents:take(pace)
    local dirty = self.dirty
    self.dirty = {}
    return sorting.keys(dirty, pace)
end

return dependents
