-- URLs of HTTP requests: their parts, and what a redirect's Location leads to.
local url = {}

---@class kubelua.Url
---@field origin string "https://example.com:8443", in lower-case letters
---@field scheme "http"|"https"
---@field target string "/path?query"
---@field path string
---@field text string the whole, without a fragment

---The parts of an absolute URL; or nil and what is wrong with it.
---@param text string
---@return kubelua.Url?, string?
function url.parse(text)
    local scheme, host, rest = text:match("^(%a+)://([^/?#]+)([^#]*)")
    scheme = scheme and scheme:lower()
    if text:find("[%c%s\128-\255]") then
        return nil, "it has a character that must be percent-encoded"
    elseif scheme ~= "http" and scheme ~= "https" then
        return nil, "it begins with http:// or https://, and names a host"
    elseif host:find("@", 1, true) then
        return nil, "it must not have a user or password: use the header Authorization"
    end
    local target = rest:sub(1, 1) == "/" and rest or "/" .. rest
    local origin = scheme .. "://" .. host:lower()
    return { origin = origin, scheme = scheme, target = target,
        path = target:match("^[^?]*"), text = origin .. target }
end

-- Removes "." and ".." of a path (RFC 3986, 5.2.4).
local function remove_dots(path)
    local parts = {}
    for part in (path .. "/"):sub(2):gmatch("([^/]*)/") do
        if part == ".." then
            parts[#parts] = nil
        elseif part ~= "." then
            parts[#parts + 1] = part
        end
    end
    local ends_in_folder = path:find("/%.%.?$") and #parts > 0
    return "/" .. table.concat(parts, "/") .. (ends_in_folder and "/" or "")
end

---The URL that a Location means in the reply of `from`; or nil and what is wrong with it.
---@param from kubelua.Url
---@param location string
---@return kubelua.Url?, string?
function url.resolve(from, location)
    if location:find("^%a[%w+.-]*:") then
        return url.parse(location)
    elseif location:sub(1, 2) == "//" then
        return url.parse(from.scheme .. ":" .. location)
    end
    local path, query = location:match("^([^?#]*)(%??[^#]*)")
    if path == "" then
        path = from.path
        query = query ~= "" and query or from.target:sub(#from.path + 1)
    elseif path:sub(1, 1) ~= "/" then
        path = from.path:match("^.*/") .. path
    end
    return url.parse(from.origin .. remove_dots(path) .. query)
end

return url
