-- Ingresses (networking.k8s.io/v1) as rules and matches of the gateway: what compile.lua puts into
-- its tables beside the routes of Gateways. Pure Lua; objects are plain tables.
--
--   ingresses -> classes (ours?) -> annotations -> claims (hosts, paths) -> rules -> contributions
--
-- What goes wrong with one Ingress is a problem of this Ingress: a path of it answers 500, or it is
-- left out. `pace` is called between two pieces of work, and may wait.
local annotations = require "resty.kubelua.gateway.annotations"
local app_root = require "resty.kubelua.gateway.ingress.app_root"
local claims = require "resty.kubelua.gateway.ingress.claims"
local classes = require "resty.kubelua.gateway.ingress.classes"
local htpasswd = require "resty.kubelua.gateway.htpasswd"
local paths = require "resty.kubelua.gateway.ingress.paths"
local rules = require "resty.kubelua.gateway.ingress.rules"
local scripts = require "resty.kubelua.gateway.ingress.scripts"
local sorting = require "resty.kubelua.gateway.compile.sorting"
local tls = require "resty.kubelua.gateway.ingress.tls"

---An Ingress while it is compiled.
---@class kubelua.gateway.IngressItem
---@field object string "Ingress web/shop"
---@field namespace string
---@field name string
---@field created string
---@field spec table
---@field parsed kubelua.gateway.ParsedAnnotations
---@field hosts string[]
---@field problems kubelua.gateway.Problem[]

---@class kubelua.gateway.IngressObjects
---@field ingresses table[]
---@field classes table[]?
---@field services table[]? nil: they are not known, and ports are not checked
---@field services_by_name table<string, table>? instead of `services`, by "namespace/name"

---@class kubelua.gateway.IngressResult
---@field contributions table<string, table[]> by "namespace/name": for compile's `contribute`
---@field problems kubelua.gateway.Problem[]
---@field taken table<string, true> the names of the Ingresses that are this gateway's
---@field left table<string, string> the others, and why
---@field users table<string, { key: string, secret: string, map: boolean?, ingress: string }> the
---Secret of passwords, by "namespace/name"

local ingress = {}

local NEVER = "9" -- when an object was created that is in a file only: after all others
local ENTRIES = { "*:80", "*:443" }

-- The annotations of an object version, read once. The weak keys are the objects.
local parsed_objects = setmetatable({}, { __mode = "k" })

---@param object table an Ingress
---@return kubelua.gateway.ParsedAnnotations
function ingress.annotations(object)
    local parsed = parsed_objects[object]
    if not parsed then
        parsed = annotations.parse(object)
        parsed_objects[object] = parsed
    end
    return parsed
end

local function read_item(object)
    local metadata = object.metadata
    local parsed = ingress.annotations(object)
    local item = { namespace = metadata.namespace or "default", name = metadata.name,
        created = type(metadata.creationTimestamp) == "string" and metadata.creationTimestamp
            or NEVER, parsed = parsed, hosts = {},
        spec = type(object.spec) == "table" and object.spec or {}, problems = {} }
    item.object = ("Ingress %s/%s"):format(item.namespace, item.name)
    for i, problem in ipairs(parsed.problems) do
        item.problems[i] = problem
    end
    return item
end

local function is_older(a, b)
    if a.created ~= b.created then
        return a.created < b.created
    elseif a.namespace ~= b.namespace then
        return a.namespace < b.namespace
    end
    return a.name < b.name
end

