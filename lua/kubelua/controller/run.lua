-- What reconcile gets beside the object: a run of one key.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"

---@class kubelua.Run
---@field key string
---@field attempt integer 1, and 1 more for each failure in a row before
---@field due number? Unix time for which the last run asked
---@field client kubelua.Client
---@field memo table of this key and UID, for the life of the process
---@field log fun(level: string, message: string, ...)
local Run = {}
Run.__index = Run

local function memo_of(state, key)
    local known = state.memos[key]
    if not known then
        known = {}
        state.memos[key] = known
    end
    known.memo = known.memo or {}
    return known.memo
end

---@param state kubelua.controller.State
---@param key string?
---@param object kubelua.Object?
---@param item table?
---@return kubelua.Run
function Run.new(state, key, object, item)
    return setmetatable({ state = state, key = key, object = object, client = state.client,
        attempt = item and item.attempt, due = item and item.due,
        memo = key and memo_of(state, key),
        log = function(level, message, ...)
            log(level, "%s: %s: " .. message, state.what, key, ...)
        end }, Run)
end

local function source_of(self, name)
    local source = self.state.sources[name]
    if not source then
        misuse("run: '%s' is not declared in owns, watches or reads", tostring(name))
    end
    return source.informer
end

---@param name string
---@param key string
---@return kubelua.Object?
function Run:get(name, key)
    return source_of(self, name):get(key)
end

---@param name string
---@param filter kubelua.Filter?
---@return kubelua.Object[]
function Run:list(name, filter)
    return assert(source_of(self, name):list(filter))
end

---@param name string
---@param index string
---@param value any
---@return kubelua.Object[]
function Run:by(name, index, value)
    return assert(source_of(self, name):by(index, value))
end

---What the object of the run controls.
---@param name string
---@return kubelua.Object[]
function Run:owned(name)
    local owned = {}
    for _, object in ipairs(self:list(name)) do
        for _, reference in core.ipairs(object:get("metadata.ownerReferences") or core.array()) do
            if reference.controller and reference.uid == self.object.uid then
                owned[#owned + 1] = object
            end
        end
    end
    return owned
end

function Run.close()
end

return Run
