-- The parameters of a request, in the target of its first line.
local query = {}

-- Percent-encodes text for a query (RFC 3986).
local function encode_query_text(text)
    text = tostring(text)
    if not text:find("[^%w%-._~]") then
        return text
    end
    return (text:gsub("[^%w%-._~]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---The parameters as the text of a query: encoded, in the order of their names.
---@param parameters table<string, string|number|boolean>
---@return string
function query.text(parameters)
    local parts = {}
    for name, value in pairs(parameters) do
        parts[#parts + 1] = encode_query_text(name) .. "=" .. encode_query_text(value)
    end
    table.sort(parts)
    return table.concat(parts, "&")
end

---Appends parameters to a path.
---@param path string
---@param parameters string|table<string, string|number|boolean>|nil a string: of query.text
---@return string
function query.target(path, parameters)
    local text = type(parameters) == "table" and query.text(parameters) or parameters or ""
    if text == "" then
        return path
    end
    return path .. (path:find("?", 1, true) and "&" or "?") .. text
end

return query
