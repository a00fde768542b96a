-- URLRewrite of the Gateway API, and rewrite-target of ingress-nginx: the path and query that a
-- backend is asked for.
local paths = require "resty.kubelua.gateway.paths"

local rewrite = {}

---@class resty.kubelua.gateway.PathModifier
---@field kind "full"|"prefix"|"regex"
---@field value string "regex": with $1 to $9
---@field pattern string? of "regex"

-- "$1" in the value is what the first group caught; a group that caught nothing is empty.
local function fill_captures(value, captures)
    return (value:gsub("%$([1-9])", function(digit)
        return paths.encode(captures[tonumber(digit)] or "")
    end))
end

---The path that a modifier makes of a request's; it may have a query: paths.with_query. That of a
---redirect by a pattern may be a whole URL.
---@param modifier resty.kubelua.gateway.PathModifier
---@param request resty.kubelua.gateway.Request
---@param match resty.kubelua.gateway.Match
---@param capture (fun(text: string, pattern: string): table?)? groups of a pattern: ngx.re.match
---@return string
function rewrite.modify(modifier, request, match, capture)
    if modifier.kind == "full" then
        return paths.absolute(paths.clean(modifier.value))
    elseif modifier.kind == "prefix" and match.kind ~= "regex" then
        return paths.replace_prefix(request.path, request.raw_path, match.path, modifier.value)
    end
    local captures = modifier.pattern and capture and capture(request.path, modifier.pattern)
    if captures then
        local text = paths.clean(fill_captures(modifier.value, captures))
        return text:find("^https?://") and text or paths.absolute(text)
    end
    return paths.original(request.path, request.raw_path)
end

---The path (encoded) and the query that the backend is asked for. The host of the filter is the
---caller's to set.
---@param filter { path: resty.kubelua.gateway.PathModifier? }
---@param request resty.kubelua.gateway.Request
---@param match resty.kubelua.gateway.Match the one that found the rule
---@param capture (fun(text: string, pattern: string): table?)?
---@return string path, string? query
function rewrite.target(filter, request, match, capture)
    if not filter.path then
        return paths.original(request.path, request.raw_path), request.query
    end
    return paths.with_query(rewrite.modify(filter.path, request, match, capture), request.query)
end

return rewrite
