-- Compiles the rules of one HTTPRoute or GRPCRoute, whatever its parents are: RULEs and MATCHes of
-- the shared map, what must be said in its conditions, and which objects were read. Memoised by
-- compile.lua until the route or one of those objects changes. Pure.
local backends = require "resty.kubelua.gateway.compile.backends"
local durations = require "resty.kubelua.gateway.compile.durations"
local filters = require "resty.kubelua.gateway.compile.filters"
local json_size = require "resty.kubelua.gateway.compile.json_size"
local places = require "resty.kubelua.gateway.balance.places"

local rules = {}

---@class resty.kubelua.gateway.CompiledRoute
---@field rules table[] RULE
---@field matches table[] MATCH, `rule` counts from 1 in this route
---@field size integer bytes of both as JSON
---@field reads table<string, true> keys of objects
---@field unresolved { reason: string, message: string }[] for ResolvedRefs
---@field dropped { rule: integer, reason: string, message: string }[] rules that are not served:
---they answer 500, or have no place if their matches cannot be read
---@field count integer rules that the route has

---@class resty.kubelua.gateway.RouteKind what differs between HTTPRoute and GRPCRoute
---@field name "HTTPRoute"|"GRPCRoute"
---@field matches fun(reader, rule): table[]?, resty.kubelua.gateway.Rejection?
---@field grpc true?

local function timeouts_of(timeouts)
    if not timeouts then
        return nil
    end
    local request = durations.parse(timeouts.request)
    local backend = durations.parse(timeouts.backendRequest)
    if (timeouts.request and not request) or (timeouts.backendRequest and not backend) then
        return nil, { reason = "UnsupportedValue", message = "a timeout is not a duration" }
    elseif request and backend and request > 0 and backend > request then
        return nil, { reason = "UnsupportedValue",
            message = "the timeout backendRequest is longer than request" }
    end
    return (request or backend) and { request = request, backend = backend } or nil
end

local function retry_of(retry)
    if not retry then
        return nil
    end
    local backoff = durations.parse(retry.backoff)
    if retry.backoff and not backoff then
        return nil, { reason = "UnsupportedValue", message = "retry.backoff is not a duration" }
    elseif backoff and backoff > 0 then
        return nil, { reason = "UnsupportedValue", message = "retry.backoff is not supported: "
            .. "nginx does not wait between two tries; leave it out" }
    end
    for _, code in ipairs(retry.codes or {}) do
        if not places.has(code) then
            return nil, { reason = "UnsupportedValue", message = ("retry.codes: %s is none of 500, "
                .. "502, 503 and 504"):format(tostring(code)) }
        end
    end
    return { attempts = retry.attempts, codes = retry.codes or {} }
end

-- Sessions by cookie become the setting of the balancer of that name.
local function settings_of(session)
    if not session then
        return nil
    elseif (session.type or "Cookie") ~= "Cookie" then
        return nil, { reason = "UnsupportedValue",
            message = "sessionPersistence by " .. tostring(session.type) .. " is not supported" }
    end
    local cookie = { name = session.sessionName or "kubelua" }
    if session.cookieConfig and session.cookieConfig.lifetimeType == "Permanent" then
        cookie.max_age = durations.parse(session.absoluteTimeout)
        if not cookie.max_age then
            return nil, { reason = "UnsupportedValue",
                message = "a permanent cookie needs an absoluteTimeout" }
        end
    end
    return { balance = { by = "sticky", cookie = cookie } }
end

local function all_prefixes(matches)
    for _, match in ipairs(matches) do
        if match.kind ~= "prefix" then
            return false
        end
    end
    return true
end

local function has_filter(list, kind)
    for _, filter in ipairs(list) do
        if filter.type == kind then
            return true
        end
    end
    return false
end

-- The backends of a rule, which has none if it redirects.
local function backends_of(context, rule, list, broken)
    if broken then
        return { backends.error() }
    elseif not has_filter(list, "redirect") then
        return backends.compile(context, rule.backendRefs)
    elseif rule.backendRefs and #rule.backendRefs > 0 then
        return nil, { reason = "IncompatibleFilters",
            message = "a rule that redirects cannot have backends" }
    end
    return {}
end

