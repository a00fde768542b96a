-- Computes which rights a script needs: runs it against a simulated cluster (plan/rehearsal.lua),
-- and makes the smallest rules of RBAC of what it has asked for (plan/rights.lua). Prints nothing.
-- kubelua plan prints it (plan/command.lua), kubelua deploy puts it into its manifests.
local core = require "kubelua.core"
local lua_source = require "kubelua.cli.plan.lua_source"
local rehearsal = require "kubelua.cli.plan.rehearsal"
local rights = require "kubelua.cli.plan.rights"
local sims = require "kubelua.sim"
local simcore_state = require("kubelua.simcore").state
local sorted_keys = require "kubelua.sorted_keys"
local whole_file = require "kubelua.cli.whole_file"

---@class kubelua.PlanOptions
---@field script string its path
---@field args string[]? arg[1], ...
---@field namespace string? the client's, and that of informers that name none
---@field own_namespace string? only the client's, as that of a pod is
---@field sim_load string[]? manifests of the simulated cluster
---@field replay string? a recording of kubelua record
---@field duration number? seconds of the cluster's clock; nil: until nothing new happens
---@field real boolean? HTTP calls, programs and written files of the script are real, not refused

---A request of the plan: kubelua.AskedRequest with its lines sorted.
---@class kubelua.PlanRequest
---@field verb string
---@field group string? "" is the core group
---@field resource string?
---@field subresource string?
---@field namespace string?
---@field name string?
---@field path string? of a request for no resource
---@field count integer
---@field lines string[] "script.lua:12"

---@class kubelua.Plan
---@field requests kubelua.PlanRequest[] sorted
---@field waits string[] timers, Leases, waits for one object
---@field rules kubelua.RbacRules
---@field namespace string that of the script's client
---@field failures string[] what still fails at the end: "controller x: web/a: ..."
---@field refused string[] HTTP calls, programs and writes that were refused, with their lines
---@field unreached kubelua.Unreached[] parts of the script that did not run
---@field files string[] paths of the script and of those of its own modules that have run
---@field leases { namespace: string, name: string }[] of `leader`
---@field unled string[] names of controllers without `leader`
---@field elsewhere boolean there were requests to another cluster, which are not in the plan
---@field seconds number how far the cluster's clock has gone

local plan = {}

-- Adds each text in a value, and each word of these texts, to a set. A word has letters, digits,
-- "-" and ".", as names of objects have.
local function add_words(words, value)
    if type(value) == "string" then
        words[value] = true
        for word in value:gmatch("[%w%.%-]+") do
            words[word] = true
        end
    elseif type(value) == "table" and value ~= core.null then
        for name, part in pairs(value) do
            add_words(words, name)
            add_words(words, part)
        end
    end
end

---An object that was in the cluster before the script, with its words.
---@class kubelua.PlanObject
---@field kind string "apps/v1/Deployment"
---@field namespace string?
---@field name string
---@field words table<string, true>
---@field is_fixed boolean the rehearsal neither changes nor deletes it: other objects depend on it

-- Adds an object, or those of a list.
local function add_object(objects, document, is_fixed)
    if type(document) ~= "table" or type(document.metadata) ~= "table" then
        return
    elseif type(document.items) == "table" and document.kind:find("List$") then
        for _, item in ipairs(document.items) do
            add_object(objects, item)
        end
        return
    end
    local metadata = document.metadata
    local namespace = metadata.namespace
    metadata.namespace = nil -- it is compared by itself
    local words = {}
    add_words(words, document)
    objects[#objects + 1] = { namespace = namespace, name = tostring(metadata.name), words = words,
        kind = tostring(document.apiVersion) .. "/" .. tostring(document.kind),
        is_fixed = is_fixed or document.kind == "CustomResourceDefinition" }
end

