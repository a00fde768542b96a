-- The matches of an HTTPRoute's rule. Exact paths and prefixes are decoded, as nginx decodes a
-- request's path; prefixes lose their last slash (it is ignored); a
-- RegularExpression must match the whole path, header or parameter. Pure.
local pattern = require "resty.kubelua.gateway.pattern"

local http_route = { name = "HTTPRoute" }

local METHODS = { GET = true, HEAD = true, POST = true, PUT = true, DELETE = true, CONNECT = true,
    OPTIONS = true, TRACE = true, PATCH = true }
local PATH_KINDS = { Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex" }
local LONGEST = 4096 -- bytes of a regular expression

local function reject(message, ...)
    return nil, { reason = "UnsupportedValue", message = message:format(...) }
end

---The pattern that matches a whole text, or why the expression cannot be used.
---@param reader resty.kubelua.gateway.Reader
---@param text string
---@return string?
---@return resty.kubelua.gateway.Rejection?
function http_route.regex(reader, text)
    if type(text) ~= "string" or #text > LONGEST then
        return reject("a regular expression is longer than %d bytes", LONGEST)
    end
    local whole, check = pattern.whole(text), reader.cluster.options.regex
    local message = pattern.refusal(text)
    for _, each in ipairs(check and { text, whole } or {}) do -- "a)|(b" is none by itself
        local valid, why = check(each)
        message = message or not valid and (why or "invalid") or nil
    end
    if message then
        return reject("the regular expression %q cannot be used: %s", text, message)
    end
    return whole
end

local function decode(path)
    return (path:gsub("%%(%x%x)", function(digits)
        return string.char(tonumber(digits, 16))
    end))
end

local function path_of(reader, path)
    local kind = PATH_KINDS[path.type or "PathPrefix"]
    local value = path.value or "/"
    if not kind then
        return reject("a path match of the type %s is unknown", tostring(path.type))
    elseif kind == "regex" then
        local whole, rejection = http_route.regex(reader, value)
        return whole, rejection, kind
    elseif value:sub(1, 1) ~= "/" then
        return reject("the path %q does not begin with a slash", value)
    end
    value = decode(value)
    if kind == "prefix" and #value > 1 then
        value = value:gsub("/+$", "")
        value = value == "" and "/" or value
    end
    return value, nil, kind
end

---Pairs of name and value, or with "regex" as the third; only the first of equal names counts.
---@param reader resty.kubelua.gateway.Reader
---@param list table[]?
---@param fold boolean names are compared in lower case
---@return table[]?
---@return resty.kubelua.gateway.Rejection?
function http_route.pairs_of(reader, list, fold)
    local compiled, seen = {}, {}
    for _, item in ipairs(list or {}) do
        local name = fold and item.name:lower() or item.name
        local kind = item.type or "Exact"
        if not seen[name] then
            seen[name] = true
            if kind == "Exact" then
                compiled[#compiled + 1] = { name, item.value }
            elseif kind == "RegularExpression" then
                local whole, rejection = http_route.regex(reader, item.value)
                if not whole then
                    return nil, rejection
                end
                compiled[#compiled + 1] = { name, whole, "regex" }
            else
                return reject("a match of the type %s is unknown", tostring(kind))
            end
        end
    end
    return compiled
end

local function compile_match(reader, match)
    local path, rejection, kind = path_of(reader, match.path or {})
    if not path then
        return nil, rejection
    elseif match.method and not METHODS[match.method] then
        return reject("the method %s is unknown", tostring(match.method))
    end
    local headers, queries
    headers, rejection = http_route.pairs_of(reader, match.headers, true)
    if headers then
        queries, rejection = http_route.pairs_of(reader, match.queryParams, false)
    end
    if not queries then
        return nil, rejection
    end
    return { path = path, kind = kind, method = match.method, headers = headers,
        queries = queries }
end

---@param reader resty.kubelua.gateway.Reader
---@param rule table
---@return table[]? matches nil: the rule is invalid
---@return resty.kubelua.gateway.Rejection?
function http_route.matches(reader, rule)
    local list = rule.matches
    if not list or #list == 0 then
        list = { {} } -- everything
    end
    local compiled = {}
    for i, match in ipairs(list) do
        local rejection
        compiled[i], rejection = compile_match(reader, match)
        if rejection then
            return nil, rejection
        end
    end
    return compiled
end

return http_route
