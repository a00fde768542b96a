-- Takes from a kubeconfig that others have written only what can do nothing on this machine: it
-- runs no program, reads no file, and does without no verification. What is taken is written anew,
-- so nothing else reaches the core's reader of kubeconfigs.
local core = require "kubelua.core"
local ordered_json = require "kubelua.fleet.ordered_json"

local untrusted = {}

---What a source allows for all of its kubeconfigs.
---@class kubelua.fleet.Allowed
---@field exec boolean? they may name programs
---@field insecure boolean? servers need not be verified

-- What is taken of a cluster and of a user, as text.
local OF_CLUSTER = { "server", "tls-server-name", "proxy-url", "certificate-authority-data" }
local OF_USER = { "token", "username", "password", "client-certificate-data", "client-key-data",
    "as", "as-uid" }

-- Fields with paths, and what takes their place.
local PATHS_OF_CLUSTER = { ["certificate-authority"] = "certificate-authority-data" }
local PATHS_OF_USER = { tokenFile = "token", ["client-certificate"] = "client-certificate-data",
    ["client-key"] = "client-key-data" }

-- Raises why a kubeconfig is refused: a table, unlike errors of Lua.
local function refuse(message, ...)
    error({ refusal = string.format(message, ...) }, 0)
end

-- A name in a message: others have chosen it.
local function show(name)
    name = tostring(name)
    return '"' .. (#name > 80 and name:sub(1, 80) .. "..." or name) .. '"'
end

local function is_absent(value)
    return value == nil or value == core.null or value == ""
end

local function table_of(value, what)
    if is_absent(value) then
        return {}
    elseif type(value) ~= "table" then
        refuse("%s must be a map or a list", what)
    end
    return value
end

local function take_texts(from, names, what)
    local taken = {}
    for _, name in ipairs(names) do
        local value = from[name]
        if not is_absent(value) and type(value) ~= "string" then
            refuse("%s: %s must be text", what, name)
        end
        taken[name] = not is_absent(value) and value or nil
    end
    return taken
end

local function refuse_paths(from, paths, what)
    for name, instead in pairs(paths) do
        if not is_absent(from[name]) then
            refuse("%s: %s reads a file of this machine, which a Secret must not name; put its "
                .. "content into %s", what, name, instead)
        end
    end
end

---Checks a server, and what verifies it. Raises a refusal.
---@param cluster table as in a kubeconfig
---@param name any for messages
---@param allowed kubelua.fleet.Allowed
---@return table taken
function untrusted.cluster(cluster, name, allowed)
    local what = "cluster " .. show(name)
    refuse_paths(cluster, PATHS_OF_CLUSTER, what)
    local taken = take_texts(cluster, OF_CLUSTER, what)
    local scheme = (taken.server or ""):match("^(%a+)://")
    if not taken.server then
        refuse("%s has no server", what)
    elseif not scheme or (scheme:lower() ~= "https" and scheme:lower() ~= "http") then
        refuse("%s: its server must begin with https://", what)
    elseif scheme:lower() == "http" and not allowed.insecure then
        refuse("%s: its server is not encrypted; use https, or allow it with insecure = true", what)
    end
    local insecure = cluster["insecure-skip-tls-verify"]
    if insecure == true and not allowed.insecure then
        refuse("%s is not verified (insecure-skip-tls-verify); give certificate-authority-data, or "
            .. "allow it with insecure = true", what)
    elseif not is_absent(insecure) and type(insecure) ~= "boolean" then
        refuse("%s: insecure-skip-tls-verify must be true or false", what)
    end
    taken["insecure-skip-tls-verify"] = insecure == true or nil
    return taken
end

---Checks a user. Raises a refusal.
---@param user table as in a kubeconfig
---@param name any for messages
---@param allowed kubelua.fleet.Allowed
---@return table taken
function untrusted.user(user, name, allowed)
    local what = "user " .. show(name)
    refuse_paths(user, PATHS_OF_USER, what)
    if not is_absent(user["auth-provider"]) then
        refuse("%s: auth-provider is not supported; use a token", what)
    elseif not is_absent(user.exec) and not allowed.exec then
        refuse("%s runs a program (exec), which a Secret must not decide; allow it for all Secrets "
            .. "of this source with exec = true", what)
    end
    local taken = take_texts(user, OF_USER, what)
    for _, list in ipairs { "as-groups", "as-user-extra", "exec" } do
        if not is_absent(user[list]) then
            taken[list] = table_of(user[list], what .. ": " .. list)
        end
    end
    return taken
end

---The text of a kubeconfig with one context.
---@param parts { name: string, cluster: table, user: table, namespace: string? }
---@return string
function untrusted.write(parts)
    local name = parts.name
    return ordered_json { apiVersion = "v1", kind = "Config", ["current-context"] = name,
        contexts = { { name = name, context = { cluster = name, user = name,
            namespace = parts.namespace } } },
        clusters = { { name = name, cluster = parts.cluster } },
        users = { { name = name, user = parts.user } } }
end

-- The entry of a list with a name: what it has under `field`.
local function find(list, field, name)
    for _, item in ipairs(list) do
        if type(item) == "table" and item.name == name then
            return table_of(item[field], field .. " " .. show(name))
        end
    end
end

local function decode(text)
    local json, message = core.manifest(text)
    local documents = json and core.decode(json)
    if not documents then
        refuse("%s", message or "it is no YAML")
    elseif #documents ~= 1 or type(documents[1]) ~= "table" then
        refuse("it is no kubeconfig")
    end
    return documents[1]
end

local function take(text, name, allowed)
    local config = decode(text)
    local wanted = config["current-context"]
    if is_absent(wanted) then
        refuse("it names no current-context")
    end
    local context = find(table_of(config.contexts, "contexts"), "context", wanted)
    if not context then
        refuse("context %s is not in it", show(wanted))
    end
    local cluster = find(table_of(config.clusters, "clusters"), "cluster", context.cluster)
    if not cluster then
        refuse("cluster %s of context %s is not in it", show(context.cluster), show(wanted))
    end
    local user = find(table_of(config.users, "users"), "user", context.user) or {}
    local parts = { name = name, namespace = take_texts(context, { "namespace" }, "context "
        .. show(wanted)).namespace, cluster = untrusted.cluster(cluster, context.cluster, allowed),
        user = untrusted.user(user, context.user, allowed) }
    if parts.user.exec and not is_absent(cluster.extensions) then
        parts.cluster.extensions = table_of(cluster.extensions, "extensions")
    end
    return untrusted.write(parts)
end

---Calls a function that may raise a refusal. nil, message: it did.
---@param f fun(...): any
---@param ... any
---@return any result, string? refusal
function untrusted.try(f, ...)
    local ok, result = pcall(f, ...)
    if ok then
        return result
    elseif type(result) == "table" and result.refusal then
        return nil, result.refusal
    end
    error(result, 0)
end

---What can be taken from the text of a kubeconfig, as the text of another one. nil, message: it is
---refused.
---@param text string
---@param name string of the cluster
---@param allowed kubelua.fleet.Allowed
---@return string?, string?
function untrusted.kubeconfig(text, name, allowed)
    return untrusted.try(take, text, name, allowed)
end

untrusted.refuse, untrusted.is_absent = refuse, is_absent

return untrusted
