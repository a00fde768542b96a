-- Lists the keys of a table in a fixed order: pairs() has another one in each run.

---@param map table<string, any>
---@param is_before (fun(a: string, b: string): boolean)? default: by their bytes
---@return string[]
return function(map, is_before)
    local keys = {}
    for key in pairs(map) do
        keys[#keys + 1] = key
    end
    table.sort(keys, is_before)
    return keys
end
