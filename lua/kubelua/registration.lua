-- A registration of callbacks with an informer: pulls its events, and runs them one at a time and
-- in order in a coroutine of its own.
local core = require "kubelua.core"
local log = require "kubelua.log"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local trace = require "kubelua.trace"

---What informer:on returns.
---@class kubelua.Registration
local Registration = {}
Registration.__index = Registration

-- Events that one registration handles before the others get their turn.
local BATCH = 256

-- Seconds until what lacked memory is tried again.
local RETRY = 0.1

local EVENTS = { add = true, update = true, delete = true, synced = true, error = true }
local OPTIONS = { resync = true, coalesce = true, name = true, backlog = true }

local function check(options)
    if type(options) ~= "table" then
        error("on: a table of callbacks expected, such as { add = function(object) end }", 3)
    end
    for key, value in pairs(options) do
        if EVENTS[key] then
            if type(value) ~= "function" then
                error("on: '" .. key .. "' must be a function, not a " .. type(value), 3)
            end
        elseif key == "coalesce" and type(value) ~= "boolean" then
            error("on: 'coalesce' must be true or false, not a " .. type(value), 3)
        elseif not OPTIONS[key] then
            error("on: there is no '" .. tostring(key) .. "'; there are add, update, delete, "
                .. "synced, error, resync, coalesce, name and backlog", 3)
        end
    end
end

local function describe(self, event, subject)
    local what = self.name .. ": handler of " .. event
    if core.is_object(subject) then
        what = what .. " for " .. tostring(subject)
    end
    return what
end

-- xpcall with arguments: all but Lua 5.1 itself have that, and need no closure for each event.
local protected = xpcall
if not select(2, xpcall(function(given) return given end, trace.handler, true)) then
    function protected(callback, handler, a, b)
        return xpcall(function()
            return callback(a, b)
        end, handler)
    end
end

local function handle(self, event, a, b)
    local callback = self.callbacks[event]
    if not callback then
        return
    end
    local ok, problem = protected(callback, trace.handler, a, b)
    scheduler.count()
    if not ok then
        local subject = event == "update" and b or a
        log("error", "%s failed: %s", describe(self, event, subject), problem)
    end
end

-- Handles one event; false if none waits. The next one gives it back.
local function handle_next(self)
    local event, a, b = self.box:next()
    if not event then
        return false
    end
    handle(self, event, a, b)
    return true
end

local function handle_some(self)
    local handled = 0
    while handled < BATCH and not self.removed and handle_next(self) do
        handled = handled + 1
    end
    if handled == BATCH and not self.removed then
        self.box:again(scheduler.poller)
    end
end

-- An event could not even be told, for want of memory: it still waits, and is told a little later.
local function try_later(self, problem)
    pcall(log, "error", "%s: %s; tried again", self.name, problem)
    local is_set = pcall(scheduler.at, core.now() + RETRY, self.wake)
    if not is_set then
        self.box:again(scheduler.poller)
    end
    self.idle = not is_set
end

-- The body of the registration's coroutine. It parks when nothing waits; `idle` says so.
local function serve(self)
    while not self.removed do
        local ok, problem = pcall(handle_some, self)
        self.idle = true
        if not ok and not self.removed then
            try_later(self, problem)
        end
        scheduler.park()
    end
end

---Registers callbacks; see API.md.
---@param informer kubelua.Informer
---@param options table
---@return kubelua.Registration?, string?, string?
function Registration.new(informer, options)
    check(options)
    local self = setmetatable({
        informer = informer,
        name = options.name or informer.what, -- in messages
        callbacks = {},
        idle = false,
    }, Registration)
    for event in pairs(EVENTS) do
        self.callbacks[event] = options[event]
    end
    self.wake = function()
        scheduler.wake(self.task)
    end
    self.id = sources.new_id()
    local box, message, code = core.subscribe(informer.handle, scheduler.poller, self.id, {
        name = options.name,
        resync = options.resync,
        every_change = options.coalesce == false,
        quiet = options.error == nil,
        backlog = options.backlog or require("kubelua").backlog,
    })
    if not box then
        return nil, message, code
    end
    self.box = box
    for event, callback in pairs(self.callbacks) do
        box:name(event, running.name(self.name .. ": handler of " .. event, callback))
    end
    self.task = scheduler.task(self.name, serve, self)
    self.task.registration = box
    self.task.doing = function() return box:doing() end
    sources.add(self.id, function()
        if self.idle then
            self.idle = false
            scheduler.wake(self.task)
        end
    end)
    return self
end

---Whether its handler has returned from, or will never be shown, every initial object.
---@return boolean
function Registration:has_synced()
    return self.box:has_synced()
end

---How many events wait for it.
---@return integer
function Registration:backlog()
    return self.box:backlog()
end

---Ends it: no handler of it starts after this. May be called inside a handler.
function Registration:remove()
    if not self.removed then
        self.removed = true
        sources.remove(self.id)
        self.box:remove()
        self.informer:forget(self)
    end
end

function Registration:__tostring()
    return "kubelua.registration: " .. self.name .. (self.removed and " (removed)" or "")
end

return Registration
