-- Copies a table, but not the tables in it.

---@param from table
---@return table copy with the same keys and values, and without a metatable
return function(from)
    local copy = {}
    for name, value in pairs(from) do
        copy[name] = value
    end
    return copy
end
