-- Argo CD's Secrets of clusters: the keys name, server and config, which is JSON.
local core = require "kubelua.core"
local untrusted = require "kubelua.fleet.untrusted"

local argo = { LABELS = "argocd.argoproj.io/secret-type=cluster" }

local function table_of(config, name)
    local value = config[name]
    if untrusted.is_absent(value) then
        return {}
    elseif type(value) ~= "table" then
        untrusted.refuse("key config: %s must be an object", name)
    end
    return value
end

local function decode(text)
    if not text then
        untrusted.refuse("it has no key config")
    end
    local config, message = core.decode(text)
    if type(config) ~= "table" then
        untrusted.refuse("key config: %s", message or "it is no object")
    end
    return config
end

-- As in a kubeconfig. Argo CD's own cluster has no credentials in its Secret: it means those of the
-- process, which are never lent.
local function read_user(config, tls)
    local user = { token = config.bearerToken, username = config.username,
        password = config.password, ["client-certificate-data"] = tls.certData,
        ["client-key-data"] = tls.keyData }
    local exec = table_of(config, "execProviderConfig")
    if not untrusted.is_absent(config.awsAuthConfig) then
        untrusted.refuse("key config: awsAuthConfig is not supported; use execProviderConfig, or a "
            .. "bearerToken")
    elseif next(exec) then
        local env = {}
        for name, value in pairs(table_of(exec, "env")) do
            env[#env + 1] = { name = name, value = value }
        end
        table.sort(env, function(a, b) return a.name < b.name end)
        user.exec = { apiVersion = exec.apiVersion, command = exec.command,
            args = not untrusted.is_absent(exec.args) and exec.args or nil,
            env = #env > 0 and env or nil, installHint = exec.installHint,
            interactiveMode = "Never", provideClusterInfo = false }
    end
    for _, value in pairs(user) do
        if not untrusted.is_absent(value) then
            return user
        end
    end
    untrusted.refuse("it has no credentials: bearerToken, username, or tlsClientConfig.certData "
        .. "and keyData")
end

local function take(texts, name, allowed)
    local config = decode(texts.config)
    local tls = table_of(config, "tlsClientConfig")
    local insecure = tls.insecure
    return untrusted.write { name = name,
        cluster = untrusted.cluster({ server = texts.server, ["proxy-url"] = config.proxyUrl,
            ["tls-server-name"] = tls.serverName, ["certificate-authority-data"] = tls.caData,
            ["insecure-skip-tls-verify"] = insecure }, name, allowed),
        user = untrusted.user(read_user(config, tls), name, allowed) }
end

---The name of the cluster; nil: the Secret has none.
---@param texts table<string, string> the decoded data
---@return string?
function argo.name(texts)
    return texts.name or (texts.server or ""):match("^%a+://([^/?#@]+)")
end

---The kubeconfig of a Secret. nil, message: it is refused.
---@param texts table<string, string> the decoded data
---@param name string of the cluster
---@param allowed kubelua.fleet.Allowed
---@return string?, string?
function argo.kubeconfig(texts, name, allowed)
    return untrusted.try(take, texts, name, allowed)
end

---The namespaces that the Secret lists; nil: it lists none.
---@param texts table<string, string>
---@return string[]?
function argo.namespaces(texts)
    local list = {}
    for name in (texts.namespaces or ""):gmatch("[^,%s]+") do
        list[#list + 1] = name
    end
    return #list > 0 and list or nil
end

return argo
