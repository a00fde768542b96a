-- Paths of requests for redirects and rewrites. Matches see a path as nginx decodes it: without
-- "%2F", "//" and "..". A backend, or a Location, gets what the client wrote, as far as that means
-- the same.
local paths = {}

local function encode_byte(char)
    return ("%%%02X"):format(char:byte())
end

---Encodes all bytes that may not be in a path (RFC 3986, 3.3).
---@param text string decoded
---@return string
function paths.encode(text)
    return (text:gsub("[^%w%-._~!$&'()*+,;=:@/]", encode_byte))
end

---Encodes the bytes that may not be in a URI, and leaves what is encoded. A Location with them
---could end its header.
---@param text string
---@return string
function paths.clean(text)
    return (text:gsub("[^!-~]", encode_byte))
end

local function decode(text)
    return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

---What the client wrote, if it is a path; else what nginx made of it, encoded.
---@param path string decoded
---@param raw string?
---@return string
function paths.original(path, raw)
    return raw and raw:sub(1, 1) == "/" and raw or paths.encode(path)
end

-- Where the character after `count` decoded ones begins.
local function position_of(raw, count)
    local at = 1
    for _ = 1, count do
        at = at + (raw:find("^%%%x%x", at) and 3 or 1)
    end
    return at
end

-- The path after its first `count` characters, encoded. If nginx has changed more than the
-- encoding, its path counts: with "/a/x/../../a/b" for the prefix "/a", the backend would leave the
-- prefix that replaces "/a".
local function rest_of(path, raw, count)
    if raw == path then
        return raw:sub(count + 1)
    elseif raw and decode(raw) == path then
        return raw:sub(position_of(raw, count))
    end
    return paths.encode(path:sub(count + 1))
end

---Replaces the prefix that matched, as HTTPPathModifier says: a "/" at the end of either does not
---count, and the result is at least "/".
---@param path string decoded
---@param raw string? as the client sent it
---@param prefix string of the match
---@param value string
---@return string encoded
function paths.replace_prefix(path, raw, prefix, value)
    local count = #prefix:gsub("/+$", "")
    local new = paths.absolute(paths.clean(value):gsub("/+$", "") .. rest_of(path, raw, count))
    return new
end

---The text with "/" at its beginning.
---@param text string
---@return string
function paths.absolute(text)
    return text:sub(1, 1) == "/" and text or "/" .. text
end

---Takes a path with a query apart, and adds the request's query to it.
---@param text string "/path" or "/path?a=b"
---@param query string?
---@return string path, string? query
function paths.with_query(text, query)
    local path, own = text:match("^([^?]*)%??(.*)$")
    if own == "" then
        return path, query
    end
    return path, query and query ~= "" and own .. "&" .. query or own
end

return paths
