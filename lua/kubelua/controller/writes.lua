-- Remembers what the runs of a controller have written, until its caches hold it (KEP-5647): a run
-- never reads a state older than its controller's own writes. The scope of a run reports each
-- write. Reads, and the next run of the key, wait until the cache holds them (writes_seen.lua).
local cache_of = require "kubelua.controller.cache_of"
local writes_own = require "kubelua.controller.writes_own"
local writes_seen = require "kubelua.controller.writes_seen"

local NONE = {}

-- Seconds that a read waits for the cache at most.
local PATIENCE = 5

-- At this many remembered writes to a source, the writes that its cache holds are forgotten.
local MANY = 64

---@class kubelua.controller.Writes
---@field state kubelua.controller.State
---@field of_source table<kubelua.controller.Source, { count: integer, full: integer,
---objects: table<string, table<string, kubelua.controller.WriteSeen>> }>
---@field of_key table<string, table<kubelua.controller.WriteSeen, true>>
---@field own kubelua.controller.WritesOwn
---@field unknown table<string, kubelua.Write[]>
local Writes = {}
Writes.__index = Writes

local writes = {}

---@param state kubelua.controller.State
---@return kubelua.controller.Writes
function writes.new(state)
    return setmetatable({ state = state, of_source = {}, of_key = {}, unknown = {},
        own = writes_own.new(function(key) state:add(key) end) }, Writes)
end

local function forget_write(self, one)
    local of_source = self.of_source[one.source]
    local objects = of_source.objects[one.key]
    if not objects or objects[one.uid] ~= one then
        return -- another task that waited for it has forgotten it
    end
    objects[one.uid] = nil
    if next(objects) == nil then
        of_source.objects[one.key] = nil
    end
    of_source.count = of_source.count - 1
    for key in pairs(one.keys) do
        local waited = self.of_key[key]
        waited[one] = nil
        if next(waited) == nil then
            self.of_key[key] = nil
        end
    end
end

-- True if the cache holds the write; forgets it if that will not change.
local function check_write(self, one)
    local has_it, for_good = writes_seen.look(one)
    if for_good then
        forget_write(self, one)
    end
    return has_it
end

