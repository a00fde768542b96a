-- Reads the target of a request to an API server: of which resource, object and subresource it is
-- (kube-apiserver: apiserver/pkg/endpoints/request/requestinfo.go), and if a dry run can try it.

---@class kubelua.ApiPath
---@field group string "": the core group
---@field version string
---@field plural string
---@field namespace string?
---@field name string? nil: the whole collection
---@field subresource string? what follows the name: "status", "proxy/metrics"
---@field object string the target of the object, or of the collection, without subresource
---@field below fun(name: string): string the target of an object in the collection
local api_path = {
    READS = { GET = true, HEAD = true, OPTIONS = true }, -- methods
}

local WRITES = { POST = true, PUT = true, PATCH = true, DELETE = true }

-- Subresources whose writes kube-apiserver can try. An aggregated API server may have others, of
-- which it is not known what they do.
local SUBRESOURCES = { status = true, scale = true, eviction = true, binding = true, token = true,
    ephemeralcontainers = true, resize = true, finalize = true, approval = true }

-- These run something in a container or on a node, with any method.
local CONNECTS = { exec = true, attach = true, portforward = true, proxy = true }

local OF_NAMESPACE = { status = true, finalize = true } -- subresources of a namespace itself

local function decode(text)
    return (text:gsub("%%(%x%x)", function(digits)
        return string.char(tonumber(digits, 16))
    end))
end

local function encode(text)
    return (text:gsub("[^%w%-._~:]", function(byte)
        return ("%%%02X"):format(byte:byte())
    end))
end

-- The decoded segments; nil if a server or proxy could read the path in two ways.
local function split_path(path)
    local segments = {}
    if not path:find("^/") or path:find("//", 1, true) or path:find("[#\\%c ]") then
        return nil
    end
    for segment in path:gmatch("[^/]+") do
        segment = decode(segment)
        if segment == "." or segment == ".." or segment:find("[/\\%c]") then
            return nil
        end
        segments[#segments + 1] = segment
    end
    return segments
end

-- The number of segments before the plural, and of those that name the group and the version.
local function find_plural(segments, first)
    local is_scoped = segments[first] == "namespaces" and segments[first + 2] ~= nil
    if is_scoped and first == 3 and segments[1] == "api" and OF_NAMESPACE[segments[first + 2]]
        and segments[first + 3] == nil then
        is_scoped = false
    end
    return is_scoped and first + 2 or first, is_scoped and segments[first + 1] or nil
end

local function join_encoded(segments, count)
    local parts = {}
    for i = 1, count do
        parts[i] = encode(segments[i])
    end
    return "/" .. table.concat(parts, "/")
end

---Reads a target. nil: it is no path of a resource.
---@param target string the path, with its query
---@return kubelua.ApiPath?
function api_path.parse(target)
    local segments = split_path(target:match("^[^?]*"))
    local root = segments and segments[1]
    local first = root == "api" and 3 or root == "apis" and 4 or nil
    if not first or not segments[first] then
        return nil
    end
    local place, namespace = find_plural(segments, first)
    local name = segments[place + 1]
    return {
        group = root == "apis" and segments[2] or "", version = segments[first - 1],
        plural = segments[place], namespace = namespace, name = name,
        subresource = segments[place + 2] and table.concat(segments, "/", place + 2) or nil,
        object = join_encoded(segments, name and place + 1 or place),
        below = function(child)
            return join_encoded(segments, place) .. "/" .. encode(child)
        end,
    }
end

-- The parameters of a target, in their order, as they are encoded.
local function list_parameters(target)
    local parts = {}
    for part in (target:match("%?(.*)$") or ""):gmatch("[^&]+") do
        parts[#parts + 1] = part
    end
    return parts
end

local function name_of(part)
    return decode((part:match("^[^=]*"):gsub("%+", " ")))
end

---True if the target has this parameter exactly once, with this value.
---@param target string
---@param name string
---@param value string
---@return boolean
function api_path.has_parameter(target, name, value)
    local count, found = 0, nil
    for _, part in ipairs(list_parameters(target)) do
        if name_of(part) == name then
            count, found = count + 1, part
        end
    end
    return count == 1 and found == name .. "=" .. value
end

---The target with this parameter, and without other values of it.
---@param target string
---@param name string
---@param value string
---@return string
function api_path.with_parameter(target, name, value)
    local kept = {}
    for _, part in ipairs(list_parameters(target)) do
        if name_of(part) ~= name then
            kept[#kept + 1] = part
        end
    end
    kept[#kept + 1] = name .. "=" .. value
    return target:match("^[^?]*") .. "?" .. table.concat(kept, "&")
end

---Says why a request cannot be tried; nil: it can, or it only reads.
---@param method string # in capitals
---@param path kubelua.ApiPath? nil: it is for no resource
---@return string?
function api_path.obstacle(method, path)
    local first = path and path.subresource and path.subresource:match("^[^/]*")
    if first and CONNECTS[first] then
        return "a dry run cannot try \"" .. first .. "\", which reaches a container, a node or a "
            .. "service"
    elseif api_path.READS[method] then
        return nil
    elseif not path then
        return "it may write, and is no request for a resource of an API server, which could try "
            .. "it without storing it"
    elseif not WRITES[method] then
        return "it is not known what the method " .. method .. " does"
    elseif path.subresource and not SUBRESOURCES[path.subresource] then
        return "it is not known if the subresource \"" .. path.subresource .. "\" can be tried"
    end
    return nil
end

return api_path
