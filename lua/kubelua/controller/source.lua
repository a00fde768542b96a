-- The sources of a controller: an informer each. What their events queue is in triggers.lua.
local clients = require "kubelua.client"
local log = require "kubelua.log"
local loop = require "kubelua.loop"
local outside = require "kubelua.controller.outside"
local scheduler = require "kubelua.scheduler"
local triggers = require "kubelua.controller.triggers"
local verbs = require "kubelua.verbs"

---@class kubelua.controller.Source
---@field role "reconciles"|"owns"|"watches"|"reads"
---@field name string in run:get
---@field resource string as written
---@field given kubelua.InformerOptions
---@field when function?
---@field map function?
---@field any_owner boolean
---@field metadata boolean
---@field informer kubelua.Informer
---@field kind table? once it is found
---@field number integer
---@field refused table<string, table> events by key that are tried again: { old, new }
---@field is_mapped boolean every event of its first list was handled

local source = {}

---Opens the informers of all sources, whose events begin to come. A namespace that a source does
---not name is the controller's.
---@param state kubelua.controller.State
---@return true?, string?, string?
function source.open_all(state)
    for number, self in ipairs(state.in_order) do
        local informer, message, code = clients.informer(state.client, self.given,
            state.options.namespace)
        if not informer then
            return nil, message, code
        end
        self.informer, self.number, self.refused, self.is_mapped = informer, number, {}, false
    end
    for _, self in ipairs(state.in_order) do
        local ok, message, code = triggers.listen(state, self)
        if not ok then
            return nil, message, code
        end
    end
    return outside.open(state)
end

-- Seconds between two questions for a kind.
local ASK_AGAIN = 1

-- The kind of a source, which its informer has found: the one that discovery prefers now, until the
-- controller ends.
local function find_kind(state, self)
    local told
    while not state.is_stopped do
        local kind, message = verbs.kind(state.client, self.resource)
        if kind then
            self.kind = kind
            return
        elseif message ~= told then
            log("warn", "%s: %s: %s", state.what, self.name, message)
            told = message
        end
        loop.sleep(ASK_AGAIN)
    end
end

-- Once the cache has its first list, or never will.
local function await(state, self)
    if self.informer:wait_synced() then
        find_kind(state, self)
    end
    if self.role == "reconciles" then
        state.kind = self.kind
    end
    state.wake()
end

---Wakes the controller when its caches have synced, and finds their kinds.
---@param state kubelua.controller.State
function source.await_all(state)
    for _, self in ipairs(state.in_order) do
        local task = scheduler.task(state.what .. ": " .. self.name, await, state, self)
        task.clock = scheduler.machine
        task.doing, task.outlasts = function() end, true
        scheduler.leave_scope(task)
    end
end

---Ends them.
---@param state kubelua.controller.State
function source.close_all(state)
    for _, self in ipairs(state.in_order) do
        if self.informer then
            self.informer:stop()
        end
    end
    if state.outside then
        state.outside:stop()
    end
end

---True once its first list is in the cache, and mapped.
---@param self kubelua.controller.Source
---@return boolean
function source.is_ready(self)
    return self.kind ~= nil and self.informer:has_synced()
        and (self.role == "reads" or self.is_mapped)
end

return source
