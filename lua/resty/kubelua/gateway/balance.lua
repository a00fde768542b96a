-- The balancers of the gateway: which endpoint of a Service gets a request. What the workers know
-- together of the endpoints is in shared memory (balance/load.lua); the algorithms are in balance/,
-- and need no nginx.
local ffi = require "ffi"
local cookies = require "resty.kubelua.gateway.balance.cookie"
local defaults = require "resty.kubelua.gateway.balance.defaults"
local groups = require "resty.kubelua.gateway.balance.group"
local library = require "resty.kubelua.library"
local load = require "resty.kubelua.gateway.balance.load"
local log = require "kubelua.log"
local randoms = require "resty.kubelua.gateway.balance.random"
local retries = require "resty.kubelua.gateway.balance.retries"

local balance = {}

local BY = {}
for _, name in ipairs { "round_robin", "hash", "sticky", "least_conn", "ewma" } do
    BY[name] = require("resty.kubelua.gateway.balance." .. name)
end

local SWEEP = 1 -- seconds between two looks for workers that died
local TOUCH_MS = 10000 -- rows of endpoints in use are looked for so often: KL_LOADS_STALE_MS
local SLOW_START = defaults.slow_start
local MAX_FAILS, FAIL_TIMEOUT = defaults.max_fails, defaults.fail_timeout
local NO_SETTINGS, NO_FACTS = {}, {}
local BRACKET = 91 -- "["

-- The group of each service that was picked. A weak table.
local of_service = setmetatable({}, { __mode = "k" })

---@type resty.kubelua.gateway.Ask
local ask = { group = nil, load = load, settings = NO_SETTINGS, random = nil, now = 0,
    max_fails = MAX_FAILS, out_ms = FAIL_TIMEOUT * 1000, slow_ms = 0, tried = nil, vars = nil }

---@class resty.kubelua.gateway.BalanceOptions every key is optional
---@field endpoints? integer that are known at once; default: 8,192
---@field workers? integer of nginx; default: 10

---Makes the memory that the workers share. Call it in init_by_lua; a reload finds it again.
---@param options resty.kubelua.gateway.BalanceOptions?
---@return boolean?, string? message
function balance.init(options)
    return load.open(options or NO_SETTINGS)
end

local lacks_column = false -- said once, and until there is one

-- Takes a column in the shared memory. After reloads, workers that linger may have them all: then
-- this one gets the first that is free.
local function take_column()
    local has_column = load.join()
    if not has_column and not lacks_column then
        log("warn", "resty.kubelua.gateway: more workers than balance.init was told of: requests "
            .. "of this worker do not count for least_conn, ewma and hash until another one ends")
    end
    lacks_column = not has_column
end

local function sweep_workers(premature)
    if not premature then
        load.sweep()
        take_column()
    end
end

-- Takes a column, and a stream of random numbers.
local function join()
    take_column()
    ask.random = randoms.new(ffi.C.getpid() * 7919 + load.now())
end

---Joins this worker. Call it in init_worker_by_lua; the first pick does it, too.
function balance.init_worker()
    if not load.is_open() then
        log("warn", "resty.kubelua.gateway: call balance.init in init_by_lua: without it, workers "
            .. "do not know of each other's requests")
    end
    join()
    local ok, message = ngx.timer.every(SWEEP, sweep_workers)
    if not ok then
        log("warn", "resty.kubelua.gateway: nginx gave no timer (%s): requests of workers that are "
            .. "killed count until a worker starts", tostring(message))
    end
end

