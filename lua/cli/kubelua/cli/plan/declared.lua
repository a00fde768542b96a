-- For kubelua plan: finds rights that a script needs even if the rehearsal has sent no request for
-- them. The script has declared them: by its informers (list, watch), its controllers, their
-- finalizers and Leases, and by calls that send a request only if there are objects.
local asked = require "kubelua.cli.plan.asked"
local cache_of = require "kubelua.controller.cache_of"
local controllers = require "kubelua.controller"
local core = require "kubelua.core"
local deleting = require "kubelua.verbs.deleting"
local idle = require "kubelua.controller.idle"
local fleets = require "kubelua.fleet.progress"
local informer_parts = require "kubelua.informer.parts"
local leader = require "kubelua.leader"
local scopes = require "kubelua.scope"
local verbs = require "kubelua.verbs"
local write = require "kubelua.controller.write"

local declared = {}

local function is_of(self, client)
    return core.state(client, "kubelua.client").sim == self.cluster
end

local function note_unsent(self, request)
    request.line = scopes.script_line():match("^(.*): $")
    table.insert(self.unsent, request)
end

-- Notes that an object may be adopted: the patch is sent only if it exists.
local function note_adoption(self, run, object)
    local metadata = type(object) == "table" and object.metadata
    if type(metadata) == "table" then
        note_unsent(self, { verb = "patch", name = metadata.name, is_run = true,
            resource = tostring(object.apiVersion) .. "/" .. tostring(object.kind),
            namespace = metadata.namespace or run.object and run.object.namespace })
    end
end

---Notes calls that send a request only if there are objects for it. The result undoes it.
---@param self kubelua.Rehearsal
---@return fun()
function declared.watch_calls(self)
    local delete_all, create = deleting.delete_all, write.create
    function deleting.delete_all(port, resource, given)
        if type(given) == "table" and given.namespace == "*" and is_of(self, port.client) then
            note_unsent(self, { verb = "deletecollection", resource = resource })
        end
        return delete_all(port, resource, given)
    end
    function write.create(run, object, given)
        if type(given) == "table" and given.adopt and is_of(self, run.state.client) then
            note_adoption(self, run, object)
        end
        return create(run, object, given)
    end
    return function()
        deleting.delete_all, write.create = delete_all, create
    end
end

---Returns why an informer or controller has not begun to work: its rights are unknown then. nil:
---all have begun.
---@param self kubelua.Rehearsal
---@return string?
function declared.find_unbegun(self)
    for _, state in ipairs(self.states) do
        if not state.is_listed and not state.is_stopped then
            return state.where .. (idle.left(state) or state.what .. " has not begun")
        end
    end
    for _, each in ipairs(self.informers) do
        local status = each.informer:status()
        if status.state ~= "stopped" and not status.has_synced then
            return (each.line and each.line .. ": " or "") .. tostring(each.informer) .. ": "
                .. (status.error or "it has no first list")
        end
    end
end

---Lists the controllers of the script in its cluster.
---@param self kubelua.Rehearsal
function declared.list_states(self)
    self.states = {}
    for state in pairs(controllers.started) do
        if is_of(self, state.client) then
            table.insert(self.states, state)
        end
    end
    table.sort(self.states, function(a, b) return a.where .. a.name < b.where .. b.name end)
end

---Notes which keys of the controllers fail, each once.
---@param self kubelua.Rehearsal
function declared.note_failures(self)
    for _, state in ipairs(self.states) do
        for key, failing in pairs(state.failing) do
            local id = state.where .. state.what .. ": " .. key
            if not self.failed_keys[id] then
                self.failed_keys[id] = true
                table.insert(self.failures, state.what .. ": " .. key .. ": " .. failing.message)
            end
        end
    end
    table.sort(self.failures)
end

-- Notes the rings of fleets.
local function note_rings(self)
    for _, ring in ipairs(fleets.rings()) do
        table.insert(self.leases, { name = ring.options.name, is_ring = true,
            namespace = ring.options.namespace or ring.home.client:namespace() })
    end
end

---Notes the Leases and finalizers of the controllers, and the lines that have made their informers.
---@param self kubelua.Rehearsal
function declared.note_controllers(self)
    local lines = {}
    note_rings(self)
    for _, state in ipairs(self.states) do
        local where = state.where:match("^(.*): $")
        for _, source in ipairs(state.in_order) do
            lines[source.informer or 0] = where
        end
        lines[state.unselected or 0] = where
        local shares, lease = state.options.shards, state.options.leader
        if state.life then -- its Lease and its kind are in another cluster
            if not state.life.ring then
                table.insert(self.unled, state.options.name)
            end
        elseif shares or lease then
            local options = shares or leader.options(lease)
            table.insert(self.leases, { name = options.name, is_ring = shares and true or nil,
                namespace = options.namespace or state.client:namespace() })
        else
            table.insert(self.unled, state.options.name)
        end
        local kind = state.main and cache_of.kind_of(state.main)
        if state.options.finalizer and kind and not state.life then
            table.insert(self.finalizers, { kind = kind,
                namespaces = asked.namespaces(kind, informer_parts.request(state.main.informer)) })
        end
    end
    for _, each in ipairs(self.informers) do
        each.line = each.line or lines[each.informer]
    end
end

---Asks the cluster for the kinds of informers, unsent requests, objects and owners, and notes the
---requests of informers and the unsent ones.
---@param self kubelua.Rehearsal
function declared.note_kinds(self)
    local client = assert(self.cluster:connect())
    for _, each in ipairs(self.informers) do
        local request = informer_parts.request(each.informer)
        local kind = each.sim == self.cluster and verbs.kind(client, request.resource)
        if kind then
            self.asked:note_informer(kind, request, each.line)
        end
    end
    for _, request in ipairs(self.unsent) do
        local kind = verbs.kind(client, request.resource)
        if kind then
            self.asked:note_unsent(kind, request)
        end
    end
    for _, object in ipairs(self.objects) do
        self.kinds[object.kind] = self.kinds[object.kind] or verbs.kind(client, object.kind)
    end
    for _, entry in ipairs(self.asked:list()) do
        for owner in pairs(entry.owners) do
            self.kinds[owner] = self.kinds[owner] or verbs.kind(client, owner)
        end
    end
    client:close()
end

return declared