local function compile_actions(context, rule, compiled)
    local broken, rejection
    function context.broken(reason, message)
        broken = true
        context.unresolved(reason, message)
    end
    compiled.filters, rejection = filters.compile(context, rule.filters)
    if rejection then
        return rejection
    end
    if broken then
        compiled.filters = {}
    end
    compiled.backends, rejection = backends_of(context, rule, compiled.filters, broken)
    return rejection
end

local function compile_matched(kind, reader, rule, matches, unresolved)
    local rejection
    local compiled = { grpc = kind.grpc }
    local context = { reader = reader, prefixes = all_prefixes(matches), unresolved = unresolved }
    rejection = compile_actions(context, rule, compiled)
    if rejection then
        return nil, rejection
    end
    for field, read in pairs { timeouts = timeouts_of, retry = retry_of } do
        compiled[field], rejection = read(rule[field])
        if rejection then
            return nil, rejection
        end
    end
    if compiled.retry and compiled.retry.codes[1] and has_filter(compiled.filters, "mirror") then
        return nil, { reason = "IncompatibleFilters", message = "a rule that mirrors requests "
            .. "cannot have retry.codes" }
    end
    compiled.settings, rejection = settings_of(rule.sessionPersistence)
    return not rejection and compiled or nil, rejection
end

-- A rule, its matches, and why it is dropped. A dropped rule whose matches can be read answers 500
-- to what they fit: else a wider rule, with less of a guard, would have those requests.
local function compile_rule(kind, reader, rule, unresolved)
    local matches, rejection = kind.matches(reader, rule)
    if rejection then
        return nil, {}, rejection
    end
    local ok, compiled, why = pcall(compile_matched, kind, reader, rule, matches, unresolved)
    if not ok then
        why = { reason = "UnsupportedValue", message = "the rule is malformed: "
            .. tostring(compiled) }
    end
    if why then
        return { grpc = kind.grpc, filters = {}, backends = { backends.error() } }, matches, why
    end
    return compiled, matches
end

-- The result for a route of which nothing is served.
local function refused(count, reason, message)
    local result = { rules = {}, matches = {}, size = 0, reads = {}, unresolved = {}, dropped = {},
        count = count }
    for i = 1, count do
        result.dropped[i] = { rule = i, reason = reason, message = message }
    end
    return result
end

local function count_matches(list)
    local count = 0
    for _, rule in ipairs(list) do
        count = count + math.max(1, #(rule.matches or {}))
    end
    return count
end

local function compile(kind, object, cluster)
    local metadata, list = object.metadata, (object.spec or {}).rules or {}
    local limit, count = cluster.options.matches, count_matches(list)
    if count > limit then -- not even looked at
        return refused(1, "LimitExceeded", ("%d matches are over the limit of %d on a host"):format(
            count, limit))
    end
    local result = { rules = {}, matches = {}, reads = {}, unresolved = {}, dropped = {},
        count = #list }
    local reader = { kind = kind.name, namespace = metadata.namespace, reads = result.reads,
        cluster = cluster }
    local source = ("%s %s/%s "):format(kind.name, metadata.namespace, metadata.name)
    for i, rule in ipairs(list) do
        cluster.options.pace()
        local compiled, matches, why = compile_rule(kind, reader, rule, function(reason, message)
            result.unresolved[#result.unresolved + 1] = { reason = reason, message = message }
        end)
        if compiled then
            compiled.source = source .. i
            result.rules[#result.rules + 1] = compiled
            for _, match in ipairs(matches) do
                match.rule = #result.rules
                result.matches[#result.matches + 1] = match
            end
        end
        if why then
            result.dropped[#result.dropped + 1] = { rule = i, reason = why.reason,
                message = why.message }
        end
    end
    result.size = json_size(result.rules) + json_size(result.matches)
    return result
end

---Compiles a route. Cost: its rules, matches and references; nothing else is looked at. A route
---that no CRD has checked, and that makes no sense at all, is refused like any other.
---@param kind resty.kubelua.gateway.RouteKind
---@param object table the route
---@param cluster resty.kubelua.gateway.Cluster
---@return resty.kubelua.gateway.CompiledRoute
function rules.compile(kind, object, cluster)
    local valid, result = pcall(compile, kind, object, cluster)
    if not valid and type(result) ~= "string" then
        error(result, 0) -- the task ends
    end
    return valid and result or refused(1, "UnsupportedValue", "the route is malformed: "
        .. tostring(result))
end

return rules