-- kl_pick.identity: the hash of the address without brackets, and the port.
local function identity_of(endpoint)
    local host = endpoint.host
    local name = (host:byte() == BRACKET and host:sub(2, -2) or host) .. ":" .. endpoint.port
    return library.kl_shared_hash(name, #name)
end

-- The mean of the averages of endpoints that have one.
local function mean_latency(group, now)
    local sum, count = 0, 0
    for i = 1, #group.rows do
        local latency = load.latency(group.rows[i], now)
        if latency >= 0 then
            sum, count = sum + latency, count + 1
        end
    end
    return count > 0 and sum / count or nil
end

-- Finds the rows of all endpoints. If some had one, the others are new: they start slowly, and at
-- the mean of those that are there. (Where none had one, the service was not in use.)
local function find_rows(group, now)
    local fresh, is_known = {}, false
    for i, endpoint in ipairs(group.list) do
        local was_known
        group.rows[i], was_known = load.find(group.identities[i], endpoint.pod, now)
        if was_known then
            is_known = true
        else
            fresh[#fresh + 1] = group.rows[i]
        end
    end
    if is_known and #fresh > 0 then
        local mean = mean_latency(group, now)
        for _, row in ipairs(fresh) do
            load.welcome(row, mean, now)
        end
        group.mean = mean or group.mean
    end
    group.touch_at = now + TOUCH_MS
end

local function make_group(service, before, now)
    local version = service.map.versions[service.bucket]
    local group = groups.new(service:endpoints() or {}, service.map.zone, service.map.node,
        before and before.place or load.hash(service.name .. ffi.C.getpid()) % 65536)
    group.version, group.identities = version, {}
    for i, endpoint in ipairs(group.list) do
        group.identities[i] = identity_of(endpoint)
    end
    group.mean = before and before.mean
    group.before = before and (before.shared and before or before.before)
    find_rows(group, now)
    of_service[service] = group
    return group
end

local function group_of(service, now)
    if not ask.random then
        join()
    end
    local group = of_service[service]
    if not group or group.version ~= service.map.versions[service.bucket] then
        group = make_group(service, group, now)
    elseif now >= group.touch_at then
        local rows = group.rows
        group.rows = {}
        find_rows(group, now)
        -- another endpoint may have got a row meanwhile: what hashing knows of rows is made anew
        for i = 1, #rows do
            if rows[i] ~= group.rows[i] then
                return make_group(service, group, now)
            end
        end
    end
    return group
end

-- Fills in what the balancers are asked for.
local function fill_ask(group, settings, facts, tried, now)
    local by = settings.by or "round_robin"
    local max_fails = settings.max_fails or MAX_FAILS
    ask.group, ask.settings, ask.tried, ask.vars = group, settings, tried, facts.vars
    ask.now = now
    -- as in nginx: a single endpoint is never out
    ask.max_fails = #group.list > 1 and max_fails or 0
    ask.out_ms = (settings.fail_timeout or FAIL_TIMEOUT) * 1000
    ask.slow_ms = (settings.slow_start or SLOW_START[by] or 0) * 1000
    return BY[by]
end

---Picks an endpoint, and counts a request that begins there. Never waits.
---@param service resty.kubelua.Service
---@param settings resty.kubelua.gateway.BalanceSettings?
---@param facts { vars: table<string, string> }? the variables of the request: for hash and sticky
---@param tried string[]? "host:port" of the endpoints that the request has tried
---@return string? host nil: there is none
---@return integer|string port or the reason why there is none
---@return integer? token for balance.done, once
---@return string? cookie the value of the session's cookie, if the answer should set it
---@return true? is_name the host is a name, which is to be resolved
function balance.pick(service, settings, facts, tried)
    local now = load.now()
    local group = group_of(service, now)
    if group.count == 0 then
        local _, why = service:endpoints() -- asked anew: "not_synced" ends without a change
        return nil, why or "empty"
    end
    local choose = fill_ask(group, settings or NO_SETTINGS, facts or NO_FACTS, tried, now)
    local index, cookie = choose(ask)
    if not index then
        return nil, "empty"
    end
    local token = load.begin(group.rows[index], ask.out_ms, now)
    return group.hosts[index], group.ports[index], token, cookie, group.list[index].dns or nil
end

---True if the cookie of a request names a pod of this service.
---@param service resty.kubelua.Service
---@param settings resty.kubelua.gateway.BalanceSettings?
---@param facts { vars: table<string, string> }
---@return boolean
function balance.has_session(service, settings, facts)
    if not settings or settings.by ~= "sticky" then
        return false
    end
    local group = group_of(service, load.now())
    if not group.ids then
        groups.add_ids(group, load.hash)
    end
    local value = facts.vars["cookie_" .. (settings.cookie and settings.cookie.name or "kubelua")]
    return value ~= nil and group.by_id[value] ~= nil
end

---Ends a request that a pick began.
---@param token integer what the pick gave
---@param outcome "ok"|"failed"|"cancelled" cancelled: the client went away, so it counts as neither
---@param seconds number? until the answer began
function balance.done(token, outcome, seconds)
    load.finish(token, outcome, seconds)
end

---The Set-Cookie header for the value that a pick gave.
---@param settings resty.kubelua.gateway.BalanceSettings
---@param value string
---@param is_https boolean?
---@return string
function balance.set_cookie(settings, value, is_https)
    return cookies.text(settings.cookie, value, is_https)
end

---True if a request may be tried at another endpoint.
---@param settings resty.kubelua.gateway.BalanceSettings?
---@param attempt resty.kubelua.gateway.Attempt
---@return boolean
function balance.retry(settings, attempt)
    return retries.allows(settings and settings.retry, attempt)
end

---True if a service has got no request for so long.
---@param service resty.kubelua.Service
---@param seconds number
---@return boolean
function balance.is_unused(service, seconds)
    local group = of_service[service]
    return group == nil or load.now() > group.touch_at + seconds * 1000
end

---@class resty.kubelua.gateway.EndpointLoad
---@field host string
---@field port integer
---@field pod string?
---@field in_flight integer requests of all workers
---@field latency number? seconds, a moving average; nil: there was no answer
---@field fails integer that count now
---@field out boolean it gets no requests now
---@field age number? seconds since it came; nil: it was there before

---What is known of the endpoints of a service.
---@param service resty.kubelua.Service
---@param settings resty.kubelua.gateway.BalanceSettings?
---@return resty.kubelua.gateway.EndpointLoad[]
function balance.status(service, settings)
    local now = load.now()
    local group = group_of(service, now)
    fill_ask(group, settings or NO_SETTINGS, NO_FACTS, nil, now)
    local list = {}
    for i, endpoint in ipairs(group.list) do
        local row = group.rows[i]
        local latency, age = load.latency(row, now), load.age(row, now)
        list[i] = { host = endpoint.host, port = endpoint.port, pod = endpoint.pod,
            in_flight = load.in_flight(row), latency = latency >= 0 and latency or nil,
            fails = load.fails(row), age = age >= 0 and age / 1000 or nil,
            out = load.is_out(row, ask.max_fails, ask.out_ms, now) }
    end
    return list
end

return balance
