-- An index whose values a Lua function computes. Lua code may run on the thread of its lua_State
-- only, so the index has its own registration. It takes in the events in the rounds of the loop,
-- and whenever it is read.
local core = require "kubelua.core"
local log = require "kubelua.log"
local running = require "kubelua.running"
local scripts = require "kubelua.script"
local sorted_keys = require "kubelua.sorted_keys"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"

---@class kubelua.FunctionIndex
local FunctionIndex = {}
FunctionIndex.__index = FunctionIndex

---@param informer kubelua.Informer
---@param what string the resource, for messages
---@param name string
---@param compute fun(object: kubelua.Object): any
---@return kubelua.FunctionIndex?, string?, string?
function FunctionIndex.new(informer, what, name, compute)
    local self = setmetatable({
        informer = informer,
        what = what,
        name = name,
        compute = compute,
        keys = {}, -- value -> set of keys
        values = {}, -- key -> array of values
        event = false, a = false, b = false, -- the event that is being taken in
    }, FunctionIndex)
    self.id = sources.new_id()
    local registration, message, code = core.subscribe(informer, tasks.poller, self.id, {
        name = "index " .. name,
        quiet = true,
    })
    if not registration then
        return nil, message, code
    end
    self.registration = registration
    local activity = core.activity(running.name(what .. ": index " .. name, compute))
    local script = scripts.here()
    self.pull = function()
        if script and script:miss(self.pull) then
            return
        end
        tasks.poller:enter(activity)
        self:update()
        tasks.poller:leave()
    end
    sources.add(self.id, self.pull, true)
    return self
end

local function forget_values(self, key)
    for _, value in ipairs(self.values[key] or {}) do
        local keys = self.keys[value]
        if keys then
            keys[key] = nil
            if next(keys) == nil then
                self.keys[value] = nil
            end
        end
    end
    self.values[key] = nil
end

---The text of an index value. A number is written as in JSON, as an index by path does: 2.0 is "2",
---and no digit is dropped.
---@param value any
---@return string
function FunctionIndex.text(value)
    if type(value) == "number" and value - value == 0 then -- not infinite, not NaN
        return core.encode(value)
    end
    return tostring(value)
end

-- What the function returned, as an array of strings: one value, an array of values, or nothing.
-- Nulls are left out.
local function as_values(result)
    local values = {}
    local function add(value)
        if value ~= nil and value ~= core.null then
            values[#values + 1] = FunctionIndex.text(value)
        end
    end
    if type(result) == "table" then
        for _, value in pairs(result) do
            add(value)
        end
    elseif core.is_view(result) then
        for _, value in core.ipairs(result) do
            add(value)
        end
    else
        add(result)
    end
    return values
end

local function compute_values(self, object)
    local ok, values = trace.call(self.compute, object)
    if ok then
        ok, values = pcall(as_values, values)
    end
    if not ok then
        log("error", "%s: index %s does not contain %s, because its function failed: %s", self.what,
            self.name, tostring(object), values)
        return
    end
    self.values[object.key] = values
    for _, value in ipairs(values) do
        self.keys[value] = self.keys[value] or {}
        self.keys[value][object.key] = true
    end
end

local function take_in_event(self, event, a, b)
    if event == "add" or event == "update" then
        local object = event == "update" and b or a
        forget_values(self, object.key)
        compute_values(self, object)
    elseif event == "delete" then
        forget_values(self, a.key)
    end
end

-- An event is kept until it was taken in: if that raises because memory is short, it is tried
-- again.
local function take_in_all(self)
    while true do
        if not self.event then
            self.event, self.a, self.b = core.registration_next(self.registration)
        end
        if not self.event then
            return
        end
        take_in_event(self, self.event, self.a, self.b)
        self.event, self.a, self.b = false, false, false
        core.registration_done(self.registration)
    end
end

---Takes in what has changed since the last time. Events are taken in one at a time, in order. The
---function may itself read the index, or may wait while another task reads it. Such a reader gets
---what the index holds at that moment.
function FunctionIndex:update()
    if self.is_updating then
        return
    end
    self.is_updating = true
    local ok, problem = pcall(take_in_all, self)
    self.is_updating = false
    if not ok then
        error(problem, 0)
    end
end

---The objects with a value, sorted by key.
---@param value string
---@return kubelua.Object[]?, string?, string?
function FunctionIndex:by(value)
    local ok, message, code = core.informer_check(self.informer)
    if not ok then
        return nil, message, code
    end
    self:update()
    local objects = {}
    for _, key in ipairs(sorted_keys(self.keys[value] or {})) do
        objects[#objects + 1] = self.informer:get(key)
    end
    return objects
end

---The distinct values, sorted.
---@return string[]?, string?, string?
function FunctionIndex:distinct()
    local ok, message, code = core.informer_check(self.informer)
    if not ok then
        return nil, message, code
    end
    self:update()
    local values = {}
    for value in pairs(self.keys) do
        values[#values + 1] = value
    end
    table.sort(values)
    return values
end

---Takes in the last events. The index can still be read.
function FunctionIndex:retire()
    self:update()
    sources.remove(self.id)
end

function FunctionIndex:remove()
    sources.remove(self.id)
    core.registration_remove(self.registration)
end

return FunctionIndex
