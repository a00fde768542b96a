-- How many bytes a table takes as JSON, within a few: limits of the shared map are checked without
-- encoding each host's rules again and again. Pure.

---@param value any
---@return integer
local function json_size(value)
    local kind = type(value)
    if kind == "string" then
        local _, escaped = value:gsub("[%c\"\\/]", "")
        return #value + 2 + escaped * 5
    elseif kind ~= "table" then
        return #tostring(value)
    end
    local size = 2
    for key, item in pairs(value) do
        size = size + json_size(item) + 1
        if type(key) == "string" then
            size = size + #key + 3
        end
    end
    return size
end

return json_size
