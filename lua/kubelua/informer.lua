-- A handle of a shared informer: registrations, and queries of its cache.
local core = require "kubelua.core"
local FunctionIndex = require "kubelua.function_index"
local loop = require "kubelua.loop"
local options_of = require "kubelua.informer_options"
local Registration = require "kubelua.registration"
local scheduler = require "kubelua.scheduler"

---What client:informer returns.
---@class kubelua.Informer
local Informer = {}
Informer.__index = Informer

-- Informers with registrations are kept alive by this table alone, when the script forgets them.
local kept = {} -- luacheck: ignore 241 (mutated but never accessed)

local RETIRED = "the client was closed; what it has can be read, but nothing comes any more"

local function expect_string(call, what, value)
    if type(value) ~= "string" then
        error(call .. ": " .. what .. " must be a string, not a " .. type(value), 3)
    end
end

local function add_indexes(self, indexes)
    for name, index in pairs(indexes or {}) do
        local ok, message, code = self:index(name, index)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

---@param client userdata of the core
---@param options table
---@return kubelua.Informer?, string?, string?
function Informer.new(client, options)
    local request, indexes = options_of(options)
    local handle, message, code = core.informer(client, request)
    if not handle then
        return nil, message, code
    end
    local self = setmetatable({
        handle = handle,
        what = request.resource,
        registrations = {},
        indexes = {},
    }, Informer)
    local ok
    ok, message, code = add_indexes(self, indexes)
    if not ok then
        self:stop()
        return nil, message, code
    end
    return self
end

---Registers callbacks: add, update, delete, synced, error; and resync, coalesce.
---@param options table
---@return kubelua.Registration?, string?, string?
function Informer:on(options)
    if self.is_retired then
        return nil, RETIRED, "closed"
    end
    local registration, message, code = Registration.new(self, options)
    if not registration then
        return nil, message, code
    end
    self.registrations[registration] = true
    kept[self] = true
    return registration
end

---Called by a registration that was removed.
---@param registration kubelua.Registration
function Informer:forget(registration)
    self.registrations[registration] = nil
    if next(self.registrations) == nil then
        kept[self] = nil
    end
end

---Whether the cache holds the first list.
---@return boolean
function Informer:has_synced()
    return self.handle:has_synced()
end

---Waits until it does, and dispatches meanwhile.
---@param seconds number? default: for ever
---@return true?, string?, string?
function Informer:wait_synced(seconds)
    local ok, message, code = self.handle:wake_synced(scheduler.poller)
    if not ok then
        return nil, message, code
    end
    loop.wait("wait_synced", seconds, function()
        return self.handle:is_settled()
    end)
    return self.handle:not_synced()
end

---The object of that key, or nil.
---@param key string "namespace/name", or "name" of a cluster-scoped one
---@return kubelua.Object?
function Informer:get(key)
    expect_string("get", "the key", key)
    return self.handle:get(key)
end

---The objects that the filter leaves, sorted by key.
---@param filter { namespace: string?, labels: string? }?
---@return kubelua.Object[]?, string?, string?
function Informer:list(filter)
    return self.handle:list(filter)
end

-- The core names the indexes that it keeps; those by function are kept here.
local function with_functions(self, found, message, code)
    if found or code ~= "not_found" or next(self.indexes) == nil then
        return found, message, code
    end
    local names = {}
    for name in pairs(self.indexes) do
        names[#names + 1] = name
    end
    table.sort(names)
    return nil, message .. "; by function there are " .. table.concat(names, ", "), code
end

---What an index holds under a value, sorted by key.
---@param index string
---@param value string|number|boolean
---@return kubelua.Object[]?, string?, string?
function Informer:by(index, value)
    expect_string("by", "the index's name", index)
    local text = FunctionIndex.text(value)
    if self.indexes[index] then
        return self.indexes[index]:by(text)
    end
    return with_functions(self, self.handle:by(index, text))
end

---The distinct values of an index, sorted.
---@param index string
---@return string[]?, string?, string?
function Informer:values(index)
    expect_string("values", "the index's name", index)
    if self.indexes[index] then
        return self.indexes[index]:distinct()
    end
    return with_functions(self, self.handle:values(index))
end

---Adds an index by path (kept in C) or by function (kept here).
---@param name string
---@param index string|fun(object: kubelua.Object): any
---@return true?, string?, string?
function Informer:index(name, index)
    if type(name) ~= "string" then
        error("index: its name must be a string", 2)
    end
    if type(index) == "string" then
        if self.indexes[name] then
            return nil, "index '" .. name .. "' exists already, as a function", "conflict"
        end
        return self.handle:index(name, index)
    end
    if type(index) ~= "function" then
        error("index '" .. name .. "': a path or a function expected, not a " .. type(index), 2)
    end
    if self.indexes[name] then
        return nil, "index '" .. name .. "' exists already: choose another name", "conflict"
    end
    if self.is_retired then
        return nil, RETIRED, "closed"
    end
    local made, message, code = FunctionIndex.new(self, name, index)
    if not made then
        return nil, message, code
    end
    self.indexes[name] = made
    return true
end

---How many objects the cache holds.
---@return integer
function Informer:count()
    return self.handle:count()
end

---The version that the cache reflects; "" before the first list.
---@return string
function Informer:resource_version()
    return self.handle:resource_version()
end

---How it is: state, age of the last message, counters, the last error; `plugin` and
---`plugin_running` (seconds) while it waits for an exec credential plugin.
---@return table
function Informer:status()
    return self.handle:status()
end

local function remove_registrations(self)
    -- Not by pairs: what LuaJIT compiles of it may not end where a finalizer empties the table too.
    local registration = next(self.registrations)
    while registration do
        self.registrations[registration] = nil
        registration:remove()
        registration = next(self.registrations)
    end
    kept[self] = nil
end

---Called before its client is closed: nothing comes any more, but what is there can be read.
function Informer:retire()
    self.is_retired = true
    remove_registrations(self)
    for _, index in pairs(self.indexes) do
        index:retire()
    end
end

---Ends this handle and its registrations; the last handle of a shared informer stops it.
function Informer:stop()
    remove_registrations(self)
    for name, index in pairs(self.indexes) do
        index:remove()
        self.indexes[name] = nil
    end
    self.handle:stop()
end

function Informer:__tostring()
    return "kubelua.informer: " .. self.what .. " (" .. self.handle:status().state .. ")"
end

return Informer
