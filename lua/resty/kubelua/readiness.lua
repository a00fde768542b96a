-- What must be known before a worker is ready: Services, and the tables that kube.init names. An
-- entry of the table TABLE in the shared map says that a table is complete; it is published
-- together with the entries of that table, and stays for the next owners.
local map_tables = require "resty.kubelua.tables"

local readiness = {
    TABLE = "kubelua.complete", -- only writes.complete puts into it
    SERVICES = "services",
}

---True once a script has declared the table complete, in this map.
---@param map resty.kubelua.Map
---@param name string
---@return boolean
function readiness.is_complete(map, name)
    return map_tables.lookup(map, readiness.TABLE, name) ~= nil
end

---What is not known yet: the names of tables, and "services".
---@param map resty.kubelua.Map
---@return string[]
function readiness.missing(map)
    local names = {}
    if not map:is_synced() then
        names[1] = readiness.SERVICES
    end
    for _, name in ipairs(map.options.tables or {}) do
        if not readiness.is_complete(map, name) then
            names[#names + 1] = name
        end
    end
    return names
end

---True once all of that is known; or one table, or "services".
---@param map resty.kubelua.Map
---@param name string?
---@return boolean
function readiness.is_ready(map, name)
    if not map.pointer then
        return false
    elseif name == nil then
        return readiness.missing(map)[1] == nil
    elseif name == readiness.SERVICES then
        return map:is_synced()
    end
    return readiness.is_complete(map, name)
end

return readiness
