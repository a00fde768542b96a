-- How the name of a kind is read, as people type it: "pods", "foos.example.com",
-- "apps/v1/Deployment". Some can be read in more than one way.
local readings = {}

---A meaning that a name may have; an absent field matches anything.
---@class kubelua.Reading
---@field word string plural, singular, kind or short name
---@field group string?
---@field version string?
---@field prefix boolean? `group` may be the beginning of one

---All meanings that a name may have, the likelier first.
---@param name string its letters in lower case, unless it is for a message
---@return kubelua.Reading[]
function readings.of(name)
    local group, version, word = name:match("^([^/]+)/([^/]+)/([^/]+)$")
    if group then
        return { { word = word, group = group, version = version } }
    end
    group, word = name:match("^([^/]+)/([^/]+)$")
    if group then
        return { group == "v1" and { word = word, group = "", version = "v1" }
            or { word = word, group = group } }
    elseif name:find("/", 1, true) then
        return {}
    end
    local first, rest = name:match("^([^.]+)%.(.+)$")
    if not first then
        return { { word = name } }
    end
    local as_group = { word = first, group = rest, prefix = true }
    local middle, last = rest:match("^([^.]+)%.(.*)$") -- last == "": the core group
    if middle then
        return { { word = first, version = middle, group = last }, as_group }
    end
    return { as_group, { word = first, version = rest, group = "" } }
end

---True if a group, or a version of it, may have what a reading means. The second result: the group
---is the one that is named.
---@param wanted kubelua.Reading
---@param group string
---@param version string? nil: any
---@return boolean, boolean?
function readings.fits(wanted, group, version)
    group = group:lower()
    if version and wanted.version and version:lower() ~= wanted.version then
        return false
    elseif not wanted.group or group == wanted.group then
        return true, wanted.group ~= nil
    end
    return wanted.prefix and group:sub(1, #wanted.group) == wanted.group or false
end

local function is_version(text)
    return text:find("^v%d+$") ~= nil or text:find("^v%d+%l+%d+$") ~= nil
end

-- A DNS name (RFC 1123) with a dot. Nothing else may get into the path of a request.
local function is_subdomain(text)
    return #text <= 253 and text:find("^[a-z0-9][a-z0-9.-]*[a-z0-9]$") ~= nil
        and text:find(".", 1, true) ~= nil and not text:find("%.[.-]")
        and not text:find("-.", 1, true)
end

---The group that a name names, if it is a DNS name with a dot. The second result is true if it may
---be the beginning of one. "foos.example.com" does not mean version "example" of group "com", as
---that does not look like a version.
---@param name string
---@return string?, boolean?
function readings.group(name)
    for _, wanted in ipairs(readings.of(name:lower())) do
        local group, version = wanted.group or "", wanted.version
        local counts = not version or is_version(version) or name:find("/", 1, true)
        if group ~= "" and counts then
            return is_subdomain(group) and group or nil, wanted.prefix
        end
    end
    return nil
end

return readings
