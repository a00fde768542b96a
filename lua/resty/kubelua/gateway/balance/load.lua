-- What the workers know together of endpoints, in shared memory (kubelua/shared_load.h): the `load`
-- of the balancers. One area in a process; services of all clusters are in it.
local ffi = require "ffi"
local library = require "resty.kubelua.library"

local load = {}

local NONE = 4294967295 -- KL_LOADS_NONE
local PARTS = 65536 -- KL_HASH_PARTS
local COLUMNS = 32 -- at least, so that a reload with some more workers goes on with its counts
local UNCOUNTED = 4294967296 -- added to the row of a request that was begun without a column
local TOTAL_MS = 0.01 -- how long the sum over all endpoints holds, for each of them

local area -- kl_loads *
local column = NONE
local found = ffi.new("kl_load_row")
local problem = ffi.new("kl_error")
local told = ffi.new("kl_loads_status")

-- The group that hashes over an endpoint: its sum is that of shared memory, which is read now and
-- then, and what this worker has begun and ended since.
local hashed = setmetatable({}, { __mode = "v" })

---Makes the area, or finds that of this process: before nginx forks its workers.
---@param options { endpoints: integer?, workers: integer? }
---@return boolean?, string? message
function load.open(options)
    local wanted = ffi.new("kl_loads_options")
    wanted.endpoints = options.endpoints or 0
    -- workers before and after a reload, and the next ones if those linger
    wanted.processes = math.max(COLUMNS, 3 * (options.workers or 0) + 2)
    local opened = library.kl_loads_open(wanted, problem)
    if opened == nil then
        return nil, ffi.string(problem.message)
    end
    area = opened
    return true
end

---Takes a column for this worker, unless it has one. False: none was free, and its requests are not
---counted.
---@return boolean
function load.join()
    if not area then
        assert(load.open {})
    end
    if column == NONE then
        column = library.kl_loads_join(area)
    end
    return column ~= NONE
end

function load.is_open()
    return area ~= nil
end

---Takes back what workers that died have counted.
---@return integer workers
function load.sweep()
    return library.kl_loads_sweep(area)
end

---@return number milliseconds
function load.now()
    return tonumber(library.kl_loads_now())
end

