-- kube.lookup: reads the tables that scripts of kube.owner write to the shared map. A worker
-- decodes a value once, and keeps it while the version in shared memory is the same; so it does
-- that there is none.
local ffi = require "ffi"
local caches = require "resty.kubelua.cache"
local cold = require "resty.kubelua.cold"
local library = require "resty.kubelua.library"
local values = require "kubelua.values"

local tables = {}

local OK, TOO_SMALL, BUSY = 0, 5, 7 -- kl_shared_result
local MOST = 4096 -- values of a table that a worker keeps for certain
local UNREAD = -1 -- no version

-- The first byte of a value: a string, or JSON.
local STRING, JSON = "s", "j"

-- What was read of each map: the name of a table to resty.kubelua.Cache. A weak table.
local read = setmetatable({}, { __mode = "k" })
local size = 4096
local buffer = ffi.new("char[?]", size)
local told = ffi.new("kl_shared_value")

---The bytes of a value in the map.
---@param value any
---@return string
function tables.encode(value)
    if type(value) == "string" then
        return STRING .. value
    end
    return JSON .. values.json(value)
end

local function decode_value(text)
    if text:sub(1, 1) == STRING then
        return text:sub(2)
    end
    return (values.decode(text:sub(2)))
end

-- Reads the bytes of an entry into `buffer`, which grows if necessary.
local function read_bytes(map, key)
    local result = library.kl_shared_get(map.pointer, key, buffer, size, told)
    while result == TOO_SMALL do
        size = told.length * 2
        buffer = ffi.new("char[?]", size)
        result = library.kl_shared_get(map.pointer, key, buffer, size, told)
    end
    return result
end

local read_entry = cold(function(map, entry)
    local value
    local result = read_bytes(map, entry.key)
    if result == BUSY then
        return nil
    elseif result == OK then
        value = decode_value(ffi.string(buffer, told.length))
    end
    entry.version, entry.value = told.version, value
    return value
end)

local add_entry = cold(function(map, cache, table_name, name)
    local key = map:key(table_name, name)
    if not key then
        return nil
    end
    local entry = { key = key, bucket = key.bucket, version = UNREAD, value = nil }
    cache:set(name, entry)
    return entry
end)

---The same value as `lookup` gives, read for this call alone: to read all of a table, while what
---requests need stays in memory.
---@param map resty.kubelua.Map
---@param table_name string
---@param name string
---@return any
function tables.read(map, table_name, name)
    local key = map:key(table_name, name)
    if key and read_bytes(map, key) == OK then
        return decode_value(ffi.string(buffer, told.length))
    end
    return nil
end

---@class resty.kubelua.Entry a key of a table, and what this worker has read there
---@field key ffi.cdata* kl_shared_key
---@field bucket integer
---@field version integer that was read; UNREAD: none
---@field value any

---An entry of a table, for tables.value: without a search for its name. nil: the name is not valid.
---@param map resty.kubelua.Map
---@param table_name string
---@param name string
---@return resty.kubelua.Entry?
function tables.entry(map, table_name, name)
    local of_map = read[map]
    local cache = of_map and of_map[table_name]
    if not cache then
        cache = caches.new(MOST)
        read[map] = of_map or {}
        read[map][table_name] = cache
    end
    return cache:get(name) or add_entry(map, cache, table_name, name)
end

---The value of an entry; nil: none. Do not change a table: all requests of this worker share it.
---@param map resty.kubelua.Map
---@param entry resty.kubelua.Entry
---@return any
function tables.value(map, entry)
    if map.versions[entry.bucket] == entry.version then
        return entry.value
    end
    return read_entry(map, entry)
end

---The value that the owner has put under a key; nil: none. Do not change a table, as above.
---@param map resty.kubelua.Map
---@param table_name string
---@param name string
---@return any
function tables.lookup(map, table_name, name)
    local entry = tables.entry(map, table_name, name)
    return entry and tables.value(map, entry)
end

return tables
