-- Cross-origin requests: the CORS filter of the Gateway API (GEP-1767), and the annotations
-- cors-* of ingress-nginx. Says which headers the answer to a request gets, and whether it is a
-- preflight, which is answered at once.
local cors = {}

---@class resty.kubelua.gateway.Cors
---@field allow_origins string[]? "*", "https://a.b", "https://*.b", "https://a.b:8443" or "null"
---@field allow_methods string[]?
---@field allow_headers string[]?
---@field expose_headers string[]?
---@field allow_credentials boolean?
---@field max_age integer? seconds
---@field dialect "gateway-api"|nil nil: as ingress-nginx. There "*." is one label; "*" is sent as
---it is, also with credentials, so that browsers refuse those; each OPTIONS is a preflight

local NO_CONTENT = 204
local MAX_AGE = 5 -- default of the Gateway API
local DEFAULT_PORT = { ["https:"] = ":443", ["http:"] = ":80" }

-- An origin in lower case, without the port that its scheme implies.
local function simplify(origin)
    origin = origin:lower()
    local port = DEFAULT_PORT[origin:match("^%a+:") or ""]
    if port and origin:sub(-#port) == port then
        return origin:sub(1, -#port - 1)
    end
    return origin
end

-- What is to be compared, for each filter. Weak; a value does not lead to its key.
local prepared = setmetatable({}, { __mode = "k" })

local function prepare(filter)
    local done = { all = false, exact = {}, wild = {},
        label = filter.dialect == "gateway-api" and "^[%w%-.]+$" or "^[%w%-]+$" }
    for _, origin in ipairs(filter.allow_origins or {}) do
        local simple = simplify(origin)
        local before, after = simple:match("^([^*]*)%*(.*)$")
        if origin == "*" then
            done.all = true
        elseif before then
            table.insert(done.wild, { before = before, after = after })
        else
            done.exact[simple] = true
        end
    end
    prepared[filter] = done
    return done
end

-- Compares ends and what is between them: no pattern that a long origin could keep busy.
local function fits_wildcard(origin, wild, label)
    local from, to = #wild.before + 1, #origin - #wild.after
    return to >= from and origin:sub(1, from - 1) == wild.before
        and origin:sub(to + 1) == wild.after and origin:sub(from, to):find(label) ~= nil
end

local function is_allowed(origins, origin)
    local simple = simplify(origin)
    if origins.all or origins.exact[simple] then
        return true
    end
    for _, wild in ipairs(origins.wild) do
        if fits_wildcard(simple, wild, origins.label) then
            return true
        end
    end
    return false
end

local function has_star(list)
    for _, value in ipairs(list or {}) do
        if value == "*" then
            return true
        end
    end
    return false
end

-- A list for a header. "*" beside credentials means itself to a browser, not everything: then the
-- answer repeats what was asked for.
local function list_for(list, credentials, asked)
    if not list or #list == 0 then
        return nil
    elseif has_star(list) then
        if credentials then
            return asked
        end
        return "*"
    end
    return table.concat(list, ", ")
end

local function first_line(value)
    return type(value) == "table" and value[1] or value
end

local function add(list, name, value)
    if value then
        list[#list + 1] = { name, value }
    end
end

local function add_preflight(list, filter, request)
    local credentials = filter.allow_credentials
    add(list, "Access-Control-Allow-Methods", list_for(filter.allow_methods, credentials,
        first_line(request.header("access-control-request-method"))))
    add(list, "Access-Control-Allow-Headers", list_for(filter.allow_headers, credentials,
        first_line(request.header("access-control-request-headers"))))
    add(list, "Access-Control-Max-Age", tostring(filter.max_age or MAX_AGE))
end

local function answer_gateway(filter, request, origins)
    local origin = first_line(request.header("origin"))
    local asks_all = origins.all and not filter.allow_credentials
    local list = {}
    if not asks_all then
        list[1] = { "Vary", "Origin", add = true } -- a cache must not give it to other origins
    end
    if not origin then
        return nil, list
    end
    local is_preflight = request.method == "OPTIONS"
        and request.header("access-control-request-method") ~= nil
    if is_allowed(origins, origin) then
        add(list, "Access-Control-Allow-Origin", asks_all and "*" or origin)
        add(list, "Access-Control-Allow-Credentials", filter.allow_credentials and "true")
        add(list, "Access-Control-Expose-Headers",
            list_for(filter.expose_headers, filter.allow_credentials, nil))
        if is_preflight then
            add_preflight(list, filter, request)
        end
    end
    return is_preflight and NO_CONTENT or nil, list
end

local function join(list)
    return list and #list > 0 and table.concat(list, ", ") or nil
end

local function answer_ingress(filter, request, origins)
    local origin = origins.all and "*" or first_line(request.header("origin"))
    local list = {}
    if not origins.all then
        list[1] = { "Vary", "Origin", add = true }
    end
    if not origin or not is_allowed(origins, origin) then
        return nil, list
    end
    add(list, "Access-Control-Allow-Origin", origin)
    add(list, "Access-Control-Allow-Credentials", filter.allow_credentials and "true")
    add(list, "Access-Control-Allow-Methods", join(filter.allow_methods))
    add(list, "Access-Control-Allow-Headers", join(filter.allow_headers))
    add(list, "Access-Control-Expose-Headers", join(filter.expose_headers))
    add(list, "Access-Control-Max-Age", filter.max_age and tostring(filter.max_age))
    return request.method == "OPTIONS" and NO_CONTENT or nil, list
end

---What a filter makes of a request. With a status the request is a preflight: answer it with that
---status and the headers. Else it goes on, and its answer gets the headers, each instead of those
---of the same name; one with `add` beside them.
---@param filter resty.kubelua.gateway.Cors
---@param request resty.kubelua.gateway.Request
---@return integer? status
---@return { [1]: string, [2]: string, add: true? }[] headers
function cors.answer(filter, request)
    local origins = prepared[filter] or prepare(filter)
    if filter.dialect == "gateway-api" then
        return answer_gateway(filter, request, origins)
    end
    return answer_ingress(filter, request, origins)
end

return cors
