-- The shared map of this process. kube.init opens it before nginx forks its workers. Each lua_State
-- has one; with lua_code_cache off, each request has a lua_State, and opens the same map again.
local ffi = require "ffi"
local library = require "resty.kubelua.library"

local map = {
    ---@type ffi.cdata*? kl_shared *; nil before kube.init
    pointer = nil,
    ---@type ffi.cdata*? const uint32_t *: the version of each bucket
    versions = nil,
    ---@type resty.kubelua.InitOptions?
    options = nil,
    ---@type string? the zone of this nginx, for picks that name none
    zone = nil,
    ---@type string?
    node = nil,
    has_place = false,
}

local problem = ffi.new("kl_error")
local status = ffi.new("kl_shared_status")

-- FFI keeps no reference to a string that a struct points to: `name` and `path` do here.
local function open_shared(name, path, size)
    local options = ffi.new("kl_shared_options")
    options.name, options.path, options.size = name, path, size or 0
    return library.kl_shared_open(options, problem)
end

---Opens the map, or finds the one that the process has. nil, message, code: it cannot be opened.
---@param options resty.kubelua.InitOptions
---@return boolean?, string?, string?
function map.open(options)
    local pointer = open_shared(options.name, options.path, options.size)
    if pointer == nil then
        return map.result(problem.code, problem)
    end
    map.pointer = ffi.gc(pointer, library.kl_shared_close)
    map.versions = library.kl_shared_versions(pointer)
    map.zone, map.node = options.zone, options.node
    map.has_place = map.zone ~= nil or map.node ~= nil
    map.options = options
    return true
end

---The result of a call of the core, for Lua: true, or nil, message, code.
---@param code integer kl_code
---@param err ffi.cdata* kl_error
---@return boolean?, string?, string?
function map.result(code, err)
    if code == 0 then
        return true
    end
    return nil, ffi.string(err.message), ffi.string(library.kl_code_name(code))
end

---A key of the map; nil: the name is not valid.
---@param table_name string
---@param text string
---@return ffi.cdata*?
function map.key(table_name, text)
    local key = ffi.new("kl_shared_key")
    if library.kl_shared_key_init(map.pointer, table_name, text, #text, key) then
        return key
    end
    return nil
end

---The state of the map: the fields of kl_shared_status. Valid until the next call.
---@return table
function map.status()
    library.kl_shared_get_status(map.pointer, status)
    return status --[[@as table]]
end

---@return boolean
function map.is_synced()
    return map.pointer ~= nil and library.kl_shared_synced(map.pointer)
end

return map
