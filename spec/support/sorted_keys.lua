-- The keys of some tables, each once, sorted.

---@param ... table
---@return string[]
return function(...)
    local keys, seen = {}, {}
    for _, object in ipairs { ... } do
        for key in pairs(object) do
            if not seen[key] then
                seen[key] = true
                keys[#keys + 1] = key
            end
        end
    end
    table.sort(keys)
    return keys
end
