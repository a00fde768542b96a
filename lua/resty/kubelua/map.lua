-- A shared map of this process: kube.init opens it before nginx forks its workers. A lua_State has
-- one for each cluster; with lua_code_cache off, each request has a lua_State, and opens the same
-- maps again.
local ffi = require "ffi"
local library = require "resty.kubelua.library"
local misuse = require "kubelua.misuse"

---@class resty.kubelua.Map
---@field name string
---@field pointer ffi.cdata*? kl_shared *; nil before kube.init
---@field versions ffi.cdata*? const uint32_t *: the version of each bucket
---@field options resty.kubelua.InitOptions?
---@field zone string? the zone of this nginx, for picks that name none
---@field node string?
---@field has_place boolean
---@field is_started boolean kube.init_worker was called in this worker
---@field trouble string? why this worker has not joined yet, as it was logged
---@field is_served boolean this worker has joined the candidates for its owner
local Map = {}
Map.__index = Map

local maps = {
    all = {}, ---@type resty.kubelua.Map[] the open ones of this lua_State
}

local problem = ffi.new("kl_error")
local status = ffi.new("kl_shared_status")

-- FFI keeps no reference to a string that a struct points to: `name` and `path` do here.
local function open_shared(name, path, size)
    local options = ffi.new("kl_shared_options")
    options.name, options.path, options.size = name, path, size or 0
    return library.kl_shared_open(options, problem)
end

---The name of the map that these options open.
---@param options resty.kubelua.InitOptions
---@return string
function maps.name_of(options)
    return options.name or options.path or "default"
end

---A map that is not open yet.
---@return resty.kubelua.Map
function maps.new()
    return setmetatable({ has_place = false, is_started = false, is_served = false }, Map)
end

---The result of a call of the core, for Lua: true, or nil, message, code.
---@param code integer kl_code
---@param err ffi.cdata* kl_error
---@return boolean?, string?, string?
function maps.result(code, err)
    if code == 0 then
        return true
    end
    return nil, ffi.string(err.message), ffi.string(library.kl_code_name(code))
end

---Opens the map, or finds the one that the process has. nil, message, code: it cannot be opened.
---@param options resty.kubelua.InitOptions
---@return boolean?, string?, string?
function Map:open(options)
    local pointer = open_shared(options.name, options.path, options.size)
    if pointer == nil then
        return maps.result(problem.code, problem)
    end
    if not self.pointer then
        maps.all[#maps.all + 1] = self
    end
    self.name = maps.name_of(options)
    self.pointer = ffi.gc(pointer, library.kl_shared_close)
    self.versions = library.kl_shared_versions(pointer)
    self.zone, self.node = options.zone, options.node
    self.has_place = self.zone ~= nil or self.node ~= nil
    self.options = options
    return true
end

---Raises if kube.init has not opened the map.
---@param call string
function Map:check_open(call)
    if not self.pointer then
        misuse("%s: there is no map; call kube.init in init_by_lua", call)
    end
end

---A key of the map; nil: the name is not valid.
---@param table_name string
---@param text string
---@return ffi.cdata*?
function Map:key(table_name, text)
    local key = ffi.new("kl_shared_key")
    if library.kl_shared_key_init(self.pointer, table_name, text, #text, key) then
        return key
    end
    return nil
end

---The state of the map: the fields of kl_shared_status. Valid until the next call.
---@return table
function Map:status()
    library.kl_shared_get_status(self.pointer, status)
    return status --[[@as table]]
end

---True once an owner has published the first list of Services.
---@return boolean
function Map:is_synced()
    return self.pointer ~= nil and library.kl_shared_synced(self.pointer)
end

return maps
