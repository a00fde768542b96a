-- RequestRedirect of the Gateway API, and ingress-nginx's redirects to a template: the Location.
local paths = require "resty.kubelua.gateway.paths"
local rewrite = require "resty.kubelua.gateway.rewrite"

local redirect = {}

local WELL_KNOWN = { http = 80, https = 443 }

---@class resty.kubelua.gateway.Redirect
---@field scheme "http"|"https"|nil default: the request's
---@field host string? default: the request's
---@field port integer? default: the well-known one of `scheme`, else the listener's
---@field path resty.kubelua.gateway.PathModifier?
---@field status 301|302|303|307|308|nil default: 302
---@field location table? a template that is the whole Location (template.lua)

local function bracket(address)
    return address:find(":", 1, true) and "[" .. address .. "]" or address
end

-- "https://example.com:8443": a port that the scheme implies is left out.
local function origin_of(filter, request, place)
    local scheme = filter.scheme or request.scheme
    local port = filter.port or WELL_KNOWN[filter.scheme] or tonumber(request.port)
    local host = filter.host or place.host
    if host == "" then -- HTTP/1.0 without a Host
        host = bracket(request.address)
    end
    return scheme .. "://" .. host .. (port ~= WELL_KNOWN[scheme] and ":" .. port or "")
end

---The Location and the status of a redirect. The request's query stays.
---@param filter resty.kubelua.gateway.Redirect
---@param request resty.kubelua.gateway.Request
---@param match resty.kubelua.gateway.Match the one that found the rule
---@param place resty.kubelua.gateway.Place
---@param fill { render: (fun(template: table): string), capture: (fun(text: string,
---pattern: string): table?)? }? for templates, and for paths with groups
---@return string location, integer status
function redirect.location(filter, request, match, place, fill)
    local status = filter.status or 302
    if filter.location then
        ---@cast fill -nil
        return paths.clean(fill.render(filter.location)), status
    end
    local path, query = paths.original(request.path, request.raw_path), request.query
    if filter.path then
        path, query = paths.with_query(rewrite.modify(filter.path, request, match,
            fill and fill.capture), query)
    end
    local target = query and query ~= "" and path .. "?" .. query or path
    local origin = path:find("^/") and origin_of(filter, request, place) or ""
    return origin .. paths.clean(target), status
end

return redirect
