-- A client: the connection to one API server, with its verbs, informers and events.
-- lua/src/client.c has the parts that are in C.
local connect_options = require "kubelua.connect_options"
local core = require "kubelua.core"
local events = require "kubelua.events"
local failures = require "kubelua.failures"
local fence = require "kubelua.fleet.fence"
local here = require "kubelua.fleet.here"
local informer_parts = require "kubelua.informer.parts"
local informers = require "kubelua.informer"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
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

-- Opens a client of the core: over the network, or into a simulated cluster.
local function open_client(merged, name)
    local transport, message, code
    if merged.sim ~= nil then
        transport, message, code = connect_options.simulator().transport(merged.sim, merged.token)
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
    return core.connect(merged, transport, name)
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

-- Notes a client that was opened, with the options that it was opened with.
local function note_client(self, merged, is_scoped)
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
        local of_sim = connect_options.simulator().state(merged.sim)
        of_sim.connected = of_sim.connected or setmetatable({}, { __mode = "k" })
        of_sim.connected[self], state.token = true, merged.token
    end
    state.name_space = merged.sim and merged.namespace -- a simulated cluster has no configuration
    if is_scoped then
        state.scope = clients.defaults.namespace -- namespace of informers that name none
    end
end

---Makes a client. Does not wait for the network. For a cluster of a fleet, without options: its
---client.
---@param given kubelua.ConnectOptions?
---@return kubelua.Client?, string?, string?
function clients.connect(given)
    given = given == nil and {} or given
    connect_options.check(given)
    nginx.take_log_level()
    local life = here.life()
    if life and next(given) == nil then
        return life.client
    end
    -- A script under test connects to its cluster, also in tasks that it spawned and in handlers:
    -- the clock of a task knows the cluster.
    local cluster = tasks.clock_here().cluster
    local merged = connect_options.merge(clients, given, cluster)
    local self = take_over(merged)
    if self then
        return self
    end
    local message, code
    self, message, code = open_client(merged)
    if not self then
        return nil, message, code
    end
    note_client(self, merged,
        not cluster and given.namespace == nil and not clients.is_in_pod)
    if cluster then
        -- nil: the cluster is closed
        local opened = connect_options.simulator().state(cluster).clients or {}
        opened[#opened + 1] = self
    end
    here.own(self, self.close)
    return self
end

---Makes the client of a cluster of a fleet.
---@param name string of the cluster
---@param given kubelua.ConnectOptions
---@return kubelua.Client?, string?, string?
function clients.connect_member(name, given)
    connect_options.check(given)
    local merged = connect_options.of_member(clients, given)
    local self = take_over(merged)
    if self then
        return self
    end
    local message, code
    self, message, code = open_client(merged, name)
    if not self then
        return nil, message, code
    end
    note_client(self, merged, given.namespace == nil and not clients.is_in_pod)
    return self
end

---Gives such a client other credentials for the same server. nil, message, code: that needs a new
---client, or the options are wrong.
---@param self kubelua.Client
---@param given kubelua.ConnectOptions
---@return true?, string?, string?
function clients.reauthenticate_member(self, given)
    connect_options.check(given)
    local merged = connect_options.of_member(clients, given)
    if merged.sim or core.state(self, TYPE).sim then
        return nil, "a simulated cluster has no credentials", "conflict"
    end
    local ok, message, code = core.client_reauthenticate(self, merged)
    if ok and core.state(self, TYPE).options then
        core.state(self, TYPE).options = merged
    end
    return ok, message, code
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
    here.own(informer, informer.stop)
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
    return failures.note("client:request", fence.request(self, given, function(bounded)
        return send_request(self, bounded)
    end))
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
