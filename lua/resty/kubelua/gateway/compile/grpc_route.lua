-- The matches of a GRPCRoute's rule: service and method are the two elements of the request's path
-- ("/package.Service/Method"). Pure.
local pattern = require "resty.kubelua.gateway.pattern"
local http_route = require "resty.kubelua.gateway.compile.http_route"

local grpc_route = { name = "GRPCRoute", grpc = true }

local function reject(message, ...)
    return nil, { reason = "UnsupportedValue", message = message:format(...) }
end

local function filled(text)
    return text ~= "" and text or nil
end

-- Names as a part of a regular expression.
local function quote(text)
    return (text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?{}|\\]", "\\%0"))
end

local function exact(service, method)
    if (service or ""):find("/", 1, true) or (method or ""):find("/", 1, true) then
        return reject("a service or method has a slash")
    elseif service and method then
        return { path = "/" .. service .. "/" .. method, kind = "exact" }
    elseif service then
        return { path = "/" .. service, kind = "prefix" }
    end
    return { path = pattern.whole("/[^/]+/" .. quote(method)), kind = "regex" }
end

local function path_of(reader, match)
    local named = match.method or {}
    local service, method = filled(named.service), filled(named.method)
    local kind = named.type or "Exact"
    if not service and not method then
        return { path = "/", kind = "prefix" }
    elseif kind == "Exact" then
        return exact(service, method)
    elseif kind ~= "RegularExpression" then
        return reject("a method match of the type %s is unknown", tostring(kind))
    end
    local whole, rejection = http_route.regex(reader, ("/(?:%s)/(?:%s)"):format(
        service or "[^/]+", method or "[^/]+"))
    return whole and { path = whole, kind = "regex" } or nil, rejection
end

---@param reader resty.kubelua.gateway.Reader
---@param rule table
---@return table[]? matches nil: the rule is invalid
---@return resty.kubelua.gateway.Rejection?
function grpc_route.matches(reader, rule)
    local list = rule.matches
    if not list or #list == 0 then
        list = { {} }
    end
    local compiled = {}
    for i, match in ipairs(list) do
        local made, rejection = path_of(reader, match)
        if not made then
            return nil, rejection
        end
        made.headers, rejection = http_route.pairs_of(reader, match.headers, true)
        if rejection then
            return nil, rejection
        end
        made.queries = {}
        compiled[i] = made
    end
    return compiled
end

return grpc_route
