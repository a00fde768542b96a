-- The writes of processes that compete for a Lease. The Leases and the objects of one server share
-- one order of versions, so each write is compared with the Lease as it was then.
local history = {}
history.__index = history

---Watches a Lease, and ConfigMaps whose data.holder names the process that wrote them.
---@param client kubelua.Client
---@param namespace string of the Lease and the ConfigMaps
---@param name string of the Lease
function history.new(client, namespace, name)
    local self = setmetatable({ writes = {}, leases = {}, holders = {} }, history)
    local function note(list, holder_of)
        local function see(object)
            list[#list + 1] = { version = tonumber(object.resource_version),
                holder = holder_of(object), object = object.name,
                renewed = object:get("spec.renewTime") }
        end
        return { add = see, update = function(_, object) see(object) end, coalesce = false }
    end
    self.informers = {
        assert(client:informer { "leases", namespace = namespace,
            fields = "metadata.name=" .. name }),
        assert(client:informer { "configmaps", namespace = namespace,
            labels = "written=by-leaders" }),
    }
    self.informers[1]:on(note(self.leases, function(lease)
        return lease.spec.holderIdentity or ""
    end))
    self.informers[2]:on(note(self.writes, function(map)
        return map.data and map.data.holder
    end))
    return self
end

---Ends the watches.
function history:stop()
    for _, informer in ipairs(self.informers) do
        informer:stop()
    end
end

---The last holder of the Lease; "" if there is none.
function history:holder()
    local last = self.leases[#self.leases]
    return last and last.holder
end

---True if the Lease was released at some time.
function history:was_released()
    for _, lease in ipairs(self.leases) do
        if lease.holder == "" then
            return true
        end
    end
    return false
end

local function last_but(list, wanted)
    for i = #list, 1, -1 do
        if wanted(list[i]) then
            return list[i]
        end
    end
end

---Returns the process that wrote last.
function history:writer()
    local last = last_but(self.writes, function(write) return write.holder end)
    return last and last.holder
end

---How many writes a process has made.
function history:count(holder)
    local count = 0
    for _, write in ipairs(self.writes) do
        count = count + (write.holder == holder and 1 or 0)
    end
    return count
end

---How many renewal times a process has written.
function history:count_renewals(holder)
    local count, last = 0, nil
    for _, lease in ipairs(self.leases) do
        count = count + (lease.holder == holder and lease.renewed ~= last and 1 or 0)
        last = lease.renewed
    end
    return count
end

---The writes that came after another process had taken the Lease. Writes before the first Lease
---that was seen are left out: their holder is not known.
---@return string[]
function history:late_writes()
    local late = {}
    for _, write in ipairs(self.writes) do
        local lease = last_but(self.leases, function(one) return one.version < write.version end)
        if write.holder and lease and lease.holder ~= write.holder then
            late[#late + 1] = string.format("%s wrote %s at %d, when the Lease (%d) was held by %s",
                write.holder, write.object, write.version, lease.version,
                lease.holder == "" and "nobody" or lease.holder)
        end
    end
    return late
end

---The text of a script that competes, and writes as often as it can.
---@param connect string options of kubelua.connect, as Lua code
---@param namespace string
---@param name string of the Lease
---@param identity string
---@param times string options of the election, as Lua code
function history.script(connect, namespace, name, identity, times)
    return string.format([[
local kubelua = require "kubelua"
local count = 0
kubelua.controller {
    "configmaps", labels = "written=by-leaders", namespace = %q, name = "writer",
    client = assert(kubelua.connect { %s }),
    leader = { namespace = %q, name = %q, identity = %q, %s },
    reconcile = function(map, run)
        count = count + 1
        assert(run:patch { data = { holder = %q, count = tostring(count) } })
        return 0.02
    end,
}
kubelua.run()
print("clean end")
]], namespace, connect, namespace, name, identity, times, identity)
end

---Creates the objects that the scripts write.
---@param client kubelua.Client
---@param namespace string
---@param count integer
function history.prepare(client, namespace, count)
    for i = 1, count do
        assert(client:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "written-" .. i, namespace = namespace,
                labels = { written = "by-leaders" } } })
    end
end

return history