---Finds the row of an endpoint, or makes it.
---@param identity ffi.cdata* kl_pick.identity
---@param pod string?
---@param now number
---@return integer row, boolean is_known
function load.find(identity, pod, now)
    local of_pod = pod and library.kl_shared_hash(pod, #pod) or 0
    library.kl_loads_find(area, identity, of_pod, now, found)
    return found.row, found.is_known == 1
end

local seen = ffi.new("kl_load_state")

---What is known of an endpoint; nil: nothing. It makes no row.
---@param identity ffi.cdata*
---@param pod string?
---@return { in_flight: integer, fails: integer, failed: number?, age: number?, latency: number? }?
function load.look(identity, pod)
    local of_pod = pod and library.kl_shared_hash(pod, #pod) or 0
    if area and library.kl_loads_look(area, identity, of_pod, library.kl_loads_now(), seen) then
        local failed, age = tonumber(seen.failed_ms), tonumber(seen.age_ms)
        return { in_flight = seen.in_flight, fails = seen.fails,
            failed = failed >= 0 and failed / 1000 or nil, age = age >= 0 and age / 1000 or nil,
            latency = seen.latency >= 0 and seen.latency or nil }
    end
    return nil
end

function load.in_flight(row)
    return library.kl_loads_in_flight(area, row)
end

function load.latency(row, now)
    return library.kl_loads_latency(area, row, now)
end

function load.is_out(row, max_fails, out_ms, now)
    return library.kl_loads_is_out(area, row, max_fails, out_ms, now)
end

function load.age(row, now)
    return tonumber(library.kl_loads_age(area, row, now))
end

function load.fails(row)
    return library.kl_loads_fails(area, row)
end

---Says that an endpoint came now, and that its answers take as long as those of others.
---@param row integer
---@param latency number? seconds
---@param now number
function load.welcome(row, latency, now)
    library.kl_loads_arrive(area, row, now)
    if latency then
        library.kl_loads_seed(area, row, latency, now)
    end
end

---@param row integer
---@param out_ms number
---@param now number
---@return integer token for finish
function load.begin(row, out_ms, now)
    library.kl_loads_begin(area, row, column)
    library.kl_loads_try(area, row, out_ms, now)
    local group = hashed[row]
    if group then
        group.total = group.total + 1
    end
    return column == NONE and row + UNCOUNTED or row
end

-- Returns the row of the token.
local function finish(token)
    local row = token
    if token >= UNCOUNTED then
        row = token - UNCOUNTED
    else
        library.kl_loads_end(area, row, column)
    end
    local group = hashed[row]
    if group and group.total > 0 then
        group.total = group.total - 1
    end
    return row
end

---@param token integer
---@param outcome "ok"|"failed"|"cancelled"
---@param seconds number? until the answer began
function load.finish(token, outcome, seconds)
    local row = finish(token)
    if outcome == "ok" then
        library.kl_loads_succeed(area, row)
        if seconds then
            library.kl_loads_observe(area, row, seconds, library.kl_loads_now())
        end
    elseif outcome == "failed" then
        local now = library.kl_loads_now()
        library.kl_loads_fail(area, row, now)
        -- a quick failure is no quick answer
        if seconds and seconds > library.kl_loads_latency(area, row, now) then
            library.kl_loads_observe(area, row, seconds, now)
        end
    end
end

function load.hash(text)
    return tonumber(library.kl_shared_hash(text, #text))
end

-- What hashing needs of a group in C: rows, identities, weights, and the winners of the parts.
local function prepare(group)
    local total = #group.list
    local shared = { rows = ffi.new("uint32_t[?]", total), weights = nil,
        identities = ffi.new("uint64_t[?]", total), winners = ffi.new("uint16_t[?]", PARTS) }
    if group.weights then
        shared.weights = ffi.new("uint16_t[?]", total)
    end
    for i = 1, total do
        shared.rows[i - 1] = group.rows[i]
        shared.identities[i - 1] = group.identities[i]
        if group.weights and i <= group.count then
            shared.weights[i - 1] = group.weights[i]
        end
        hashed[group.rows[i]] = group
    end
    local endpoints = ffi.new("kl_hash_endpoints")
    endpoints.identities, endpoints.count = shared.identities, group.count
    endpoints.weights = shared.weights
    shared.endpoints = endpoints
    group.total, group.total_until = 0, 0
    return shared
end

local function find_moved(before, group)
    local places, moved = {}, ffi.new("uint16_t[?]", before.count + 1)
    local added, count = ffi.new("uint32_t[?]", group.count + 1), 0
    for i = 1, before.count do
        places[before.names[i]] = i
    end
    for i = 1, group.count do
        local was = places[group.names[i]]
        if was and (before.weights and before.weights[was] or 1)
            == (group.weights and group.weights[i] or 1) then
            moved[was - 1] = i
        else
            added[count], count = i - 1, count + 1
        end
    end
    return moved, added, count
end

-- Takes over the winners of the group before, which hashed, too.
local function follow(group)
    local before = group.before
    local shared = prepare(group)
    if before and before.shared and (before.weights ~= nil) == (group.weights ~= nil) then
        shared.winners = before.shared.winners
        local moved, added, count = find_moved(before, group)
        library.kl_hash_change(shared.winners, moved, shared.endpoints, added, count)
    end
    group.before = nil
    group.shared = shared
    return shared
end

---@param group table
---@param part integer
---@return integer index
function load.winner(group, part)
    local shared = group.shared or follow(group)
    local index = shared.winners[part]
    if index == 0 then
        index = library.kl_hash_choose(shared.endpoints, part) + 1
        shared.winners[part] = index
    end
    return index
end

---@param group table
---@param now number
---@return number
function load.total(group, now)
    local shared = group.shared or follow(group)
    if now >= group.total_until then
        group.total = tonumber(library.kl_loads_total(area, shared.rows, group.count))
        group.total_until = now + group.count * TOTAL_MS
    end
    return group.total
end

---The state of the area: the fields of kl_loads_status. Valid until the next call.
---@return table
function load.status()
    library.kl_loads_get_status(area, told)
    return told --[[@as table]]
end

return load
