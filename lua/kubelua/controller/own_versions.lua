-- Which versions of a key's own object its runs have written: what they cause is no news.
local core = require "kubelua.core"

local own_versions = {}

---@param own table<string, string[]> by key
---@param key string
---@param object kubelua.Object as it was answered
function own_versions.add(own, key, object)
    own[key] = own[key] or {}
    table.insert(own[key], object.resource_version)
end

---True if an object's version is among them. That is told once: it and all earlier ones go.
---@param own table<string, string[]> by key
---@param key string
---@param object kubelua.Object
---@return boolean
function own_versions.take(own, key, object)
    local later, is_own = {}, false
    for _, version in ipairs(own[key] or {}) do
        local order = core.compare_versions(version, object.resource_version)
        is_own = is_own or order == 0
        if order and order > 0 then
            later[#later + 1] = version
        end
    end
    own[key] = #later > 0 and later or nil
    return is_own
end

return own_versions
