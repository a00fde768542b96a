-- Collects what a run gives back: statuses that differ from the objects' own, and problems that are
-- new. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"

local Reporting = {}
Reporting.__index = Reporting

local reporting = {}

---@class resty.kubelua.gateway.StatusToWrite
---@field kind string
---@field namespace string?
---@field name string
---@field status table the whole status, merged with that of the object
---@field object table as it was handed in

---@class resty.kubelua.gateway.Problem what is to be said to people
---@field kind string
---@field namespace string?
---@field name string
---@field reason string
---@field message string

function reporting.new()
    return setmetatable({ standing = {}, statuses = {}, fresh = {},
        touched = {} }, Reporting)
end

---Adds a status to write, unless the object has it.
---@param kind string
---@param object table
---@param status table
function Reporting:status(kind, object, status)
    if not conditions.same(status, object.status or {}) then
        local metadata = object.metadata
        self.statuses[#self.statuses + 1] = { kind = kind, namespace = metadata.namespace,
            name = metadata.name, status = status, object = object }
    end
end

---Says all problems of an object, in place of those that it had.
---@param key string
---@param origin { kind: string, namespace: string?, name: string }
---@param list { reason: string, message: string }[]
function Reporting:problems(key, origin, list)
    local before, now = self.standing[key] or {}, {}
    self.touched[key] = true
    for _, problem in ipairs(list) do
        local text = problem.reason .. ": " .. problem.message
        if not now[text] then
            now[text] = { kind = origin.kind, namespace = origin.namespace, name = origin.name,
                reason = problem.reason, message = problem.message }
            if not before[text] then
                self.fresh[#self.fresh + 1] = now[text]
            end
        end
    end
    self.standing[key] = next(now) and now or nil
end

---@return table[] statuses
---@return table[] problems that are new
function Reporting:take()
    local statuses, fresh = self.statuses, self.fresh
    self.statuses, self.fresh = {}, {}
    return statuses, fresh
end

---The keys of objects of which something was said since the last call, be it nothing more.
---@return table<string, true>
function Reporting:take_touched()
    local touched = self.touched
    self.touched = {}
    return touched
end

---All problems that stand, in order.
---@return table[]
function Reporting:all()
    local keys, list = {}, {}
    for key in pairs(self.standing) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    for _, key in ipairs(keys) do
        local texts = {}
        for text in pairs(self.standing[key]) do
            texts[#texts + 1] = text
        end
        table.sort(texts)
        for _, text in ipairs(texts) do
            list[#list + 1] = self.standing[key][text]
        end
    end
    return list
end

return reporting