-- The objects of the manifests and of the recording.
local function read_objects(options, cluster)
    local objects = {}
    for _, path in ipairs(options.sim_load or {}) do
        local text = core.manifest(assert(whole_file.read(path)))
        for _, document in ipairs(core.decode(text or "[]")) do
            add_object(objects, document)
        end
    end
    local recording = simcore_state(cluster).recording or { initial = {}, events = {} }
    for _, json in ipairs(recording.initial) do
        add_object(objects, core.decode(json))
    end
    for _, event in ipairs(recording.events) do
        add_object(objects, core.decode(event.json))
    end
    for _, name in ipairs { "default", "kube-system", "kube-public", "kube-node-lease" } do
        add_object(objects, { apiVersion = "v1", kind = "Namespace", metadata = { name = name } },
            true)
    end
    return objects
end

-- "all": the request reads the object among others; "one": by its name; nil: it does not read it.
local function sees(request, kind, object)
    if request.resource ~= kind.plural or request.group ~= kind.group or request.subresource
        or request.namespace and request.namespace ~= object.namespace then
        return nil
    elseif request.verb == "list" or request.verb == "watch" then
        return request.name == nil and "all" or request.name == object.name and "one" or nil
    end
    return request.verb == "get" and request.name == object.name and "one" or nil
end

