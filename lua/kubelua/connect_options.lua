-- The options of kubelua.connect: which count, of those of the call and those of the command line.
local copy_table = require "kubelua.copy_table"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"

---What kubelua.connect takes; every key is optional.
---@class kubelua.ConnectOptions
---@field kubeconfig? string the path of a kubeconfig, instead of the default one
---@field kubeconfig_text? string a kubeconfig itself, YAML or JSON, instead of a path
---@field context? string the name of a context; default: the kubeconfig's current-context
---@field server? string the URL of the API server
---@field token? string a bearer token
---@field token_file? string the path of a token; read again when it changes
---@field ca_file? string the path of PEM certificates: the authorities to trust
---@field ca_data? string the same as PEM text
---@field insecure? boolean trust any certificate
---@field tls_server_name? string the name in the server's certificate
---@field cert_file? string a client certificate
---@field key_file? string the key of the client certificate
---@field cert_data? string a client certificate as PEM text, not in base64 again
---@field key_data? string its key as PEM text
---@field proxy_url? string an HTTP(S) or SOCKS5 proxy
---@field namespace? string what client:namespace() returns
---@field sim? kubelua.Sim a simulated cluster
---@field share? string a name: Lua states of this process that connect with it share watches
---@field shared_thread? boolean one thread carries the connections of all clients of the process
---that have this; default: of the clusters of a fleet

local TYPES = {
    kubeconfig = "string", kubeconfig_text = "string", context = "string", server = "string",
    token = "string", token_file = "string", ca_file = "string", ca_data = "string",
    insecure = "boolean", tls_server_name = "string", cert_file = "string", key_file = "string",
    cert_data = "string", key_data = "string", proxy_url = "string", namespace = "string",
    sim = "userdata", share = "string", shared_thread = "boolean",
}

local connect_options = {}

---The simulator's module, if a script has loaded it; otherwise no cluster can exist.
---@return table?
function connect_options.simulator()
    return package.loaded["kubelua.simcore"]
end

local function check_sim(cluster)
    if not connect_options.simulator() or not connect_options.simulator().is_sim(cluster) then
        misuse("connect: 'sim' must be a cluster, such as require(\"kubelua.sim\").new(), not a "
            .. type(cluster))
    end
end

-- Merges options: those of this connect win over those of the command line, or of a test's cluster.
local function merge_options(clients, given, cluster)
    local merged = {}
    for key, value in pairs(cluster and { sim = cluster } or clients.defaults) do
        merged[key] = value
    end
    for key, value in pairs(given) do
        merged[key] = value
    end
    if given.server or given.kubeconfig or given.kubeconfig_text then
        merged.sim = given.sim -- a server that is named wins over --sim
    end
    if given.kubeconfig_text and not given.kubeconfig then
        merged.kubeconfig = nil -- of the command line
        merged.context, merged.server = given.context, given.server
    end
    return merged
end

-- kubelua plan must reach no server: a client that names one gets a simulated cluster in its place.
local function replace_server(clients, merged, given)
    if clients.elsewhere and given.sim == nil
        and (given.server or given.kubeconfig or given.kubeconfig_text or given.context) then
        return { sim = clients.elsewhere(given), namespace = merged.namespace }
    end
    return merged
end

---Raises if the options of a call are wrong.
---@param given kubelua.ConnectOptions
function connect_options.check(given)
    if type(given) == "table" and given.sim ~= nil then
        check_sim(given.sim)
    end
    options_of.check("connect", given, TYPES)
    if given.shared_thread and given.share then
        misuse("connect: 'shared_thread' and 'share' cannot be used together: clients that are "
            .. "shared have a thread of their own")
    end
    core.check_namespace("connect", given.namespace)
end

---The options of a client.
---@param clients { defaults: table, elsewhere: function? } of the command
---@param given kubelua.ConnectOptions checked
---@param cluster kubelua.Sim? in which the script runs, of a test
---@return kubelua.ConnectOptions
function connect_options.merge(clients, given, cluster)
    return replace_server(clients, merge_options(clients, given, cluster), given)
end

---The options of the client of a cluster of a fleet: those of the command line are for the home
---cluster only, but for its namespace.
---@param clients { defaults: table, elsewhere: function? } of the command
---@param given kubelua.ConnectOptions checked
---@return kubelua.ConnectOptions
function connect_options.of_member(clients, given)
    if next(given) == nil then -- the home cluster itself
        return connect_options.merge(clients, given, nil)
    end
    local merged = copy_table(given)
    merged.namespace = given.namespace or clients.defaults.namespace
    merged.shared_thread = given.shared_thread ~= false -- there may be hundreds
    return replace_server(clients, merged, given)
end

return connect_options
