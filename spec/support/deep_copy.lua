-- Copies a plain table with all tables in it, as encoding and decoding JSON would.

---@generic T
---@param value T
---@return T
local function deep_copy(value)
    if type(value) ~= "table" then
        return value
    end
    local copy = {}
    for key, item in pairs(value) do
        copy[key] = deep_copy(item)
    end
    return copy
end

return deep_copy
