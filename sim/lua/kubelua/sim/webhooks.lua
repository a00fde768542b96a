-- Asks the webhooks of scripts under test (kubelua.admit) before a write goes to their cluster in
-- this process, as kube-apiserver does: first for changes, then if it may be written. The
-- simulator itself calls no webhooks: a dry run tells which object a write leads to, and what is
-- sent afterwards is another request. docs/ADMISSION.md says where that differs from a real server.
local admission = require "kubelua.admission"
local core = require "kubelua.core"
local patch = require "kubelua.sim.json_patch"
local query = require "kubelua.query"
local reviews = require "kubelua.sim.reviews"
local simcore = require "kubelua.simcore"

local webhooks = {}

local OPERATIONS = { POST = "CREATE", PUT = "UPDATE", PATCH = "UPDATE", DELETE = "DELETE" }
local ADMIN = { name = "kubernetes-admin", groups = { "system:masters", "system:authenticated" } }

-- About configurations of webhooks kube-apiserver asks no webhook.
local UNASKED = { validatingwebhookconfigurations = true, mutatingwebhookconfigurations = true }

-- A write as all its reviews have it; nil: it is none, or not to a resource.
local function read_write(given)
    local operation, path = OPERATIONS[given.method], given.target:match("^[^?]*")
    local group, version, rest = path:match("^/apis/([^/]+)/([^/]+)/(.+)$")
    if not group then
        group, version, rest = "", path:match("^/api/([^/]+)/(.+)$")
    end
    if not operation or not rest then
        return nil
    end
    local namespace, below = rest:match("^namespaces/([^/]+)/(.+)$")
    if namespace and (group ~= "" or below ~= "status" and below ~= "finalize") then
        rest = below
    else
        namespace = nil
    end
    local plural, name, sub = rest:match("^([^/]+)/?([^/]*)/?(.*)$")
    name = name ~= "" and name:gsub("%%(%x%x)", function(digits)
        return string.char(tonumber(digits, 16))
    end) or nil
    return not UNASKED[plural] and { operation = operation, namespace = namespace, name = name,
        subResource = sub ~= "" and sub or nil, path = path,
        resource = { group = group, version = version, resource = plural } } or nil
end

-- What a write would lead to.
local function try(sim, given)
    return reviews.ask_cluster(sim, given, given.target:find("[?&]dryRun=") and given.target
        or query.target(given.target, { dryRun = "All" }))
end

local function is_apply(given)
    return given.method == "PATCH" and (given.type or ""):find("apply-patch", 1, true) ~= nil
end

-- The table that a body of JSON or YAML holds.
local function read_body(given)
    local value = given.body and core.decode(given.body)
    if given.body and type(value) ~= "table" then
        local text = core.manifest(given.body)
        value = text and core.decode(text)[1]
    end
    return type(value) == "table" and value or nil
end

-- The request that writes the object that webhooks have changed. `tried` is as they got it.
local function rewrite(write, given, sent, tried, object)
    local changed = {}
    for name, value in pairs(given) do
        changed[name] = value
    end
    if is_apply(given) then
        changed.target = query.target(given.target:gsub("([?&])force=%a*&?", "%1")
            :gsub("[?&]$", ""), { force = "true" }) -- conflicts were found by the dry run
        changed.body = core.encode(patch.merge(sent, tried, object))
        return changed
    end
    local metadata, before = object.metadata, sent.metadata or {}
    if write.operation == "CREATE" then
        for _, name in ipairs { "uid", "creationTimestamp", "resourceVersion", "generation" } do
            metadata[name] = before[name]
        end
        metadata.name, object.status = write.name, sent.status or object.status
    elseif given.method == "PUT" then
        metadata.resourceVersion = before.resourceVersion
    end
    changed.method = write.operation == "CREATE" and "POST" or "PUT"
    changed.type, changed.body = "application/json", core.encode(object)
    return changed
end

-- Each object that a DELETE is for: one, or those of a collection.
local function admit_delete(sim, write, given)
    local found = reviews.ask_cluster(sim, { method = "GET" }, given.target)
    for _, old in ipairs(write.name and { found } or found and found.items or {}) do
        old.apiVersion = old.apiVersion or found.apiVersion
        old.kind = old.kind or found.kind:gsub("List$", "")
        local name = write.name
        write.name, write.namespace = old.metadata.name, old.metadata.namespace
        local _, _, refusal = reviews.ask_all(sim, write, "validate", nil, old)
        write.name = name
        if refusal then
            return refusal
        end
    end
    return nil
