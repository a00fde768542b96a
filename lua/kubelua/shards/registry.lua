-- The ring's own Lease, which names all members that may be at work: so a member whose Lease was
-- deleted is not taken for one that has never been there. And the Leases of members that are gone,
-- which are deleted.
local leases = require "kubelua.shards.lease"
local requests = require "kubelua.requests"
local core = require "kubelua.core"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---@class kubelua.shards.Registry
---@field client kubelua.Client
---@field object kubelua.Object? as the cache has it; what it should say follows from that
---@field wanted string[]? what it should say
---@field remains kubelua.Object[] Leases to delete
---@field task kubelua.Task? that writes it
local Registry = {}
Registry.__index = Registry

local PATH = "/apis/coordination.k8s.io/v1/namespaces/%s/leases"
local PAUSE = 1 -- seconds after a failure

---@param options table
---@param teller kubelua.leader.Teller
---@return kubelua.shards.Registry
function Registry.new(options, teller)
    return setmetatable({ options = options, teller = teller, remains = {} }, Registry)
end

local function send(self, method, name, body)
    local path = PATH:format(self.options.namespace)
    local reply, message, code = requests.send(self.client, { method = method,
        path = name and path .. "/" .. name or path, body = body,
        timeout = self.options.renew / 2 }, self.teller.what)
    if reply and reply.status >= 400 then
        message, code = core.status_error(reply.status, reply.body)
    end
    return message, code
end

-- What the watch will show: there is nothing to say.
local COMES = { conflict = true, already_exists = true, not_found = true }

local function tell(self, what, message, code)
    if message and not COMES[code] then
        self.teller:say("registry", "warn", "%s: %s%s", what, message, leases.remedy(code,
            self.options.namespace))
    end
    if message then
        waiting.sleep(PAUSE)
    end
end

local function write(self, wanted)
    local body = leases.registry(self.object, self.options, wanted)
    tell(self, "the Lease of the ring was not written", send(self, self.object and "PUT" or "POST",
        self.object and self.options.name or nil, body))
end

-- Only if it has not been renewed meanwhile.
local function delete(self, object)
    local body = { preconditions = { uid = object.uid, resourceVersion = object.resource_version } }
    tell(self, "the Lease of a member that is gone was not deleted", send(self, "DELETE",
        object.name, body))
end

-- One request at a time, until the next look at the Leases asks for no more.
local function work(self)
    while self.wanted or #self.remains > 0 do
        local wanted, object = self.wanted, nil
        if not wanted then
            object = table.remove(self.remains)
        end
        local ok, problem = trace.call(wanted and write or delete, self, wanted or object)
        if not ok and problem == trace.CANCELED then
            return
        elseif not ok then
            self.teller:say("registry", "error", "%s", tostring(problem))
        end
        if self.wanted == wanted then
            self.wanted = nil
        end
    end
end

local function run(self)
    work(self)
    self.task = nil
end

---Does in the background what the ring asks for, and no more what it has asked for before.
---@param object kubelua.Object? the ring's own Lease, from which `wanted` follows: of another
---version, a member that has come meanwhile would be lost
---@param wanted string[]? the members that the ring's own Lease is to name; nil: it does so
---@param remains kubelua.Object[] Leases to delete
function Registry:update(object, wanted, remains)
    self.object, self.wanted, self.remains = object, wanted, remains
    if not self.task and (wanted or #remains > 0) then
        self.task = tasks.task(self.teller.what, run, self)
        tasks.leave_scope(self.task)
        tasks.leave_script(self.task)
    end
end

return Registry
