-- Which addresses a Gateway has. With a pool each Gateway gets one of its own and keeps it: what
-- its spec asks for, else what its status says, else the first that is free. Without a pool
-- Gateways share the addresses of the options. Pure.
local addresses = {}

---@class resty.kubelua.gateway.Assigned
---@field list string[] IP addresses for status.addresses
---@field own boolean the entries are "ADDRESS:PORT"; else "*:PORT"
---@field unsupported string? message: Accepted is False
---@field unusable string? message: Programmed is False, reason AddressNotUsable
---@field missing boolean? no address is free: AddressNotAssigned

local function set_of(list)
    local set = {}
    for _, item in ipairs(list or {}) do
        set[item] = true
    end
    return set
end

-- The addresses of a spec or status, which no CRD may have checked.
local function addresses_of(part)
    local list = {}
    local given = type(part) == "table" and part.addresses
    for _, address in ipairs(type(given) == "table" and given or {}) do
        if type(address) == "table" then
            list[#list + 1] = address
        end
    end
    return list
end

local function is_ip(address)
    return (address.type or "IPAddress") == "IPAddress"
end

-- What the spec asks for; an address without a value asks for any.
local function requested(state, gateway, assigned)
    local any = false
    for _, address in ipairs(addresses_of(gateway.spec)) do
        local value = address.value
        if not is_ip(address) then
            assigned.unsupported = ("addresses of the type %s are not supported"):format(
                tostring(address.type))
        elseif not value or value == "" then
            any = true
        elseif not state.usable[value] or state.taken[value] then
            assigned.unusable = ("the address %s %s"):format(tostring(value),
                state.taken[value] and "is in use" or "is not one of this gateway's")
        else
            assigned.list[#assigned.list + 1] = value
            assigned.own = true
            state.taken[value] = state.pooled or nil
        end
    end
    return any
end

local function keep_status(state, gateway, assigned)
    for _, address in ipairs(addresses_of(gateway.status)) do
        if is_ip(address) and address.value and state.usable[address.value]
            and not state.taken[address.value] then
            state.taken[address.value] = true
            assigned.list[1], assigned.own = address.value, true
            return
        end
    end
end

local function first_free(state, assigned)
    for _, value in ipairs(state.pool) do
        if not state.taken[value] then
            state.taken[value] = true
            assigned.list[1], assigned.own = value, true
            return
        end
    end
    assigned.missing = true
end

local function is_open(assigned)
    return #assigned.list == 0 and not assigned.unsupported and not assigned.unusable
end

---@param gateways table[] objects, the oldest first
---@param options { pool: string[]?, addresses: string[]? }
---@param before table<table, string>? address of each Gateway's key in the last run
---@param key_of fun(gateway: table): string
---@return table<string, resty.kubelua.gateway.Assigned> by key
function addresses.assign(gateways, options, before, key_of)
    local pool = options.pool
    local state = { pooled = pool ~= nil, pool = pool or {}, taken = {},
        usable = set_of(pool or options.addresses) }
    local result = {}
    for _, gateway in ipairs(gateways) do -- the spec comes first
        local assigned = { list = {}, own = false }
        result[key_of(gateway)] = assigned
        requested(state, gateway, assigned)
        if not pool and is_open(assigned) then
            assigned.list = options.addresses or {}
        end
    end
    for _, gateway in ipairs(pool and gateways or {}) do -- then what each has
        local key = key_of(gateway)
        local kept = before and before[key]
        if is_open(result[key]) and kept and not state.taken[kept] then
            state.taken[kept] = true
            result[key].list[1], result[key].own = kept, true
        elseif is_open(result[key]) then
            keep_status(state, gateway, result[key])
        end
    end
    for _, gateway in ipairs(pool and gateways or {}) do
        if is_open(result[key_of(gateway)]) then
            first_free(state, result[key_of(gateway)])
        end
    end
    return result
end

return addresses
