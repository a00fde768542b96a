-- Which match is asked first: exact path, longest prefix, then method, number of headers, number of
-- parameters, oldest route, namespace/name, order in the route (Gateway API). A regular expression
-- stands among the prefixes, by the length of its text. Pure.
local pattern = require "resty.kubelua.gateway.pattern"

local precedence = {}

-- The length of the expression in a pattern that was made to match whole texts.
local function length_of(match)
    if match.kind ~= "regex" then
        return #match.path
    end
    return #pattern.text(match.path)
end

---@class resty.kubelua.gateway.Ranked a match with what it is ranked by
---@field match table
---@field exact boolean
---@field length integer
---@field headers integer
---@field queries integer
---@field source integer the place of its route among those of the host, the oldest first
---@field place integer # in its route

---@param match table
---@param source integer
---@param place integer
---@return resty.kubelua.gateway.Ranked
function precedence.rank(match, source, place)
    return { match = match, exact = match.kind == "exact", length = length_of(match),
        headers = #(match.headers or {}), queries = #(match.queries or {}), source = source,
        place = place }
end

---@param a resty.kubelua.gateway.Ranked
---@param b resty.kubelua.gateway.Ranked
---@return boolean a is asked before b
function precedence.before(a, b)
    if a.exact ~= b.exact then
        return a.exact
    elseif a.length ~= b.length then
        return a.length > b.length
    elseif a.match.kind ~= b.match.kind then
        return a.match.kind == "prefix"
    end
    local method_a, method_b = a.match.method ~= nil, b.match.method ~= nil
    if method_a ~= method_b then
        return method_a
    elseif a.headers ~= b.headers then
        return a.headers > b.headers
    elseif a.queries ~= b.queries then
        return a.queries > b.queries
    elseif a.source ~= b.source then
        return a.source < b.source
    end
    return a.place < b.place
end

---True if the first origin is older, or the same age and first by name.
---@param a { created: string?, namespace: string?, name: string, kind: string }
---@param b { created: string?, namespace: string?, name: string, kind: string }
---@return boolean
function precedence.older(a, b)
    if a.created ~= b.created then
        return (a.created or "~") < (b.created or "~") -- without a time: last
    end
    local name_a = (a.namespace or "") .. "/" .. a.name
    local name_b = (b.namespace or "") .. "/" .. b.name
    if name_a ~= name_b then
        return name_a < name_b
    end
    return a.kind < b.kind
end

return precedence