local function list_writes(of_source)
    local all = {}
    for _, objects in pairs(of_source.objects) do
        for _, one in pairs(objects) do
            all[#all + 1] = one
        end
    end
    return all
end

-- The writes to a source that are remembered. If there are many, those that its cache holds are
-- removed first.
local function writes_to(self, source)
    local of_source = self.of_source[source]
    if not of_source then
        of_source = { count = 0, full = MANY, objects = {} }
        self.of_source[source] = of_source
    elseif of_source.count >= of_source.full then
        for _, one in ipairs(list_writes(of_source)) do
            check_write(self, one)
        end
        of_source.full = math.max(MANY, 2 * of_source.count)
    end
    return of_source
end

local function find_or_add(self, source, key, uid)
    local of_source = writes_to(self, source)
    local objects = of_source.objects[key] or {}
    of_source.objects[key] = objects
    if not objects[uid] then
        objects[uid] = { source = source, key = key, uid = uid, keys = {} }
        of_source.count = of_source.count + 1
    end
    return objects[uid]
end

-- Remembers an answered write for one cache. If the reply to a delete has no UID, the UID of the
-- cached object is taken instead.
local function remember_write(self, key, source, write)
    local object = write.object
    local name = write.name or object.name
    local of_object = write.kind.namespaced and write.namespace .. "/" .. name or name
    local uid = write.uid or (object and object.uid)
    local now = not uid and source.informer:get(of_object)
    if not uid and not now then
        return
    end
    local one = find_or_add(self, source, of_object, uid or now.uid)
    one.namespace, one.is_guess = write.namespace, not uid
    writes_seen.note(one, write)
    one.keys[key] = true
    self.of_key[key] = self.of_key[key] or {}
    self.of_key[key][one] = true
    if object and source == self.state.main and of_object == key then
        self.own:add(key, object)
    end
    check_write(self, one)
end

-- True if the caches can be searched for this write. False for a token, which is not an object.
local function is_notable(write)
    local object = write.object
    return writes_seen.ENDS[write.verb] or object ~= nil and (object.uid or "") ~= ""
        and (object.resource_version or "") ~= ""
end

---Notes a write whose target must be read from the server before the next run of the key.
---@param key string
---@param write kubelua.Write
function Writes:note_unknown(key, write)
    self.unknown[key] = self.unknown[key] or {}
    table.insert(self.unknown[key], write)
end

-- Reads the target of a write whose result is unknown. Remembers what the server has, for each
-- source that can hold it: no cache may be older than that.
local function read_unknown(self, key, write)
    local state = self.state
    local kind, name = write.kind, write.name
    if not name then
        return true -- it cannot be looked up
    end
    local object, message, code, retry_after = state.client:get(
        kind.api_version .. "/" .. kind.kind,
        kind.namespaced and write.namespace .. "/" .. name or name)
    if not object and code ~= "not_found" then
        return nil, message, code, retry_after
    end
    for _, source in ipairs(cache_of.sources(state, kind, write.namespace)) do
        remember_write(self, key, source, { verb = object and "update" or "delete", kind = kind,
            name = name, namespace = write.namespace, object = object,
            uid = not object and write.uid or nil })
    end
    return true
end

-- Called after a write of a run was answered, or has failed.
local function note_write(self, key, write)
    if write.dry_run or write.verb == "delete_all"
        or write.cluster ~= cache_of.cluster_of(self.state.client) then
        return
    elseif write.code == "unknown" then
        self:note_unknown(key, write)
    elseif not write.code and is_notable(write) then
        for _, source in ipairs(cache_of.sources(self.state, write.kind, write.namespace)) do
            remember_write(self, key, source, write)
        end
    end
end

---A run of the key is about to write. Call it while the client is open.
---@param key string
---@param write kubelua.Write
function Writes:begin(key, write)
    cache_of.cluster_of(self.state.client) -- so that it is known later
    write.cluster = cache_of.cluster_of(write.client)
    self.own:begin(key)
end

---Remembers that write, which has been answered, or has failed.
---@param key string
---@param write kubelua.Write
function Writes:finish(key, write)
    note_write(self, key, write)
    self.own:finish(key)
end

-- Waits until the caches hold all writes of a list. After PATIENCE seconds it fails with "stale",
-- and forgets the writes whose UID was only guessed: they must not block the key for ever.
local function await_writes(self, what, list)
    local left = writes_seen.await(what, PATIENCE, list, function(one)
        return check_write(self, one)
    end)
    if #left == 0 then
        return true
    end
    for _, one in ipairs(left) do
        if one.is_guess then
            forget_write(self, one)
        end
    end
    return nil, "after " .. PATIENCE .. " s the cache still lacks what this controller wrote: "
        .. writes_seen.tell(left[1])
        .. (#left > 1 and ", and " .. #left - 1 .. " more writes" or ""), "stale"
end

---Waits until the cache of a source holds what was written to one object.
---@param what string the name of the call, for messages
---@param source kubelua.controller.Source
---@param key string of the object
---@return true?, string?, string?
function Writes:wait_key(what, source, key)
    local of_source = self.of_source[source]
    local objects, list = of_source and of_source.objects[key], nil
    for _, one in pairs(objects or NONE) do
        list = list or {}
        list[#list + 1] = one
    end
    if not list then
        return true
    end
    return await_writes(self, what, list)
end

---The same, for all objects of a namespace, of an owner, or of the source.
---@param what string
---@param source kubelua.controller.Source
---@param filter { namespace: string?, owner: string? }
---@return true?, string?, string?
function Writes:wait(what, source, filter)
    local of_source = self.of_source[source]
    if not of_source or of_source.count == 0 then
        return true
    end
    local list = {}
    for _, one in ipairs(list_writes(of_source)) do
        if writes_seen.is_asked_for(one, filter) then
            list[#list + 1] = one
        end
    end
    return await_writes(self, what, list)
end

---True if the caches hold every write that is remembered.
---@return boolean
function Writes:are_held()
    for _, of_source in pairs(self.of_source) do
        for _, one in ipairs(list_writes(of_source)) do
            if not check_write(self, one) then
                return false
            end
        end
    end
    return true
end

---The object in the reply to its last write, while that write is remembered.
---@param source kubelua.controller.Source
---@param key string
---@param uid string?
---@return kubelua.Object?
function Writes:reply(source, key, uid)
    local of_source = self.of_source[source]
    local objects = of_source and of_source.objects[key]
    local one = uid and objects and objects[uid]
    return one and one.reply
end

---Before a run of the key: waits until the caches hold what its runs have written. A write with an
---unknown result is looked up first.
---@param key string
---@return true?, string?, string?, number?
function Writes:settle(key)
    local ok, message, code, retry_after = writes_seen.prepare(self.state)
    while ok and self.unknown[key] do
        local list = self.unknown[key]
        ok, message, code, retry_after = read_unknown(self, key, list[1])
        if ok and #list > 1 then
            table.remove(list, 1)
        elseif ok then
            self.unknown[key] = nil
        end
    end
    if not ok then
        return nil, message, code, retry_after
    end
    local list
    for one in pairs(self.of_key[key] or NONE) do
        list = list or {}
        list[#list + 1] = one
    end
    if not list then
        return true
    end
    return await_writes(self, "a controller", list)
end

---The same for every key: another script goes on with these caches.
function Writes:settle_all()
    local keys = {}
    for key in pairs(self.of_key) do
        keys[key] = true
    end
    for key in pairs(self.unknown) do
        keys[key] = true
    end
    for key in pairs(keys) do
        self:settle(key)
    end
end

---True if a run of the key has written this version of the key's own object.
---@param key string
---@param object kubelua.Object
---@return boolean
function Writes:is_own(key, object)
    return self.own:take(key, object)
end

return writes