end

-- Completes what is known of a write. Returns the object before it.
local function find_old(sim, write, given, sent)
    local old = given.method ~= "POST"
        and reviews.ask_cluster(sim, { method = "GET" }, write.path) or nil
    write.operation = old and "UPDATE" or "CREATE"
    write.name = write.name or sent.metadata and sent.metadata.name
    if write.resource.resource == "namespaces" then
        write.namespace = write.name
    end
    -- The reply to a binding or an eviction is a Status, and a load makes namespaces.
    write.is_untried = given.method == "POST" and write.subResource ~= nil
    write.is_sure = write.is_untried or given.loads
    return old
end

-- What a write leads to, or the object that it sends if the cluster refuses that: mutate may mend
-- it, but validate is not asked about it.
local function find_object(sim, write, given, object)
    local tried = not write.is_untried and try(sim, given) or nil
    return tried or object, tried ~= nil or write.is_sure
end

local function admit_object(sim, write, given)
    local sent = read_body(given) or {}
    local old = find_old(sim, write, given, sent)
    local tried, is_valid = find_object(sim, write, given, given.method ~= "PATCH" and sent or {})
    if not tried.kind or not tried.apiVersion or not tried.metadata then
        return nil, given -- the cluster refuses it
    end
    local object, is_changed, refusal = reviews.ask_all(sim, write, "mutate", tried, old)
    if is_changed then
        given = rewrite(write, given, sent, tried, object)
        object, is_valid = find_object(sim, write, given, object)
    end
    if object and is_valid then
        refusal = select(3, reviews.ask_all(sim, write, "validate", object, old))
    end
    return refusal, given
end

-- What all reviews of a write tell of it.
local function describe(sim, write, given, token)
    local user = ADMIN
    for _, one in ipairs(simcore.state(sim).users or {}) do
        if one.token == token then
            user = one
        end
    end
    local groups = user.groups
    if type(groups) == "string" then
        groups = core.array({})
        for group in user.groups:gmatch("[^,]+") do
            groups[#groups + 1] = group
        end
    end
    write.user = { name = user.name, groups = groups }
    local sent = write.operation == "DELETE" and given.body and core.decode(given.body)
    write.options = type(sent) == "table" and sent or nil
    write.is_dry = given.target:find("[?&]dryRun=All") ~= nil
        or write.options ~= nil and type(write.options.dryRun) == "table"
            and write.options.dryRun[1] == "All"
end

---Asks the webhooks of a cluster about a write. Returns the reply that ends it; or nil, and the
---request to send, with what the webhooks have changed.
---@param sim kubelua.Sim
---@param given table method, target, body, type; loads: the object is not sent, but loaded
---@param token string? the user's; default: the administrator
---@return kubelua.Reply?, table?
function webhooks.admit(sim, given, token)
    local write = read_write(given)
    if not write or simcore.state(sim).is_closed or not admission.entries_of(sim)[1] then
        return nil, given
    end
    describe(sim, write, given, token)
    if write.operation == "DELETE" then
        return admit_delete(sim, write, given), given
    end
    return admit_object(sim, write, given)
end

---Sends a request to a cluster, unless a webhook denies it.
---@param sim kubelua.Sim
---@param given table of webhooks.admit
---@param exchange fun(given: table): kubelua.Reply?, string?, string?
---@return kubelua.Reply?, string?, string?
function webhooks.send(sim, given, exchange)
    local refusal, sent = webhooks.admit(sim, given)
    if refusal then
        return refusal
    end
    return exchange(sent)
end

---The same for a client: `requests.webhooks`.
---@param client kubelua.Client
---@param given table of core.request_send
---@param name string
---@param exchange fun(client, given, name): kubelua.Reply?, string?, string?
---@return kubelua.Reply?, string?, string?
function webhooks.send_of(client, given, name, exchange)
    local state = core.state(client, "kubelua.client")
    if state.sim then
        local refusal, sent = webhooks.admit(state.sim, given, state.token)
        if refusal then
            return refusal
        end
        given = sent
    end
    return exchange(client, given, name)
end

return webhooks
