-- Registers with an informer and writes down its events, a line each: "add a=1 initial", "update a
-- 1>2", "resync a", "delete a=2 unknown", "synced". A spec says which events it expects, in order.
-- Expected events are crossed off, so that an extra event fails the next expectation, or the end of
-- the spec.
local assert = require("busted").assert
local eventually = require "eventually"
local history = require "history"

local recorder = {}
recorder.__index = recorder

-- "name", or "name=value" if the object has data.v; with the namespace, unless it is the spec's.
local function label(self, object, value)
    local name = object.namespace == self.namespace and object.name or object.key
    return value and name .. "=" .. value or name
end

local function value_of(object)
    return object:get("data.v")
end

local function write(self, line)
    self.seen[#self.seen + 1] = line
end

local function callbacks(self)
    return {
        add = function(object, initial)
            self.history:add(object)
            write(self, "add " .. label(self, object, value_of(object))
                .. (initial and " initial" or ""))
            self.last = object
        end,
        update = function(old, new)
            self.history:update(old, new)
            if old.resource_version == new.resource_version then
                write(self, "resync " .. label(self, new))
            else
                write(self, string.format("update %s %s>%s", label(self, new),
                    tostring(value_of(old)), tostring(value_of(new))))
            end
            self.last = new
        end,
        delete = function(object, unknown)
            self.history:delete(object)
            write(self, "delete " .. label(self, object, value_of(object))
                .. (unknown and " unknown" or ""))
            self.last = object
        end,
        synced = function()
            write(self, "synced")
        end,
        error = function(message, code)
            self.errors[#self.errors + 1] = { message = message, code = code }
        end,
    }
end

---@param informer kubelua.Informer
---@param namespace string the spec's own
---@param options table? of informer:on; its callbacks run after the recorder's own
function recorder.new(informer, namespace, options)
    local self = setmetatable({
        informer = informer,
        namespace = namespace,
        history = history.new(),
        seen = {},
        -- { message =, code = }: kept apart from the events, as no spec relies on their order
        errors = {},
    }, recorder)
    local merged = callbacks(self)
    for name, option in pairs(options or {}) do
        local own = merged[name]
        merged[name] = own and function(...)
            own(...)
            return option(...)
        end or option
    end
    self.handler = assert(informer:on(merged))
    return self
end

local function describe(self, expected)
    local status = self.informer:status()
    return string.format("seen: %s\n  expected: %s\n  the informer: %s, %d objects%s",
        table.concat(self.seen, ", "), table.concat(expected, ", "), status.state, status.objects,
        status.error and ", " .. status.error or "")
end

local function cross_off(self, count)
    local taken = {}
    for i = 1, math.min(count, #self.seen) do
        taken[i] = self.seen[i]
    end
    local rest = {}
    for i = count + 1, #self.seen do
        rest[#rest + 1] = self.seen[i]
    end
    self.seen = rest
    return taken
end

local function await(self, expected)
    eventually(function()
        return #self.seen >= #expected
    end, function()
        return describe(self, expected)
    end)
    return cross_off(self, #expected)
end

---Expects these next events, in this order.
---@param expected string[]
function recorder:sees(expected)
    assert.same(expected, await(self, expected))
end

---Expects these next events, in any order: events of different objects have no fixed order.
---@param expected string[]
function recorder:sees_all(expected)
    local seen = await(self, expected)
    local wanted = {}
    for i, line in ipairs(expected) do
        wanted[i] = line
    end
    table.sort(seen)
    table.sort(wanted)
    assert.same(wanted, seen)
end

---Expects the informer's first list, with these lines, then "synced".
---@param expected string[]? default: no objects
function recorder:starts_with(expected)
    self:sees_all(expected or {})
    self:sees { "synced" }
end

---Crosses off all events so far.
function recorder:forget()
    self.seen = {}
end

---Ends the recorder; fails if there is an event that was not expected, or one that is never
---allowed.
function recorder:close()
    self.handler:remove()
    assert.same({}, self.history.breaches)
    assert.same({}, self.seen)
end

return recorder
