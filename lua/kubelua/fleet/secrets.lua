-- The clusters of a fleet from Secrets: those of Argo CD, of Cluster API, or with a kubeconfig
-- under a key. Tenants may write them: see untrusted.lua.
local argo = require "kubelua.fleet.argo"
local core = require "kubelua.core"
local make_source = require "kubelua.fleet.objects"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local untrusted = require "kubelua.fleet.untrusted"

local TYPES = { secrets = "string", namespace = "string", labels = "string", exec = "boolean",
    insecure = "boolean" }

local CAPI_LABEL = "cluster.x-k8s.io/cluster-name"

-- A key of a Secret's data as text. nil: there is none; nil, message: it is no base64.
local function text_of(object, key)
    local value = object.data and object.data[key]
    if value == nil then
        return nil, "it has no key " .. key
    end
    local text, message = core.unbase64(value)
    return text, message and "key " .. key .. ": " .. message
end

local function labels_of(object)
    local labels = object.metadata.labels
    return labels and core.decode(core.encode(labels)) or {}
end

local function new_entry(object, name)
    return { name = name, origin = "Secret " .. object.key, labels = labels_of(object) }
end

local function finish(entry, kubeconfig, problem)
    entry.options = kubeconfig and { kubeconfig_text = kubeconfig }
    entry.problem = problem
    return entry
end

-- The kubeconfig under a key.
local function read_kubeconfig(object, entry, key, allowed)
    local text, problem = text_of(object, key)
    local kubeconfig
    if text then
        kubeconfig, problem = untrusted.kubeconfig(text, entry.name, allowed)
        problem = problem and "key " .. key .. ": " .. problem
    end
    return finish(entry, kubeconfig, problem)
end

local function of_argo(allowed)
    return function(object)
        local texts, broken = {}, nil
        for _, key in ipairs { "name", "server", "config", "namespaces" } do
            local problem
            texts[key], problem = text_of(object, key)
            broken = object.data and object.data[key] ~= nil and problem or broken
        end
        local entry = new_entry(object, argo.name(texts) or object.key)
        entry.namespaces = argo.namespaces(texts)
        if broken then
            return finish(entry, nil, broken)
        end
        return finish(entry, argo.kubeconfig(texts, entry.name, allowed))
    end
end

local function of_cluster_api(allowed)
    return function(object)
        local cluster = labels_of(object)[CAPI_LABEL]
        if not cluster or object.name ~= cluster .. "-kubeconfig"
            or object.type ~= "cluster.x-k8s.io/secret" then
            return nil
        end
        local entry = new_entry(object, object.namespace .. "/" .. cluster)
        return read_kubeconfig(object, entry, "value", allowed)
    end
end

local function of_key(key, allowed)
    return function(object)
        return read_kubeconfig(object, new_entry(object, object.key), key, allowed)
    end
end

local function join(first, second)
    return first and second and first .. "," .. second or first or second
end

---@param given table
---@param named { home: fun(): kubelua.fleet.Home?, string?, string? }
---@return kubelua.fleet.Source?, string?, string?
return function(given, named)
    options.check("kubelua.fleet: source", given, TYPES)
    local kind, read, labels = given.secrets, nil, given.labels
    if kind == "argocd" then
        read, labels = of_argo(given), join(argo.LABELS, labels)
    elseif kind == "cluster-api" then
        read, labels = of_cluster_api(given), join(CAPI_LABEL, labels)
    elseif kind == "" or not labels then
        misuse("kubelua.fleet: source: secrets must be \"argocd\", \"cluster-api\", or a key of "
            .. "Secrets that labels = ... chooses")
    end
    local home, message, code = named.home()
    if not home then
        return nil, message, code
    end
    return make_source("Secrets (" .. kind .. ")", home, { "secrets", namespace = given.namespace,
        labels = labels }, read or of_key(kind, given))
end
