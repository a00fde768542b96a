-- kube.dump and kube.show: what is there, for people. A dump has a head, and sections, each a list
-- that may be long; so a section is a function that hands out one item after the other, and takes a
-- break now and then. gateway/dump.lua adds sections of its own.
local breaks = require "resty.kubelua.breaks"
local core = require "kubelua.core"
local library = require "resty.kubelua.library"
local misuse = require "kubelua.misuse"
local readiness = require "resty.kubelua.readiness"
local report = require "resty.kubelua.report"
local services = require "resty.kubelua.service"
local walk = require "resty.kubelua.walk"

local dump = {}

---@class resty.kubelua.DumpOptions which items to show; every key is optional
---@field namespace? string of Services and routes
---@field service? string "namespace/name" or "name": that Service, and the routes to it
---@field host? string the routes of that host: of the gateway
---@field show? string names of sections with commas: "routes,refused"; default: all

---@class resty.kubelua.DumpWork one dump under way
---@field map resty.kubelua.Map
---@field options resty.kubelua.DumpOptions
---@field pause fun()
---@field describe (fun(service: string, endpoint: table): table?)? a balancer's state

---@class resty.kubelua.DumpSection
---@field name string
---@field each fun(work: resty.kubelua.DumpWork, emit: fun(item: table))

local function seconds(ms)
    ms = tonumber(ms)
    return ms >= 0 and ms / 1000 or nil
end

---What is not a list.
---@param map resty.kubelua.Map
---@return table
function dump.head(map)
    local head, status = report.read(map), map:status()
    head.name, head.version = map.name, core.version
    head.generation, head.published = tonumber(status.generation), seconds(status.published_ms)
    head.takeovers = tonumber(status.takeovers)
    head.owner = { pid = tonumber(status.owner_pid), since = seconds(status.owned_ms),
        alive = library.kl_shared_has_owner(map.pointer) }
    head.owner_pid = nil
    head.missing = core.array(readiness.missing(map))
    head.left_out = core.array(head.left_out)
    return head
end

---True if a Service is asked for.
---@param options resty.kubelua.DumpOptions
---@param name string "namespace/name", or with a port
---@return boolean
function dump.has_service(options, name)
    local namespace, own = name:match("^([^/]*)/([^:]*)")
    local wanted = options.service
    return (not options.namespace or options.namespace == namespace)
        and (not wanted or wanted == own or wanted == namespace .. "/" .. tostring(own))
end

-- The names of all ports by Service: in the map a port has several names.
local function list_services(work)
    local ports, order = {}, {}
    walk.each(work.map, "services", work.pause, function(key)
        local name, port = key:match("^([^:]*):?(.*)$")
        if dump.has_service(work.options, name) then
            if not ports[name] then
                ports[name], order[#order + 1] = {}, name
            end
            ports[name][port] = true
        end
    end)
    return order, ports
end

local function describe(work, service, endpoint)
    local item = {}
    for field, value in pairs(endpoint) do
        item[field] = value
    end
    item.load = work.describe and work.describe(service, endpoint) or nil
    return item
end

-- The endpoints of one name of a port, and a text that tells them from others'.
local function read_port(work, name, port)
    local service = services.new(work.map, port == "" and name or name .. ":" .. port)
    local list, words = service and service:endpoints() or nil, {}
    if not list then
        return nil
    end
    for i, endpoint in ipairs(list) do
        words[i] = endpoint.host .. ":" .. endpoint.port
    end
    return list, table.concat(words, " ")
end

-- Names with the same endpoints are one port: "http", "80", and "" if it is the only one.
local function describe_service(work, name, ports)
    local item, by_text = { name = name, ports = {} }, {}
    local names = {}
    for port in pairs(ports) do
        names[#names + 1] = port
    end
    table.sort(names)
    for _, port in ipairs(names) do
        local list, text = read_port(work, name, port)
        local known = text and by_text[text]
        if known then
            table.insert(known.names, port)
        elseif text then
            local endpoints = core.array {}
            for i, endpoint in ipairs(list) do
                endpoints[i] = describe(work, name .. ":" .. port, endpoint)
                work.pause()
            end
            by_text[text] = { names = core.array { port }, endpoints = endpoints }
            table.insert(item.ports, by_text[text])
        end
        work.pause()
    end
    item.ports = core.array(item.ports)
    return item
end

dump.SERVICES = { name = "services", each = function(work, emit)
    local order, ports = list_services(work)
    for _, name in ipairs(order) do
        emit(describe_service(work, name, ports[name]))
        work.pause()
    end
end }

dump.TABLES = { name = "tables", each = function(work, emit)
    local sums = {}
    walk.each(work.map, nil, work.pause, function(_, bytes, name)
        sums[name] = sums[name] or { name = name, entries = 0, bytes = 0 }
        sums[name].entries, sums[name].bytes = sums[name].entries + 1, sums[name].bytes + bytes
    end)
    for _, name in ipairs(work.map.options and work.map.options.tables or {}) do
        sums[name] = sums[name] or { name = name, entries = 0, bytes = 0 }
    end
    for name, sum in pairs(sums) do
        if name == readiness.SERVICES then
            sum.complete = work.map:is_synced()
        else
            sum.complete = readiness.is_complete(work.map, name)
        end
        emit(sum)
    end
end }

dump.SECTIONS = { dump.SERVICES, dump.TABLES }

local OPTIONS = { "namespace", "service", "host", "show" }

---The sections that are asked for.
---@param call string for messages
---@param sections resty.kubelua.DumpSection[]
---@param options resty.kubelua.DumpOptions
---@return resty.kubelua.DumpSection[]? sections nil: one that is asked for does not exist
---@return string? message
function dump.choose(call, sections, options)
    for _, name in ipairs(OPTIONS) do
        if options[name] ~= nil and type(options[name]) ~= "string" then
            return nil, ("%s: '%s' is a text"):format(call, name)
        end
    end
    if not options.show then
        return sections
    end
    local by_name, names, chosen = {}, {}, {}
    for i, section in ipairs(sections) do
        by_name[section.name], names[i] = section, section.name
    end
    for name in options.show:gmatch("[^,%s]+") do
        if not by_name[name] then
            return nil, ("%s: there is no section '%s'; there are: %s"):format(call, name,
                table.concat(names, ", "))
        end
        chosen[#chosen + 1] = by_name[name]
    end
    return chosen
end

---@param map resty.kubelua.Map
---@param options resty.kubelua.DumpOptions
---@return resty.kubelua.DumpWork
function dump.work(map, options)
    return { map = map, options = options, pause = breaks.new() }
end

---The head and the sections as one table.
---@param call string for messages
---@param work resty.kubelua.DumpWork
---@param sections resty.kubelua.DumpSection[]
---@return table
function dump.make(call, work, sections)
    local chosen, message = dump.choose(call, sections, work.options)
    if not chosen then
        misuse("%s", message)
    end
    local result = dump.head(work.map)
    for _, section in ipairs(chosen) do
        local list = core.array {}
        section.each(work, function(item)
            list[#list + 1] = item
        end)
        result[section.name] = list
    end
    return result
end

return dump
