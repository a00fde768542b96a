-- Filters of an HTTPRoute's or GRPCRoute's rule, or of one of its backends, as the request path
-- applies them (docs of the FILTER table: gateway/filters.lua). A filter that is not supported
-- makes its rule invalid; a reference that leads nowhere is said in ResolvedRefs. Pure.
local framing = require "resty.kubelua.gateway.framing"
local references = require "resty.kubelua.gateway.compile.references"

local filters = {}

---@class resty.kubelua.gateway.Rejection why a rule is not served
---@field reason string of the Accepted condition
---@field message string

local function reject(reason, message, ...)
    return nil, { reason = reason, message = message:format(...) }
end

local function pairs_of(list)
    local headers, seen = {}, {}
    for _, header in ipairs(list or {}) do
        local name = header.name:lower()
        if not seen[name] then -- only the first of equal names counts
            seen[name] = true
            headers[#headers + 1] = { header.name, header.value }
        end
    end
    return headers
end

local function wrong_header(settings)
    for _, list in ipairs { settings.set or {}, settings.add or {}, settings.remove or {} } do
        for _, header in ipairs(list) do
            local name = type(header) == "table" and header.name or header
            if framing[name:lower()] then
                return ("the header %s cannot be changed"):format(name)
            elseif name:find("[%c%s:]") or type(header) == "table" and header.value:find("%c") then
                return ("the header %q has a control character"):format(name)
            end
        end
    end
end

local function header_filter(kind)
    return function(_, settings)
        local wrong = wrong_header(settings)
        if wrong then
            return reject("UnsupportedValue", "%s", wrong)
        end
        return { type = kind, set = pairs_of(settings.set), add = pairs_of(settings.add),
            remove = settings.remove or {} }
    end
end

local PATH_KINDS = { ReplaceFullPath = "full", ReplacePrefixMatch = "prefix" }

-- The path that a redirect or rewrite makes; nil if it says none.
local function path_of(context, path)
    if not path then
        return nil
    end
    local kind = PATH_KINDS[path.type]
    if not kind then
        return reject("UnsupportedValue", "a path of the type %s is unknown", tostring(path.type))
    elseif kind == "prefix" and not context.prefixes then
        return reject("UnsupportedValue", "ReplacePrefixMatch needs a rule whose matches are all of"
            .. " the type PathPrefix")
    end
    return { kind = kind, value = path.replaceFullPath or path.replacePrefixMatch or "" }
end

-- Why a text is no host for a Host header or a Location: it could end the header. nil: it is one.
local function wrong_host(host)
    if host ~= nil and (type(host) ~= "string" or not host:find("^[%w%-_%.]+$")) then
        return ("the hostname %q is no host name"):format(tostring(host))
    end
end

local SCHEMES = { http = true, https = true }
local STATUSES = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

local function redirect(context, settings)
    local path, rejection = path_of(context, settings.path)
    local wrong = wrong_host(settings.hostname)
    if rejection then
        return nil, rejection
    elseif wrong then
        return reject("UnsupportedValue", "%s", wrong)
    elseif settings.scheme and not SCHEMES[settings.scheme] then
        return reject("UnsupportedValue", "a redirect to the scheme %s", settings.scheme)
    elseif settings.statusCode and not STATUSES[settings.statusCode] then
        return reject("UnsupportedValue", "a redirect with the status %s",
            tostring(settings.statusCode))
    end
    return { type = "redirect", scheme = settings.scheme, host = settings.hostname,
        port = settings.port, path = path, status = settings.statusCode or 302 }
end

local function rewrite(context, settings)
    local path, rejection = path_of(context, settings.path)
    local wrong = wrong_host(settings.hostname)
    if rejection then
        return nil, rejection
    elseif wrong then
        return reject("UnsupportedValue", "%s", wrong)
    end
    return { type = "rewrite", host = settings.hostname, path = path }
end

local function mirror(context, settings)
    local backend, reason, message = references.backend(context.reader, settings.backendRef or {})
    if not backend then
        context.unresolved(reason, message) -- the mirror is left out, the rule is served
        return nil
    end
    local percent = settings.percent or 100
    if settings.fraction then
        percent = settings.fraction.numerator / (settings.fraction.denominator or 100) * 100
    end
    return { type = "mirror", service = backend.service, protocol = backend.protocol,
        percent = percent }
end

local function cors(_, settings)
    return { type = "cors", allow_origins = settings.allowOrigins or {},
        allow_methods = settings.allowMethods or {}, allow_headers = settings.allowHeaders or {},
        expose_headers = settings.exposeHeaders or {}, max_age = settings.maxAge or 5,
        allow_credentials = settings.allowCredentials == true,
        dialect = "gateway-api" } -- where "*" in an origin is any number of labels
end

-- A ConfigMap with Lua. Without its script the rule answers with an error: a filter that is not
-- there must never be skipped.
local function script(context, ref)
    local reader = context.reader
    local run = reader.cluster.options.script
    if (ref.group or "") ~= "" or ref.kind ~= "ConfigMap" then
        context.broken("InvalidKind", ("the filter %s is a %s: only a ConfigMap with Lua is known")
            :format(tostring(ref.name), tostring(ref.kind)))
        return nil
    elseif not run then
        context.broken("RefNotPermitted", "Lua on the route is not switched on: gateway.init { "
            .. "scripts = { namespaces = ... } }")
        return nil
    end
    reader.reads[references.key("ConfigMap", reader.namespace, ref.name)] = true
    local ready, message, reason = run(reader.namespace, ref.name)
    if not ready then
        context.broken(reason or "BackendNotFound", message
            or ("the script %s is not there"):format(ref.name))
        return nil
    end
    return { type = "script", configmap = reader.namespace .. "/" .. ref.name }
end

-- `repeats`: more than one in a rule; `backend`: also on one backend; `grpc`: in a GRPCRoute, too.
local KINDS = {
    RequestHeaderModifier = { field = "requestHeaderModifier", backend = true, grpc = true,
        compile = header_filter("request_headers") },
    ResponseHeaderModifier = { field = "responseHeaderModifier", backend = true, grpc = true,
        compile = header_filter("response_headers") },
    RequestRedirect = { field = "requestRedirect", compile = redirect },
    URLRewrite = { field = "urlRewrite", backend = true, compile = rewrite },
    RequestMirror = { field = "requestMirror", repeats = true, grpc = true, compile = mirror },
    CORS = { field = "cors", compile = cors },
    ExtensionRef = { field = "extensionRef", repeats = true, grpc = true, compile = script },
}

---@class resty.kubelua.gateway.FilterContext
---@field reader resty.kubelua.gateway.Reader
---@field prefixes boolean every match of the rule is a path prefix
---@field backend boolean the filters are those of one backend
---@field unresolved fun(reason: string, message: string) a reference of the rule leads nowhere
---@field broken fun(reason: string, message: string) the same, and the rule must answer an error

local function check_kind(context, filter, seen)
    local kind = KINDS[filter.type]
    if not kind or (context.reader.kind == "GRPCRoute" and not kind.grpc) then
        return reject("UnsupportedValue", "a filter of the type %s is not supported",
            tostring(filter.type))
    elseif context.backend and not kind.backend then
        return reject("UnsupportedValue", "a filter of the type %s is not supported on a backend",
            filter.type)
    elseif seen[filter.type] and not kind.repeats then
        return reject("IncompatibleFilters", "the filter %s is there twice", filter.type)
    elseif type(filter[kind.field]) ~= "table" then
        return reject("UnsupportedValue", "a filter of the type %s has no %s", filter.type,
            kind.field)
    end
    seen[filter.type] = true
    if seen.RequestRedirect and seen.URLRewrite then
        return reject("IncompatibleFilters", "a redirect and a rewrite cannot be combined")
    end
    return kind
end

-- nginx.conf has so many lines with `mirror`. One that is left out would be skipped, and a filter
-- must not be.
local MOST_MIRRORS = 2

local function count_mirrors(list)
    local count = 0
    for _, filter in ipairs(list) do
        count = count + (filter.type == "RequestMirror" and 1 or 0)
    end
    return count
end

---@param context resty.kubelua.gateway.FilterContext
---@param list table[]?
---@return table[]? filters nil: the rule is invalid
---@return resty.kubelua.gateway.Rejection? why
function filters.compile(context, list)
    local compiled, seen = {}, {}
    if count_mirrors(list or {}) > MOST_MIRRORS then
        return reject("UnsupportedValue", "a rule has at most %d filters of the type RequestMirror",
            MOST_MIRRORS)
    end
    for _, filter in ipairs(list or {}) do
        local kind, rejection = check_kind(context, filter, seen)
        if not kind then
            return nil, rejection
        end
        local made
        made, rejection = kind.compile(context, filter[kind.field])
        if rejection then
            return nil, rejection
        end
        compiled[#compiled + 1] = made
    end
    return compiled
end

return filters
