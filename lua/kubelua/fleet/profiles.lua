-- The clusters of a fleet from ClusterProfiles (multicluster.x-k8s.io): a profile names a server
-- and the provider of its credentials; the script says which program gets these (KEP-5339).
local core = require "kubelua.core"
local make_source = require "kubelua.fleet.objects"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local sorted_keys = require "kubelua.sorted_keys"
local untrusted = require "kubelua.fleet.untrusted"

local TYPES = { profiles = "table", namespace = "string", labels = "string",
    insecure = "boolean" }

---A program that gets credentials: client.authentication.k8s.io.
---@class kubelua.FleetProvider
---@field command string
---@field args? string[]
---@field env? table<string, string>
---@field api_version? string default: "client.authentication.k8s.io/v1"

local OF_PROVIDER = { command = "string", args = "table", env = "table", api_version = "string" }

local EXEC = "client.authentication.k8s.io/exec"

-- The provider of the script, as `exec` of a kubeconfig.
local function read_provider(name, given)
    local call = "kubelua.fleet: source: profiles." .. tostring(name)
    if type(name) ~= "string" or type(given) ~= "table" or not given.command then
        misuse("%s: a table such as { command = \"/usr/bin/plugin\" } expected, by the name of a "
            .. "provider", call)
    end
    options.check(call, given, OF_PROVIDER)
    local env = {}
    for _, variable in ipairs(sorted_keys(given.env or {})) do
        env[#env + 1] = { name = variable, value = given.env[variable] }
    end
    local args = core.array {}
    for i, argument in ipairs(given.args or {}) do
        args[i] = argument
    end
    return { apiVersion = given.api_version or "client.authentication.k8s.io/v1",
        command = given.command, args = args,
        env = #env > 0 and env or nil, interactiveMode = "Never", provideClusterInfo = true }
end

local function list_of(status)
    for _, name in ipairs { "accessProviders", "credentialProviders" } do
        if type(status[name]) == "table" and #status[name] > 0 then
            return status[name]
        end
    end
    return {}
end

-- The first provider of a profile that the script has.
local function choose(status, providers)
    local offered = {}
    for _, one in ipairs(list_of(status)) do
        local name = type(one) == "table" and one.name
        if providers[name] and type(one.cluster) == "table" then
            return one
        end
        offered[#offered + 1] = tostring(name)
    end
    if #offered == 0 then
        untrusted.refuse("its status names no accessProviders yet")
    end
    untrusted.refuse("none of its providers is known here: it offers %s, and `profiles` has %s",
        table.concat(offered, ", "), table.concat(sorted_keys(providers), ", "))
end

local function take(profile, name, providers, allowed)
    local chosen = choose(type(profile.status) == "table" and profile.status or {}, providers)
    local cluster = untrusted.cluster(chosen.cluster, chosen.name, allowed)
    for _, extension in ipairs(type(chosen.cluster.extensions) == "table"
        and chosen.cluster.extensions or {}) do
        if type(extension) == "table" and extension.name == EXEC then
            cluster.extensions = { extension }
        end
    end
    return untrusted.write { name = name, cluster = cluster,
        user = { exec = providers[chosen.name] } }
end

---@param given table
---@param named { home: fun(): kubelua.fleet.Home?, string?, string? }
---@return kubelua.fleet.Source?, string?, string?
return function(given, named)
    options.check("kubelua.fleet: source", given, TYPES)
    local providers = {}
    for name, provider in pairs(given.profiles) do
        providers[name] = read_provider(name, provider)
    end
    if next(providers) == nil then
        misuse("kubelua.fleet: source: profiles: which program gets the credentials? For example { "
            .. "secretreader = { command = \"/usr/bin/secretreader-plugin\" } }")
    end
    local home, message, code = named.home()
    if not home then
        return nil, message, code
    end
    return make_source("ClusterProfiles", home, { "clusterprofiles.multicluster.x-k8s.io",
        namespace = given.namespace, labels = given.labels }, function(object)
        local profile = core.decode(core.encode(object))
        local kubeconfig, problem = untrusted.try(take, profile, object.key, providers, given)
        return { name = object.key, origin = "ClusterProfile " .. object.key,
            labels = profile.metadata.labels, problem = problem,
            options = kubeconfig and { kubeconfig_text = kubeconfig } }
    end)
end
