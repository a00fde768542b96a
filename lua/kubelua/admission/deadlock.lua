-- A webhook that is asked about what its own replicas need cannot start again once all of them are
-- down: the API server asks it before it writes their pods, and no replica answers.
local log = require "kubelua.log"

local deadlock = {}

local NAMESPACE = "kubernetes.io/metadata.name"

-- What a Deployment, its pods, the Secret of the certificate and a leader need, by plural.
local NEEDED = {}
for _, name in ipairs { "deployments", "replicasets", "pods", "pods/binding", "secrets", "leases",
    "endpointslices", "serviceaccounts/token" } do
    NEEDED[name] = true
end

local function has(list, value)
    for _, one in ipairs(list or {}) do
        if one == value then
            return true
        end
    end
    return false
end

-- True if the selector leaves the namespace out for sure, or selects by other labels, so that only
-- the administrator knows.
local function leaves_out(selector, namespace)
    if not selector then
        return false
    end
    for key, value in pairs(selector.matchLabels or {}) do
        if key ~= NAMESPACE or value ~= namespace then
            return true
        end
    end
    for _, one in ipairs(selector.matchExpressions or {}) do
        local is_in = has(one.values, namespace)
        if one.key ~= NAMESPACE or one.operator == "In" and not is_in
            or one.operator == "NotIn" and is_in or one.operator == "DoesNotExist" then
            return true
        end
    end
    return false
end

local function find_needed(rules)
    for _, rule in ipairs(rules) do
        for _, name in ipairs(has(rule.operations, "CREATE") and rule.resources
            or has(rule.operations, "UPDATE") and rule.resources or {}) do
            local plain = name:gsub("/%*$", "")
            if NEEDED[plain] or plain == "*" then
                return name
            end
        end
    end
end

---What a configuration asks about that its own replicas need; nil: nothing.
---@param object table of Admission:configuration
---@param namespace string of the replicas
---@return string? resource
function deadlock.find(object, namespace)
    local webhook = object.webhooks[1]
    if webhook.failurePolicy ~= "Fail" or webhook.objectSelector or webhook.matchConditions
        or leaves_out(webhook.namespaceSelector, namespace) then
        return nil
    end
    return find_needed(webhook.rules)
end

---Warns of it.
---@param name string of the webhook
---@param object table of Admission:configuration
---@param namespace string of the replicas
function deadlock.warn(name, object, namespace)
    local resource = deadlock.find(object, namespace)
    if resource then
        log("warn", "admit %s: it is asked about %s of its own namespace %s, too. Once no replica "
            .. "answers, none can start there. Leave the namespace out: namespace_selector = { "
            .. "matchExpressions = { { key = \"%s\", operator = \"NotIn\", values = { \"%s\" } } "
            .. "} }", name, resource, namespace, NAMESPACE, namespace)
    end
end

return deadlock