-- Lists the objects that the script may have read. `is_one_of_all`: a list or watch has shown the
-- object among others, so the script may know its name from there. `is_anywhere`: that list or
-- watch was for all namespaces, so the script may know its namespace from there.
local function list_seen(shown, requests)
    local seen = {}
    for _, object in ipairs(shown.objects) do
        local kind = shown.kinds[object.kind]
        local entry
        for _, request in ipairs(kind and requests or {}) do
            local how = sees(request, kind, object)
            if how then
                entry = entry or { object = object, kind = kind }
                entry.is_one_of_all = entry.is_one_of_all or how == "all"
                entry.is_anywhere = entry.is_anywhere or how == "all" and not request.namespace
            end
        end
        seen[#seen + 1] = entry
    end
    return seen
end

-- True if the script may have read the value in an object.
local function is_in_objects(seen, request, value)
    for _, each in ipairs(seen) do
        local object = each.object
        local is_target = request.resource == each.kind.plural and request.group == each.kind.group
            and request.name == object.name and request.namespace == object.namespace
        if (each.is_one_of_all or not is_target) and object.words[value]
            or each.is_anywhere and object.namespace == value then
            return true
        end
    end
    return false
end

local function is_written(shown, options, value)
    for _, file in pairs(shown.coverage.files) do
        if file.source:has_string(value) then
            return true
        end
    end
    for _, argument in ipairs(options.args or {}) do
        if lua_source.names(argument, value) then
            return true
        end
    end
    return false
end

-- True if each call that has made the request writes the value itself, or leaves the namespace to
-- the client. (In the run of a controller, it may be that of the object.)
local function is_written_at_calls(shown, request, field, namespace)
    for where in pairs(request.lines) do
        local short, line = where:match("^(.*):(%d+)$")
        local file = shown.coverage:file_of_line(short)
        local written
        if file then
            written = file.source:written_at(tonumber(line), field)
        end
        if written == false and field == "namespace" and not request.is_run then
            written = namespace
        end
        if written ~= request[field] then
            return false
        end
    end
    return next(request.lines) ~= nil
end

-- Makes a function that is true for a constant name or namespace. It is constant if the call itself
-- contains it as a string; or if another line of the script or an option contains it, and no object
-- that the script has read does: then it cannot come from an object.
local function make_is_constant(shown, requests, options, namespace)
    local seen = list_seen(shown, requests)
    return function(request, field)
        local value = request[field]
        if is_written_at_calls(shown, request, field, namespace) then
            return true
        end
        local is_known = field == "namespace" and value == namespace
            or is_written(shown, options, value)
        return is_known and not is_in_objects(seen, request, value)
    end
end

-- Lines as a reader expects them: by file, then by number.
local function sorted_lines(set)
    local list = sorted_keys(set)
    local function parts(where)
        local file, line = where:match("^(.*):(%d+)$")
        return file or where, tonumber(line) or 0
    end
    table.sort(list, function(a, b)
        local file_a, line_a = parts(a)
        local file_b, line_b = parts(b)
        if file_a ~= file_b then
            return file_a < file_b
        end
        return line_a < line_b
    end)
    return list
end

local function copy_requests(requests)
    local list = {}
    for i, request in ipairs(requests) do
        list[i] = { verb = request.verb, group = request.group, resource = request.resource,
            subresource = request.subresource, namespace = request.namespace, name = request.name,
            path = request.path, count = request.count, lines = sorted_lines(request.lines) }
    end
    return list
end

local function list_waits(shown, requests)
    local waits = {}
    for _, name in ipairs(sorted_lines(shown.timers.by_name)) do
        local timer = shown.timers.by_name[name]
        waits[#waits + 1] = string.format("%s: %d timer%s, the longest of %.10g s", name,
            timer.count, timer.count == 1 and "" or "s", math.floor(timer.longest * 1000) / 1000)
    end
    for _, lease in ipairs(shown.leases) do
        waits[#waits + 1] = "the Lease " .. lease.namespace .. "/" .. lease.name
    end
    for _, request in ipairs(requests) do
        if request.verb == "watch" and request.name then
            waits[#waits + 1] = string.format("%s %s%s", request.resource,
                request.namespace and request.namespace .. "/" or "", request.name)
        end
    end
    return waits
end

local function make_opener(options)
    return function()
        local cluster, message = sims.new { clock = "fake", load = options.sim_load or {},
            replay = options.replay }
        if not cluster then
            return nil, message
        end
        return cluster, nil, read_objects(options, cluster)
    end
end

---Runs a script against a simulated cluster, and computes the rights that it needs. What the script
---prints goes to standard error. nil, message: they cannot be computed.
---@param options kubelua.PlanOptions
---@return kubelua.Plan?, string? message
function plan.of(options)
    if options.script == "-" then
        return nil, "the script comes from standard input; name its file"
    end
    local shown, message = rehearsal.run(options, make_opener(options))
    local admission = package.loaded["kubelua.admission"]
    local webhooks = admission and admission.take_all() or {}
    if not shown then
        return nil, message
    end
    local requests = shown.asked:list()
    if #requests == 0 and #shown.leases == 0 and #webhooks == 0 then
        return nil, options.script .. " asked nothing of the API server"
            .. (shown.asked.elsewhere and ", but for that of a configuration of its own" or "")
            .. ": there is no role to make"
    end
    local namespace = options.own_namespace or options.namespace or "default"
    return {
        requests = copy_requests(requests), waits = list_waits(shown, requests),
        rules = rights.rules(requests, {
            is_constant = make_is_constant(shown, requests, options, namespace),
            kind = function(name) return shown.kinds[name] end,
            leases = shown.leases, finalizers = shown.finalizers,
        }),
        namespace = namespace, failures = shown.failures, refused = shown.refusals.texts,
        unreached = shown.coverage:unreached(requests),
        files = shown.coverage:paths(), leases = shown.leases, unled = shown.unled,
        seconds = shown.seconds, elsewhere = shown.asked.elsewhere or false,
        webhooks = webhooks,
    }
end

local API = "rbac.authorization.k8s.io/v1"

---The manifests of the rules: a ClusterRole, and a Role for each namespace.
---@param result kubelua.Plan
---@param name string of each role
---@return table[] documents
function plan.manifests(result, name)
    local documents = {}
    if result.rules.cluster[1] then
        documents[1] = { apiVersion = API, kind = "ClusterRole", metadata = { name = name },
            rules = result.rules.cluster }
    end
    for _, namespace in ipairs(sorted_keys(result.rules.namespaces)) do
        documents[#documents + 1] = { apiVersion = API, kind = "Role",
            metadata = { name = name, namespace = namespace },
            rules = result.rules.namespaces[namespace] }
    end
    return documents
end

return plan
