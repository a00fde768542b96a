-- The path of a request with its parameters, escaped (RFC 3986) and in the order of their names.
local function escape(text)
    return (tostring(text):gsub("[^%w%-._~]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---@param path string
---@param query table<string, string|number|boolean>?
---@return string
return function(path, query)
    local pairs_of = {}
    for name, value in pairs(query or {}) do
        pairs_of[#pairs_of + 1] = name .. "=" .. escape(value)
    end
    table.sort(pairs_of)
    return #pairs_of == 0 and path or path .. "?" .. table.concat(pairs_of, "&")
end
