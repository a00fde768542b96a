-- A client: the connection to one API server, with its verbs, informers and events.
-- lua/src/client.c has the parts that are in C.
local core = require "kubelua.core"
local events = require "kubelua.events"
local failures = require "kubelua.failures"
local informer_parts = require "kubelua.informer.parts"
local informers = require "kubelua.informer"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local options_of = require "kubelua.options"
local requests = require "kubelua.requests"
local tasks = require "kubelua.tasks"
local scheduler = require "kubelua.scheduler"
local scripts = require "kubelua.script"
local verbs = require "kubelua.verbs"

local TYPE = "kubelua.client"

---What kubelua.connect returns.
---@class kubelua.Client
---@field namespace fun(self): string the namespace of its configuration
local Client = core.methods(TYPE)

for _, methods in ipairs { verbs.methods, events.methods } do
    for name, method in pairs(methods) do
        Client[name] = failures.remembered("client:" .. name, method)
    end
end

---What kubelua.connect takes; every key is optional.
---@class kubelua.ConnectOptions
---@field kubeconfig? string the path of a kubeconfig, instead of the default one
---@field kubeconfig_text? string a kubeconfig itself, YAML or JSON, instead of a path
---@field context? string a context of the kubeconfig, instead of its current one
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

local TYPES = {
    kubeconfig = "string", kubeconfig_text = "string", context = "string", server = "string",
    token = "string", token_file = "string", ca_file = "string", ca_data = "string",
    insecure = "boolean", tls_server_name = "string", cert_file = "string", key_file = "string",
    cert_data = "string", key_data = "string", proxy_url = "string", namespace = "string",
    sim = "userdata", share = "string",
}

local clients = {
    -- The options of the command line: the defaults of every call of kubelua.connect.
    defaults = {},
    -- True for kubelua deploy: the default namespace is the pod's, which informers do not keep to.
    is_in_pod = false,
    -- The recorder of kubelua run --record: it records the events of every informer.
    recorder = nil, ---@type kubelua.Recorder?
    -- Returns the simulated cluster that stands for the server of a call's own configuration: for
    -- kubelua plan, which must not reach a real one.
    elsewhere = nil, ---@type fun(given: kubelua.ConnectOptions): kubelua.Sim
}

local open_clients = setmetatable({}, { __mode = "k" }) -- a weak set
local last_number = 0 -- clients are numbered as they are opened
-- The set of shared clients that are open. One whose script keeps only informers of it stays there
-- for other states.
local shared_clients = {}

-- The simulator's module, if a script has loaded it; otherwise no cluster can exist.
local function simulator()
    return package.loaded["kubelua.simcore"]
end

local function check_sim(cluster)
    if not simulator() or not simulator().is_sim(cluster) then
        misuse("connect: 'sim' must be a cluster, such as require(\"kubelua.sim\").new(), not a "
            .. type(cluster))
    end
end

-- Merges options: those of this connect win over those of the command line, or of a test's cluster.
local function merge_options(given, cluster)
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

-- The options of a client that names a server of its own, if none may be reached.
local function replace_server(merged, given)
    if clients.elsewhere and given.sim == nil
        and (given.server or given.kubeconfig or given.kubeconfig_text or given.context) then
        return { sim = clients.elsewhere(given), namespace = merged.namespace }
    end
    return merged
end

-- Opens a client of the core: over the network, or into a simulated cluster.
local function open_client(merged)
    local transport, message, code
    if merged.sim ~= nil then
        transport, message, code = simulator().transport(merged.sim, merged.token)
        if not transport then
            return nil, message, code
        end
    end
    -- Opens the event queue now, so that a lack of descriptors fails here, and not in the first
    -- handler.
    local is_open
    is_open, message, code = tasks.poller:open()
    if not is_open then
        return nil, message, code
    end
    return core.connect(merged, transport)
end

-- True if two sets of options are equal, each a table of plain values.
local function is_equal(a, b)
    for name, value in pairs(a) do
        if b[name] ~= value then
            return false
        end
    end
    for name in pairs(b) do
        if a[name] == nil then
            return false
        end
    end
    return true
end

-- The client that the script before has opened with the same options: its connections and watches
-- go on. Of several, the first: a script that opens them in the same order finds each cache where
-- it was, and a handler takes over from the one before it. nil: there is none.
local function take_over(merged)
    local before = scripts.before()
    local first, first_state
    for client in pairs(before and open_clients or {}) do
        local state = core.state(client, TYPE)
        if state.script == before and not state.taker and is_equal(state.options, merged)
            and (not first or state.number < first_state.number) then
            first, first_state = client, state
        end
    end
    if first then
        first_state.taker = scripts.here()
    end
    return first
end

