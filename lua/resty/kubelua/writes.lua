-- kube.put: writes of scripts in the owner's worker to the shared map. All puts of one round of
-- handlers are published together after the round; any other put is published at once.
local ffi = require "ffi"
local library = require "resty.kubelua.library"
local maps = require "resty.kubelua.map"
local misuse = require "kubelua.misuse"
local readiness = require "resty.kubelua.readiness"
local report = require "resty.kubelua.report"
local tables = require "resty.kubelua.tables"

local writes = {
    is_round = false, -- handlers run now; their puts are published after the round
}

local dirty = {} -- the maps with puts that are not published, a set
local problem = ffi.new("kl_error")

-- Scripts do not write these tables.
local OWN = { [readiness.SERVICES] = true, [readiness.TABLE] = true, [report.TABLE] = true,
    specs = true }

---Raises if a script cannot have a table of that name.
---@param call string
---@param table_name any
function writes.check_table(call, table_name)
    if type(table_name) ~= "string" or table_name == "" or #table_name > 31 then
        misuse("%s: the name of a table expected, of 1 to 31 bytes", call)
    elseif OWN[table_name] then
        misuse("%s: the table \"%s\" belongs to resty.kubelua; choose another name", call,
            table_name)
    end
end

local function check_key(call, map, table_name, name)
    writes.check_table(call, table_name)
    local key = type(name) == "string" and map:key(table_name, name)
    if not key then
        misuse("%s: a key is a string of at most 511 bytes", call)
    end
    return key
end

local function finish_write(map, code)
    if code == 0 then
        dirty[map] = true
    end
    if not writes.is_round then
        writes.publish()
    end
    return maps.result(code, problem)
end

---Puts a value under a key, for kube.lookup in every worker.
---@param map resty.kubelua.Map
---@param table_name string
---@param name string
---@param value any a string, number, boolean or table; nil removes
---@return boolean?, string?, string?
function writes.put(map, table_name, name, value)
    local key = check_key("kube.put", map, table_name, name)
    if value == nil then
        return finish_write(map, library.kl_shared_remove(map.pointer, key, problem))
    end
    local text = tables.encode(value)
    return finish_write(map, library.kl_shared_put(map.pointer, key, text, #text, problem))
end

-- Puts that are made ready a few at a time, and published together.
---@class resty.kubelua.Batch
---@field map resty.kubelua.Map
---@field pointer ffi.cdata* kl_shared_batch *
local Batch = {}
Batch.__index = Batch

---A new batch; nil, message, code: there is no memory.
---@param map resty.kubelua.Map
---@return resty.kubelua.Batch?, string?, string?
function writes.batch(map)
    local pointer = library.kl_shared_batch_new(map.pointer, problem)
    if pointer == nil then
        return maps.result(problem.code, problem)
    end
    return setmetatable({ map = map, pointer = ffi.gc(pointer, library.kl_shared_batch_free) },
        Batch)
end

---As kube.put, in the batch.
---@param table_name string
---@param name string
---@param value any nil removes
---@return boolean?, string?, string?
function Batch:put(table_name, name, value)
    local key = check_key("batch:put", self.map, table_name, name)
    if value == nil then
        return maps.result(library.kl_shared_batch_remove(self.pointer, key, problem), problem)
    end
    local text = tables.encode(value)
    return maps.result(library.kl_shared_batch_put(self.pointer, key, text, #text, problem),
        problem)
end

---Publishes all of it together, as a kube.put here would be. The batch is empty then.
---@return boolean?, string?, string? true; or nil, message, "closed"
function Batch:commit()
    return finish_write(self.map, library.kl_shared_batch_commit(self.pointer, problem))
end

---Declares a table complete: removes entries that an earlier owner has left, and makes readiness
---see it.
---@param map resty.kubelua.Map
---@param table_name string
---@return boolean?, string?, string?
function writes.complete(map, table_name)
    writes.check_table("kube.complete", table_name)
    local code = library.kl_shared_complete(map.pointer, table_name, problem)
    if code == 0 then
        local text = tables.encode(true)
        code = library.kl_shared_put(map.pointer, map:key(readiness.TABLE, table_name), text, #text,
            problem)
    end
    return finish_write(map, code)
end

---Makes the owners' threads publish the puts; they try again while a map is full.
function writes.publish()
    local map = next(dirty)
    while map do
        dirty[map] = nil
        library.kl_shared_publish_soon(map.pointer)
        map = next(dirty)
    end
end

return writes
