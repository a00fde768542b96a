-- The ValidatingWebhookConfiguration and MutatingWebhookConfiguration of a webhook, as tables: they
-- tell the API server what to ask it about, and how to reach it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local sorted_keys = require "kubelua.sorted_keys"

local configurations = {}

---Where the API server finds the webhook: a Service, or a URL.
---@class kubelua.AdmitAddress
---@field service? { namespace: string, name: string, port: integer? } default port: 443
---@field url? string "https://10.0.0.7:8443": without a path
---@field ca? string the certificates (PEM) that the server's certificate is checked with
---@field name? string of the objects; default: that of the webhook

local TYPES = { service = "table", url = "string", ca = "string", name = "string" }

-- Group and plural of a resource. A name that is not built in needs its group.
local function find_names(resource)
    if resource.plural then
        return resource.group, resource.plural
    elseif resource.name == "*" then
        return "*", "*"
    end
    local plural, group = resource.name:match("^([a-z0-9-]+)%.([a-z0-9.-]+)$")
    if not plural then
        misuse("admit: the configuration needs plural and group of '%s': write "
            .. "\"foos.example.com\"", resource.name)
    end
    return group, plural
end

-- A rule for each group and version, as each has a list of resources.
local function list_rules(rule)
    local operations = core.array(sorted_keys(rule.operations))
    local list, by_group = core.array({}), {}
    for _, resource in ipairs(rule.resources) do
        local group, plural = find_names(resource)
        local version = resource.version or "*"
        local of_group = by_group[group .. "/" .. version]
        if not of_group then
            of_group = { apiGroups = { group }, apiVersions = { version }, operations = operations,
                resources = {}, scope = "*" }
            by_group[group .. "/" .. version], list[#list + 1] = of_group, of_group
        end
        table.insert(of_group.resources, plural .. (resource.sub and "/" .. resource.sub or ""))
    end
    return list
end

---The selector of the namespaces whose objects a webhook is asked about; nil: all.
---@param given kubelua.AdmitOptions
---@return table?
function configurations.namespace_selector(given)
    local selector = given.namespace_selector
    if not given.namespaces then
        return selector
    end
    local copy = selector and core.decode(core.encode(selector)) or {}
    copy.matchExpressions = copy.matchExpressions or {}
    table.insert(copy.matchExpressions, { key = "kubernetes.io/metadata.name", operator = "In",
        values = given.namespaces })
    return copy
end

local function make_client(hook, phase, address)
    local client = { caBundle = address.ca and core.base64(address.ca) or nil }
    if address.url then
        client.url = address.url:gsub("/+$", "") .. hook:path(phase)
    else
        local service = address.service
        client.service = { namespace = service.namespace, name = service.name,
            port = service.port or 443, path = hook:path(phase) }
    end
    return client
end

---The name of a webhook in its configuration, which has three parts at least.
---@param name string
---@return string
function configurations.webhook_name(name)
    return name:find("%..+%.") and name or name .. ".kubelua.dev"
end

local KINDS = { validate = "ValidatingWebhookConfiguration",
    mutate = "MutatingWebhookConfiguration" }

local function make_one(hook, phase, address)
    local given = hook.given
    return { apiVersion = "admissionregistration.k8s.io/v1", kind = KINDS[phase],
        metadata = { name = address.name or hook.name },
        webhooks = { { name = configurations.webhook_name(hook.name), rules = list_rules(hook.rule),
            clientConfig = make_client(hook, phase, address),
            failurePolicy = given.failure_policy or "Fail", timeoutSeconds = hook.timeout,
            admissionReviewVersions = { "v1" }, sideEffects = "NoneOnDryRun",
            namespaceSelector = configurations.namespace_selector(given),
            objectSelector = given.object_selector, matchConditions = given.match_conditions,
            reinvocationPolicy = phase == "mutate" and given.reinvocation_policy or nil } } }
end

---A webhook that can decide by now, for what registers it (register.lua).
---@class kubelua.ReadyHook
---@field name string
---@field configuration fun(self, address: kubelua.AdmitAddress): table[]

---@param hook kubelua.admission.Hook
---@return kubelua.ReadyHook
function configurations.ready_hook(hook)
    return { name = hook.name, configuration = function(_, address)
        return configurations.make(hook, address)
    end }
end

---The configurations of a webhook: one for each of its functions.
---@param hook kubelua.admission.Hook
---@param address kubelua.AdmitAddress
---@return table[]
function configurations.make(hook, address)
    options.check("admit: configuration", address, TYPES)
    if (address.url == nil) == (address.service == nil) then
        misuse("admit: configuration: either url or service = { namespace =, name = }")
    elseif address.url and not address.url:find("^https://[^/]+/*$") then
        misuse("admit: configuration: 'url' is as \"https://10.0.0.7:8443\", not \"%s\"",
            address.url)
    end
    local list = {}
    for _, phase in ipairs { "mutate", "validate" } do
        if hook.given[phase] then
            list[#list + 1] = make_one(hook, phase, address)
        end
    end
    return list
end

return configurations
