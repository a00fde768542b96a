-- Tables of the user's own in the shared map: written in the owner, read in every worker. A value
-- is decoded once in a worker and kept as long as the version in shared memory says that it holds.
local ffi = require "ffi"
local caches = require "resty.kubelua.cache"
local library = require "resty.kubelua.library"
local map = require "resty.kubelua.map"
local values = require "kubelua.values"

local tables = {}

local OK, TOO_SMALL = 0, 5 -- kl_shared_result
local MOST = 4096 -- values of a table that a worker keeps for certain

-- The first byte of a value: a string as it is, or JSON.
local STRING, JSON = "s", "j"

local read_tables = {} -- name to resty.kubelua.Cache
local size = 4096
local buffer = ffi.new("char[?]", size)
local told = ffi.new("kl_shared_value")

---The bytes that stand for a value in the map.
---@param value any
---@return string
function tables.encode(value)
    if type(value) == "string" then
        return STRING .. value
    end
    return JSON .. values.json(value)
end

local function decode(text)
    if text:sub(1, 1) == STRING then
        return text:sub(2)
    end
    return (values.decode(text:sub(2)))
end

-- Reads the bytes of an entry to `buffer`, which grows as it must.
local function read(key)
    local result = library.kl_shared_get(map.pointer, key, buffer, size, told)
    while result == TOO_SMALL do
        size = told.length * 2
        buffer = ffi.new("char[?]", size)
        result = library.kl_shared_get(map.pointer, key, buffer, size, told)
    end
    return result
end

local function read_anew(cache, table_name, name, entry)
    local key = entry and entry.key or map.key(table_name, name)
    if not key then
        return nil
    end
    if read(key) ~= OK then
        if entry then
            entry.version, entry.value = told.version, nil
        end
        return nil
    end
    local value = decode(ffi.string(buffer, told.length))
    if entry then
        entry.version, entry.value = told.version, value
    else
        cache:set(name, { key = key, bucket = key.bucket, version = told.version, value = value })
    end
    return value
end

---What the owner has put under a key; nil: nothing. A table is this worker's copy for all requests:
---not to be changed.
---@param table_name string
---@param name string
---@return any
function tables.lookup(table_name, name)
    local cache = read_tables[table_name]
    if not cache then
        cache = caches.new(MOST)
        read_tables[table_name] = cache
    end
    local entry = cache:get(name)
    if entry and map.versions[entry.bucket] == entry.version then
        return entry.value
    end
    return read_anew(cache, table_name, name, entry)
end

return tables
