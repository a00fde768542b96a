-- What the annotations of an Ingress say, as settings and filters of its rules. Those of
-- ingress-nginx keep their meaning; annotations/known.lua says which work, and what the others do.
-- Pure Lua. The settings' names and units are in docs/GATEWAY.md.
local known = require "resty.kubelua.gateway.annotations.known"
local new_reader = require "resty.kubelua.gateway.annotations.reader"
local read_access = require "resty.kubelua.gateway.annotations.access"
local read_buffering = require "resty.kubelua.gateway.annotations.buffering"
local read_cors = require "resty.kubelua.gateway.annotations.cors"
local read_proxy = require "resty.kubelua.gateway.annotations.proxy"
local read_routing = require "resty.kubelua.gateway.annotations.routing"

---@class kubelua.gateway.ParsedAnnotations
---@field settings table of each rule
---@field filters table[] of each rule: cors, request_headers
---@field redirect table? the filter that answers instead of a backend
---@field rewrite_target string?
---@field use_regex boolean
---@field ssl_redirect "tls"|"always"|nil
---@field aliases string[] further hosts
---@field www_redirect boolean
---@field canary kubelua.gateway.Canary?
---@field protocol "https"|"grpc"|"grpcs"|nil
---@field cluster_ip boolean?
---@field upstream_vhost string? may have variables
---@field default_backend string? the name of a Service
---@field script table? the filter with Lua
---@field has_cookie_path boolean?
---@field problems kubelua.gateway.Problem[]

local annotations = {}

local function sorted_keys(map)
    local keys = {}
    for key in pairs(map) do
        if type(key) == "string" then
            keys[#keys + 1] = key
        end
    end
    table.sort(keys)
    return keys
end

-- Names annotations that are not supported, and misspelt ones.
local function check_names(reader)
    for _, name in ipairs(sorted_keys(reader.values)) do
        local each = known.ALL[name]
        if not each then
            local meant = known.nearest(name)
            local hint = meant and "did you mean " .. meant .. "?" or known.NEVER[name]
            reader:add("wrong", name, "is no annotation of ingress-nginx"
                .. (hint and "; " .. hint or ""))
        elseif each.support ~= "yes" and not each.by_value then
            reader:add(each.support == "no" and "unsupported" or "differs", name,
                each.text .. (each.instead and "; " .. each.instead or ""))
        end
    end
end

local function name_foreign(reader, metadata)
    for _, key in ipairs(sorted_keys(metadata.annotations or {})) do
        local controller = known.foreign(key)
        if controller then
            reader.problems[#reader.problems + 1] = { object = reader.object, annotation = key,
                kind = "foreign", message = "is of another controller (" .. controller
                    .. "), and is ignored here as by ingress-nginx" }
        end
    end
end

-- True if the annotations are a map that can be read.
local function plain(metadata)
    if type(metadata.annotations) == "table" then
        return metadata
    end
    return { name = metadata.name, namespace = metadata.namespace }
end

-- The ConfigMap with Lua for the paths. A name that is wrong must not lead past the script: then
-- there is none to be found, and the paths answer with an error.
local function read_script(reader, metadata, parsed)
    local name = (metadata.annotations or {})[known.SCRIPT]
    if name == nil then
        return
    elseif type(name) ~= "string" or not name:find("^[a-z0-9][a-z0-9.-]*$") then
        reader.problems[#reader.problems + 1] = { object = reader.object, kind = "wrong",
            annotation = known.SCRIPT, message = "is no name of a ConfigMap: 500" }
        name = "?"
    end
    parsed.script = { type = "script", configmap = reader.namespace .. "/" .. name }
    parsed.filters[#parsed.filters + 1] = parsed.script
end

---Reads the annotations of an Ingress.
---@param object table with metadata
---@return kubelua.gateway.ParsedAnnotations
function annotations.parse(object)
    local metadata = plain(object.metadata)
    local reader = new_reader(metadata)
    local parsed = { settings = {}, filters = {}, problems = reader.problems }
    read_routing(reader, parsed)
    read_proxy(reader, parsed)
    read_access(reader, parsed)
    read_buffering(reader, parsed)
    read_cors(reader, parsed)
    read_script(reader, metadata, parsed)
    check_names(reader)
    name_foreign(reader, metadata)
    return parsed
end

return annotations