local function choose_items(objects, options, result)
    local items = {}
    local is_ours = classes.chooser(objects.classes or {}, options)
    for _, object in ipairs(objects.ingresses) do
        options.pace()
        local taken, why = is_ours(object)
        local name = (object.metadata.namespace or "default") .. "/" .. object.metadata.name
        if taken then
            local ok, item = pcall(read_item, object)
            if ok then
                items[#items + 1] = item
                result.taken[name] = true
                local basic = item.parsed.settings.basic_auth
                if basic then
                    result.users[name] = { key = htpasswd.key(basic), secret = basic.secret,
                        map = basic.map, ingress = name }
                end
            else
                result.left[name] = "is malformed"
                result.problems[#result.problems + 1] = { object = "Ingress " .. name,
                    kind = "wrong", message = "the Ingress is malformed: " .. tostring(item) }
            end
        else
            result.left[name] = why
        end
    end
    return sorting.sort(items, is_older, options.pace)
end

local function index_services(objects)
    if objects.services_by_name or not objects.services then
        return objects.services_by_name
    end
    local services = {}
    for _, service in ipairs(objects.services) do
        local namespace = service.metadata.namespace or "default"
        services[namespace .. "/" .. service.metadata.name] = service
    end
    return services
end

-- The oldest alias counts; a host of a rule wins over it.
local function add_aliases(hosts, items)
    for _, item in ipairs(items) do
        for _, alias in ipairs(item.parsed.canary and {} or item.parsed.aliases) do
            local host = item.hosts[1]
            if hosts.by_name[alias] then
                item.problems[#item.problems + 1] = { object = item.object, kind = "conflict",
                    annotation = "nginx.ingress.kubernetes.io/server-alias", message = ("%s is a "
                    .. "host of %s, which has its requests"):format(alias,
                    hosts.by_name[alias].first.object) }
            elseif host then
                local of = hosts.by_name[host]
                hosts.by_name[alias] = { name = alias, first = item, list = of.list,
                    by_key = of.by_key, is_regex = of.is_regex }
                hosts.names[#hosts.names + 1] = alias
            end
        end
    end
end

-- The last match of a host: its requests that fit no path get 404, or the default backend, which
-- the annotations guard as they do the paths.
local function fallback_of(host, context)
    local item, settings = host.first, host.app_root and { app_root = host.app_root }
    local backend = { status = 404, weight = 1 }
    if type(item.spec.defaultBackend) == "table" then
        local name, message = rules.service(item, item.spec.defaultBackend, context.services)
        backend = name and { service = name, weight = 1,
            balance = rules.balance(context.services, name) } or backend
        settings = rules.settings({ item = item, path = "/" }, host, context)
        if message then
            item.problems[#item.problems + 1] = { object = item.object, kind = "missing",
                message = "defaultBackend: " .. message }
        end
    end
    return { source = ("Ingress %s/%s default"):format(item.namespace, item.name),
        backends = { backend }, filters = { item.parsed.script }, settings = settings }
end

-- False: the path is no regular expression for PCRE, which would fail all requests of the host.
-- Each is looked at once for each version of its Ingress.
local function is_searchable(claim, host, context)
    local checked = claim.item.parsed.checked or {}
    claim.item.parsed.checked = checked
    if not host.is_regex or not context.regex then
        return true
    elseif checked[claim.path] == nil then
        local valid, why = context.regex(paths.match(claim.path, claim.type, true, 1).path)
        checked[claim.path] = valid and "" or tostring(why)
    end
    if checked[claim.path] ~= "" then
        claim.item.problems[#claim.item.problems + 1] = { object = claim.item.object,
            kind = "wrong", message = ("the path %s is no regular expression: %s"):format(
                claim.path, checked[claim.path]) }
    end
    return checked[claim.path] == ""
end

-- The rule of a path. One that makes no sense answers 500: without it the request would go to a
-- wider path, which may have no guard.
local function rule_of(claim, host, context)
    local ok, rule = pcall(rules.of, claim, host, context)
    if ok then
        return rule
    end
    claim.item.problems[#claim.item.problems + 1] = { object = claim.item.object, kind = "wrong",
        message = ("the path %s is malformed: %s"):format(claim.path, tostring(rule)) }
    return { source = ("%s %d"):format(claim.item.object, claim.number),
        backends = { { status = 500, weight = 1 } }, filters = {} }
end

-- What each Ingress gives to a host: its matches and rules.
local function parts_of(host, context)
    local parts, order = {}, {}
    host.app_root = app_root.of(host)
    local function part_of(item)
        if not parts[item] then
            parts[item] = { matches = {}, rules = {} }
            order[#order + 1] = item
        end
        return parts[item]
    end
    local function add_part(claim)
        local part = part_of(claim.item)
        part.rules[#part.rules + 1] = rule_of(claim, host, context)
        part.matches[#part.matches + 1] = paths.match(claim.path, claim.type, host.is_regex,
            #part.rules)
        local note = not host.is_regex and rules.path_note(claim)
        if note then
            claim.item.problems[#claim.item.problems + 1] = { object = claim.item.object,
                kind = "differs", message = note }
        end
    end
    for _, claim in ipairs(host.list) do
        context.pace()
        if is_searchable(claim, host, context) then
            add_part(claim)
        end
    end
    if not host.by_key["^/"] then
        local part = part_of(host.first)
        part.rules[#part.rules + 1] = fallback_of(host, context)
        part.matches[#part.matches + 1] = { kind = "prefix", path = "/", rule = #part.rules }
    end
    return parts, order
end

-- The parts of a host; an alias shares those of its host, which may be thousands.
local function shared_parts(host, context, known)
    local mark = host.first.object .. (context.has_certificate(host) and " tls" or "")
    local of = known[host.list] or {}
    known[host.list] = of
    if not of[mark] then
        of[mark] = { parts_of(host, context) }
    end
    return of[mark][1], of[mark][2]
end

local function contribute(result, item, host, part, certificates)
    local key = item.namespace .. "/" .. item.name
    local list = result.contributions[key] or {}
    result.contributions[key] = list
    for _, entry in ipairs(ENTRIES) do
        local is_tls = entry == "*:443"
        list[#list + 1] = { entry = entry, listener = "*", host = host, tls = is_tls or nil,
            certificates = is_tls and certificates or nil, matches = part.matches,
            rules = part.rules, origin = { kind = "Ingress", namespace = item.namespace,
                name = item.name, created = item.created ~= NEVER and item.created or nil } }
    end
end

-- www.example.com redirects to example.com, or the other way round, if the other is no host.
local function add_www(result, hosts, item, certificates)
    for _, name in ipairs(item.parsed.www_redirect and item.hosts or {}) do
        local other = name:match("^www%.(.+)$") or "www." .. name
        if name:sub(1, 1) ~= "*" and not hosts.by_name[other] then
            hosts.by_name[other] = hosts.by_name[name]
            contribute(result, item, other, {
                matches = { { kind = "prefix", path = "/", rule = 1 } },
                rules = { { source = item.object .. " www", backends = {}, filters = {
                    { type = "redirect", host = name, status = 308 } } } } },
                certificates.of(other, item.namespace) or certificates.of(name, item.namespace))
        end
    end
end

-- The problems of an Ingress, each once: several hosts may show the same.
local function add_problems(result, item)
    local seen = {}
    for _, problem in ipairs(item.problems) do
        local key = (problem.annotation or "") .. "\n" .. problem.message
        if not seen[key] then
            seen[key] = true
            result.problems[#result.problems + 1] = problem
        end
    end
end

local function go_on() end

local function with_pace(options)
    local own = { pace = go_on }
    for name, value in pairs(options or {}) do
        own[name] = value
    end
    return own
end

---Turns all Ingresses into what they give to the tables of the gateway.
---@param objects kubelua.gateway.IngressObjects
---@param options kubelua.gateway.ClassOptions?
---@return kubelua.gateway.IngressResult
function ingress.compile(objects, options)
    local result = { contributions = {}, problems = {}, taken = {}, left = {}, users = {} }
    options = with_pace(options)
    local items = choose_items(objects, options, result)
    local hosts = claims.collect(items, options.pace, options.owned)
    local certificates = tls.collect(items, options.pace, options.certificate)
    local context = { services = index_services(objects), regex = options.regex,
        pace = options.pace, has_certificate = function(host)
            return certificates.has(host.name, host.first.namespace)
        end }
    add_aliases(hosts, items)
    scripts.check(items, options.script)
    local known = {}
    for _, name in ipairs(hosts.names) do
        options.pace()
        local host = hosts.by_name[name]
        local parts, order = shared_parts(host, context, known)
        local secrets = certificates.of(name, host.first.namespace)
        for _, item in ipairs(order) do
            contribute(result, item, name, parts[item], secrets)
        end
    end
    for _, item in ipairs(items) do
        options.pace()
        add_www(result, hosts, item, certificates)
    end
    for _, item in ipairs(items) do
        options.pace()
        add_problems(result, item)
    end
    return result
end

-- `seen`: tables that are equal to others, as they were compared before.
local function is_equal(a, b, seen)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    elseif seen[a] == b then
        return true
    end
    for key, value in pairs(a) do
        if not is_equal(value, b[key], seen) then
            return false
        end
    end
    for key in pairs(b) do
        if a[key] == nil then
            return false
        end
    end
    seen[a] = b
    return true
end

---The names of Ingresses whose contributions differ; those that are gone, too.
---@param before table<string, table[]>
---@param after table<string, table[]>
---@param pace fun()? called between two pieces of work
---@return string[]
function ingress.changes(before, after, pace)
    local names, seen = {}, {}
    pace = pace or go_on
    for name, list in pairs(after) do
        pace()
        if not is_equal(before[name], list, seen) then
            names[#names + 1] = name
        end
    end
    for name in pairs(before) do
        if not after[name] then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

---The status of an Ingress that is served at these addresses.
---@param addresses string[] IP addresses or host names
---@return table
function ingress.status(addresses)
    local cidr = require "resty.kubelua.gateway.cidr"
    local list = {}
    for i, address in ipairs(addresses) do
        list[i] = { [cidr.address(address) and "ip" or "hostname"] = address }
    end
    return { loadBalancer = #list > 0 and { ingress = list } or {} }
end

return ingress
