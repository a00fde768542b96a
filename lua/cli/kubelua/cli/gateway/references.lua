-- The Secrets that Ingresses name: certificates, and users of basic authentication.
local htpasswd = require "resty.kubelua.gateway.htpasswd"
local values = require "kubelua.values"

local references = {}

-- Annotations by which another program makes the Secret later.
local ISSUED = { "cert-manager.io/cluster-issuer", "cert-manager.io/issuer",
    "kubernetes.io/tls-acme" }

local function is_issued(object)
    local annotations = object.metadata.annotations
    for _, name in ipairs(type(annotations) == "table" and ISSUED or {}) do
        if annotations[name] then
            return true
        end
    end
    return false
end

-- What is wrong with a Secret that must have these keys; nil: nothing.
local function find_problem(secrets, key, keys)
    local secret = secrets[key]
    if not secret then
        return ("the Secret %s does not exist"):format(key)
    end
    for _, name in ipairs(keys) do
        local in_data = type(secret.data) == "table" and secret.data[name]
        local in_text = type(secret.stringData) == "table" and secret.stringData[name]
        if not in_data and not in_text then
            return ("the Secret %s has no %s"):format(key, name)
        end
    end
end

-- The text of a key; nil if it is not there, or not base64.
local function text_of(secret, name)
    local in_text = type(secret.stringData) == "table" and secret.stringData[name]
    local in_data = type(secret.data) == "table" and secret.data[name]
    if type(in_text) == "string" then
        return in_text
    end
    return type(in_data) == "string" and (values.unbase64(in_data)) or nil
end

-- Users whose passwords cannot be checked.
local function check_users(secret, key, add)
    local names = {}
    local users = htpasswd.read(secret and text_of(secret, "auth") or "")
    for name in pairs(users) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local ok, message = htpasswd.is_supported(users[name])
        if not ok then
            add(("the password of %s in the Secret %s %s"):format(name, key, message))
        end
    end
end

---Checks the Secrets of an Ingress.
---@param object table
---@param parsed kubelua.gateway.ParsedAnnotations
---@param secrets table<string, table> by "namespace/name"
---@param add fun(message: string, annotation: string?)
function references.check(object, parsed, secrets, add)
    local namespace = object.metadata.namespace
    local spec = type(object.spec) == "table" and object.spec or {}
    for _, entry in ipairs(type(spec.tls) == "table" and spec.tls or {}) do
        local name = type(entry) == "table" and entry.secretName
        local key = type(name) == "string" and name ~= "" and namespace .. "/" .. name
        local problem = key and not (is_issued(object) and not secrets[key])
            and find_problem(secrets, key, { "tls.crt", "tls.key" })
        if problem then
            add(problem .. ": its hosts have the default certificate")
        end
    end
    local basic = parsed.settings.basic_auth
    local problem = basic and find_problem(secrets, basic.secret, basic.map and {} or { "auth" })
    if problem then
        add(problem .. ": the paths are denied", "nginx.ingress.kubernetes.io/auth-secret")
    elseif basic and not basic.map then
        check_users(secrets[basic.secret], basic.secret, function(message)
            add(message, "nginx.ingress.kubernetes.io/auth-secret")
        end)
    end
end

return references
