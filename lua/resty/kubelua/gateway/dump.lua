-- gateway.dump and gateway.show: the routes as they are served, with their backends; and the
-- objects that are not served as they are written, with the reasons (refused.lua). Only fields that
-- are named here go out: no Secret, no password, no cookie.
local breaks = require "resty.kubelua.breaks"
local core = require "kubelua.core"
local hostname = require "resty.kubelua.gateway.hostname"
local look = require "resty.kubelua.gateway.balance.look"
local page = require "resty.kubelua.dump"
local publish = require "resty.kubelua.gateway.publish"
local services = require "resty.kubelua.service"
local show = require "resty.kubelua.show"
local tables = require "resty.kubelua.tables"
local walk = require "resty.kubelua.walk"

local dump = {}

-- Headers whose values are not shown, though they stand in a route.
local HIDDEN = { cookie = true, authorization = true, ["proxy-authorization"] = true }

local function count_endpoints(work, name)
    work.counts = work.counts or {}
    if work.counts[name] == nil then
        local service = services.new(work.map, name)
        local ready, all = nil, nil
        if service then
            ready, all = service:count_endpoints()
        end
        work.counts[name] = ready and { ready = ready, endpoints = all } or false
    end
    return work.counts[name]
end

local function describe_backend(work, backend)
    local item = { service = backend.service, weight = backend.weight or 1,
        status = backend.status, protocol = backend.protocol,
        canary = backend.canary and true or nil, balance = (backend.balance or {}).by }
    local counted = backend.service and count_endpoints(work, backend.service)
    if counted then
        item.ready, item.endpoints = counted.ready, counted.endpoints
    elseif backend.service then
        item.why = "unknown"
    end
    return item
end

local function describe_conditions(list)
    local items = {}
    for i, condition in ipairs(list or {}) do
        local name = condition[1]
        items[i] = { name = name, value = not HIDDEN[name:lower()] and condition[2] or nil,
            regex = condition[3] == "regex" or nil }
    end
    return items[1] and items or nil
end

local function list_filters(rule)
    local types = {}
    for i, filter in ipairs(rule.filters or {}) do
        types[i] = filter.type
    end
    return types[1] and types or nil
end

-- What all matches of a rule have in common.
local function describe_rule(work, rule)
    local object, part = rule.source:match("^(%S+ %S+) ?(.*)$")
    local settings = rule.settings or {}
    local item = { object = object, rule = tonumber(part) or part, filters = list_filters(rule),
        grpc = rule.grpc and true or nil, denied = settings.denied, backends = {} }
    for i, backend in ipairs(rule.backends or {}) do
        item.backends[i] = describe_backend(work, backend)
        item.backends[i].balance = item.backends[i].balance or (settings.balance or {}).by
        work.pause()
    end
    item.backends = core.array(item.backends)
    return item
end

local function has_backend(options, rule)
    for _, backend in ipairs(options.service and rule.backends or {}) do
        if backend.service
            and page.has_service({ service = options.service }, backend.service) then
            return true
        end
    end
    return not options.service
end

local function is_wanted(options, rule)
    return (not options.namespace
        or rule.source:match("^%S+ ([^/]*)/") == options.namespace) and has_backend(options, rule)
end

-- True if a request for a host may meet the routes of this one.
local function fits_host(options, host)
    local name = options.host and options.host:lower()
    while name and name ~= host do
        name = hostname.widen(name)
    end
    return not options.host or name == host
end

-- Notes the balancers' settings: what is shown of endpoints depends on them.
local function note_settings(work, rule)
    for _, backend in ipairs(rule.backends or {}) do
        if backend.service then
            work.settings[backend.service] = backend.balance or (rule.settings or {}).balance
        end
    end
end

local function is_encrypted(work, entry, listener)
    work.entries = work.entries or {}
    if work.entries[entry] == nil then
        work.entries[entry] = tables.read(work.map, publish.ENTRIES, entry) or false
    end
    local listeners = work.entries[entry] and work.entries[entry].listeners
    return listeners and listeners[listener] and listeners[listener].tls or false
end

-- The keys of gateway.hosts with the parts that they are made of.
local function each_host(work, visit)
    walk.each(work.map, publish.HOSTS, work.pause, function(key)
        local entry, listener, host = key:match("^(%S+) (%S+) (%S+)$")
        local value = entry and fits_host(work.options, host)
            and tables.read(work.map, publish.HOSTS, key)
        if value then
            visit(value, { entry = entry, listener = listener, host = host })
        end
    end)
end

local function emit_host(work, value, place, emit)
    local address, port = place.entry:match("^(.*):(%d+)$")
    local tls, rules = is_encrypted(work, place.entry, place.listener), {}
    for index, rule in ipairs(value.rules or {}) do
        note_settings(work, rule)
        if is_wanted(work.options, rule) then
            rules[index] = describe_rule(work, rule)
            work.objects[rules[index].object] = true
        end
        work.pause()
    end
    for _, match in ipairs(value.matches or {}) do
        local rule = rules[match.rule]
        if rule then
            emit { host = place.host, listener = place.listener, address = address,
                port = tonumber(port), tls = tls, path = match.path, type = match.kind,
                method = match.method, headers = describe_conditions(match.headers),
                queries = describe_conditions(match.queries), object = rule.object,
                rule = rule.rule, filters = rule.filters, grpc = rule.grpc, denied = rule.denied,
                backends = rule.backends }
        end
        work.pause()
    end
end

local ROUTES = { name = "routes", each = function(work, emit)
    local settings = work.settings
    work.settings, work.objects = work.settings or {}, {}
    each_host(work, function(value, place)
        emit_host(work, value, place, emit)
    end)
    if work.options.host then -- not all hosts were read
        work.settings = settings
    end
end }

local REFUSED = { name = "refused", each = function(work, emit)
    -- what is refused has no host and no backend: so only what has routes, too, can be asked for
    local objects = (work.options.host or work.options.service) and (work.objects or {})
    walk.each(work.map, publish.REFUSED, work.pause, function(key)
        local namespace = key:match("^%S+ ([^/]+)/")
        local value = (not work.options.namespace or namespace == work.options.namespace)
            and (not objects or objects[key]) and tables.read(work.map, publish.REFUSED, key)
        if value then
            local reasons = {}
            for i, pair in ipairs(value) do
                reasons[i] = { reason = pair[1], message = pair[2] }
            end
            emit { object = key, reasons = core.array(reasons) }
        end
    end)
end }

local SECTIONS = { ROUTES, REFUSED, page.SERVICES, page.TABLES }

-- The settings of all Services: they are in the routes.
local function learn_settings(work)
    work.settings = {}
    each_host({ map = work.map, pause = work.pause, options = {} }, function(value)
        for _, rule in ipairs(value.rules or {}) do
            note_settings(work, rule)
            work.pause()
        end
    end)
end

local function new_work(map, options)
    local work = { map = map, options = options, pause = breaks.new() }
    function work.describe(service, endpoint)
        if not work.settings then
            learn_settings(work)
        end
        return look(endpoint, work.settings[service])
    end
    return work
end

---@param map resty.kubelua.Map
---@param options resty.kubelua.DumpOptions?
---@return table
function dump.make(map, options)
    return page.make("gateway.dump", new_work(map, options or {}), SECTIONS)
end

---@param map resty.kubelua.Map
function dump.show(map)
    show.serve("gateway.show", SECTIONS, function(options)
        return new_work(map, options)
    end)
end

return dump
