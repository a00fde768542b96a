-- kube.status: the state of the shared map as a table, with what is not published because it does
-- not fit. The owner writes that list into the map, so every worker can read it.
local ffi = require "ffi"
local library = require "resty.kubelua.library"
local readiness = require "resty.kubelua.readiness"

local report = {
    TABLE = "kubelua", -- only the core writes it
}

local KEY = "left_out"
local OK, TOO_SMALL = 0, 5 -- kl_shared_result

local told = ffi.new("kl_shared_value")

-- The bytes of the report; "" if nothing is left out.
local function read_report(map)
    local key, size = map:key(report.TABLE, KEY), 1024
    while true do
        local buffer = ffi.new("char[?]", size)
        local result = library.kl_shared_get(map.pointer, key, buffer, size, told)
        if result ~= TOO_SMALL then
            return result == OK and ffi.string(buffer, told.length) or ""
        end
        size = told.length * 2
    end
end

---@class resty.kubelua.LeftOut a Service or a value that is not published
---@field table string "services", or the table of a script
---@field key string "namespace/service", or the key of the value
---@field why string

---@class resty.kubelua.Status
---@field ready boolean as kube.synced()
---@field synced boolean the first list of Services was published
---@field age number? as kube.age()
---@field owner_pid integer 0: no owner
---@field entries integer of the last published state
---@field used integer its bytes
---@field room integer the bytes that it can have
---@field size integer bytes of the map
---@field left_out_count integer Services and values that are not published
---@field left_out resty.kubelua.LeftOut[] the first of them, at most 64

---The state of a map. A new table.
---@param map resty.kubelua.Map
---@return resty.kubelua.Status
function report.read(map)
    local status, left_out = map:status(), {}
    for name, key, why in read_report(map):gmatch("([^\t\n]*)\t([^\t\n]*)\t([^\n]*)\n") do
        left_out[#left_out + 1] = { table = name, key = key, why = why }
    end
    local age = tonumber(status.age_ms)
    return {
        ready = readiness.is_ready(map), synced = status.synced ~= 0,
        age = age >= 0 and age / 1000 or nil, owner_pid = tonumber(status.owner_pid),
        entries = tonumber(status.entries), used = tonumber(status.used),
        room = tonumber(status.room), size = tonumber(status.size),
        left_out_count = tonumber(status.left_out), left_out = left_out,
    }
end

return report
