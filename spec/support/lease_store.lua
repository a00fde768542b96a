-- What an API server keeps of a ring, for its model: Leases, and each change in order. And random
-- numbers, by which the model decides.
local deep_copy = require "deep_copy"

local lease_store = {}

-- Random numbers that are the same in each run: those of Lehmer's generator.
local Generator = {}
Generator.__index = Generator

function lease_store.random(seed)
    return setmetatable({ state = seed * 7919 + 17 }, Generator)
end

function Generator:unit()
    self.state = self.state * 48271 % 2147483647
    return self.state / 2147483647
end

function Generator:below(count)
    return math.floor(self:unit() * count)
end

function Generator:chance(share)
    return self:unit() < share
end

-- What an API server keeps: Leases by token, and each change in order.
local Store = {}
Store.__index = Store

function lease_store.new()
    return setmetatable({ version = 0, leases = {}, log = {}, registry = nil }, Store)
end

function Store:put(token, lease)
    self.version = self.version + 1
    lease = lease and deep_copy(lease)
    if lease then
        lease.metadata.resourceVersion = tostring(self.version)
    end
    self.leases[token] = lease
    self.log[#self.log + 1] = { token = token, lease = lease }
    return deep_copy(lease)
end

-- Carries out the order of an election, as a server does.
function Store:answer(token, order)
    local now = self.leases[token]
    if order.what == "read" then
        if not now then
            return nil, "there is none", "not_found"
        end
        return deep_copy(now)
    elseif order.what == "create" then
        if now then
            return nil, "it is there", "already_exists"
        end
    elseif not now then
        return nil, "there is none", "not_found"
    elseif now.metadata.resourceVersion ~= order.lease.metadata.resourceVersion then
        return nil, "it has changed", "conflict"
    end
    return self:put(token, order.lease)
end

return lease_store