---Makes a client. Does not wait for the network.
---@param given kubelua.ConnectOptions?
---@return kubelua.Client?, string?, string?
function clients.connect(given)
    given = given == nil and {} or given
    if type(given) == "table" and given.sim ~= nil then
        check_sim(given.sim)
    end
    options_of.check("connect", given, TYPES)
    nginx.take_log_level()
    core.check_namespace("connect", given.namespace)
    -- A script under test connects to its cluster, also in tasks that it spawned and in handlers:
    -- the clock of a task knows the cluster.
    local cluster = tasks.clock_here().cluster
    local merged = replace_server(merge_options(given, cluster), given)
    local self = take_over(merged)
    if self then
        return self
    end
    local message, code
    self, message, code = open_client(merged)
    if not self then
        return nil, message, code
    end
    open_clients[self] = true
    if merged.share and not merged.sim then
        shared_clients[self] = true
    end
    scheduler.keep_queue()
    local state = core.state(self, TYPE)
    state.informers = setmetatable({}, { __mode = "k" })
    state.sim, state.script = merged.sim, scripts.here()
    last_number = last_number + 1
    state.options, state.number = state.script and merged, last_number
    if merged.sim then
        local of_sim = simulator().state(merged.sim)
        of_sim.connected = of_sim.connected or setmetatable({}, { __mode = "k" })
        of_sim.connected[self], state.token = true, merged.token
    end
    state.name_space = merged.sim and merged.namespace -- a simulated cluster has no configuration
    if not cluster and given.namespace == nil and not clients.is_in_pod then
        state.scope = clients.defaults.namespace -- namespace of informers that name none
    end
    if cluster then
        local opened = simulator().state(cluster).clients or {} -- nil: the cluster is closed
        opened[#opened + 1] = self
    end
    return self
end

---An informer of a client. If it names no namespace, it has that of `scope`, else the client's
---default.
---@param client kubelua.Client
---@param given kubelua.InformerOptions|string
---@param scope string?
---@return kubelua.Informer?, string?, string?
function clients.informer(client, given, scope)
    local state = core.state(client, TYPE)
    local informer, message, code = informers.new(client, given, scope or state.scope)
    if not informer then
        return nil, message, code
    end
    for _, part in ipairs(informer_parts.informers(informer)) do
        state.informers[part] = true
    end
    if clients.recorder then
        clients.recorder:attach(informer, given)
    end
    return informer
end

---The informers that a client has open: one for each namespace of an informer of several. A set;
---weak.
---@param client kubelua.Client
---@return table<kubelua.Informer, true>
function clients.informers(client)
    return core.state(client, TYPE).informers
end

---Sends one request, with any method and any path, and waits for the reply. In a task, only that
---task waits; elsewhere, rounds of the loop run meanwhile. A status of 400 or more is a failure:
---its fourth result is the reply.
---@param given kubelua.Request
---@return kubelua.Reply?, string?, string?, kubelua.Reply?
function Client:request(given)
    core.state(self, TYPE)
    requests.check(given)
    local reply, message, code = requests.send(self, given, "client:request")
    tasks.end_if_cancelled()
    if not reply then
        return nil, message, code
    elseif reply.status >= 400 then
        message, code = core.status_error(reply.status, reply.body)
        return nil, message, code, reply
    end
    return reply
end

local READS = { GET = true, HEAD = true }

local send_request = Client.request

-- A request that writes is noted as the verbs are.
function Client:request(given)
    if type(given) ~= "table" or READS[(given.method or "GET"):upper()] then
        return send_request(self, given)
    end
    return failures.note("client:request", send_request(self, given))
end

---Joins the shared informer of this resource, namespace and selectors; starts it if there is none.
---@param given kubelua.InformerOptions|string
---@return kubelua.Informer?, string?, string?
function Client:informer(given, ...)
    core.state(self, TYPE)
    if select("#", ...) > 0 then
        misuse("informer: one table expected, such as { \"pods\", namespace = \"web\" }")
    end
    return clients.informer(self, given)
end

-- Ends what a script has on a client that it shares with the script before. The client itself is
-- closed once nothing needs it: see settle.
local function close_part(state, script)
    state.unwanted_by = state.unwanted_by or {}
    state.unwanted_by[script] = true
    for controller in pairs(state.controllers or {}) do
        if controller.script == script then
            controller:stop()
        end
    end
    for informer in pairs(state.informers) do
        if core.state(informer, "kubelua.informer").script == script then
            informer:stop()
        end
    end
end

---Ends all its informers, controllers and requests: no handler runs any more. Caches can still be
---read, unless the client is shared: other states may still need them.
function Client:close()
    local state = core.state(self, TYPE)
    if state.taker then
        return close_part(state, scripts.here() or state.script)
    end
    for controller in pairs(state.controllers or {}) do
        controller:stop()
    end
    for informer in pairs(state.informers) do
        if shared_clients[self] then
            informer:stop()
        else
            informers.retire(informer)
        end
    end
    if shared_clients[self] then
        requests.end_all(self)
    end
    state.informers, state.is_closed = {}, true
    core.client_close(self)
    open_clients[self], shared_clients[self] = nil, nil
    if next(open_clients) == nil then
        scheduler.release_queue()
    end
end

---One of two scripts is over, because the other one has replaced it, or could not. Closes the
---clients that only `over` has; those that both have go to `left`.
---@param over kubelua.Script
---@param left kubelua.Script?
function clients.settle(over, left)
    local all = {}
    for client in pairs(open_clients) do
        all[#all + 1] = client
    end
    for _, client in ipairs(all) do
        local state = core.state(client, TYPE)
        local is_taken, unwanted_by = state.taker ~= nil, state.unwanted_by or {}
        state.taker, state.unwanted_by = nil, nil
        if is_taken then
            state.script = left
        end
        if state.script == over or (left and unwanted_by[left]) then
            client:close()
        end
    end
end

return clients
