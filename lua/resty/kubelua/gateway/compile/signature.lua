-- A text that is equal for equal tables, to see whether what others read has changed. Pure.

---@param value any
---@return string
local function signature(value)
    if type(value) ~= "table" then
        return type(value):sub(1, 1) .. tostring(value)
    end
    local keys, parts = {}, {}
    for key in pairs(value) do
        keys[#keys + 1] = tostring(key)
    end
    table.sort(keys)
    for i, key in ipairs(keys) do
        local item = value[key]
        if item == nil then
            item = value[tonumber(key)]
        end
        parts[i] = key .. "=" .. signature(item)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

return signature
