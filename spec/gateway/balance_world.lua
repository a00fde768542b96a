-- A service under simulated load, in plain Lua: requests come at random moments from a fixed seed,
-- take as long as their endpoint says, and are counted as the workers of nginx would count them.
local groups = require "resty.kubelua.gateway.balance.group"
local randoms = require "resty.kubelua.gateway.balance.random"

local world = {}

local World = {}
World.__index = World

local HALF, PRIME = 2 ^ 26, 67108859 -- products of two halves are exact

-- A hash below 2^53 of a text: its bytes are added between rounds of a Feistel cipher.
local function hash_text(text)
    local left, right = 7, 11
    for i = 1, #text + 4 do
        local mixed = (right * right + right * 48271 + (text:byte(i) or 0) * 65599 + i) % PRIME
        left, right = right, (left + mixed) % HALF
    end
    return left * HALF + right
end

local hashes = {} -- of names

local function score(name, part)
    local hash = hashes[name] or hash_text(name)
    hashes[name] = hash
    local left, right = hash % HALF, (part * 40503 + (hash - hash % HALF) / HALF) % HALF
    for _ = 1, 4 do
        left, right = right, (left + (right * right + right * 48271) % PRIME) % HALF
    end
    return left * HALF + right
end

-- Rendezvous hashing, as kl_hash_choose; winners are kept with their group.
local function find_winner(group, part)
    group.winners = group.winners or {}
    local best, best_score = group.winners[part], -1
    if best then
        return best
    end
    for i = 1, group.count do
        local one = score(group.names[i], part)
        if one > best_score then
            best, best_score = i, one
        end
    end
    group.winners[part] = best
    return best
end

local function make_load(self)
    local rows = self.rows
    return {
        in_flight = function(row) return rows[row].in_flight end,
        latency = function(row, now)
            local one = rows[row]
            return one.latency and one.latency * math.exp((one.measured - now) / 10000) or -1
        end,
        is_out = function(row, max_fails, out_ms, now)
            local one = rows[row]
            return one.fails >= max_fails and now - one.failed <= out_ms
        end,
        age = function(row, now) return rows[row].arrived and now - rows[row].arrived or -1 end,
        total = function(group)
            local sum = 0
            for i = 1, group.count do
                sum = sum + rows[group.rows[i]].in_flight
            end
            return sum
        end,
        hash = hash_text,
        winner = find_winner,
    }
end

---@param by string the balancer
---@param settings table?
---@param seed integer?
function world.new(by, settings, seed)
    local self = setmetatable({ now = 1000000, rows = {}, running = {}, endpoints = {},
        choose = require("resty.kubelua.gateway.balance." .. by), place = 0 }, World)
    self.random = randoms.new(seed or 1)
    self.ask = { load = make_load(self), settings = settings or {}, random = self.random,
        max_fails = settings and settings.max_fails or 1, out_ms = 10000,
        slow_ms = settings and (settings.slow_start or 0) * 1000 or 0 }
    return self
end

-- An endpoint of the service; what is not given is usual.
local function endpoint_of(number, given)
    local endpoint = { host = "10.0.0." .. number, port = 80, weight = 1, ready = true,
        serving = true, terminating = false, pod = "pod-" .. number }
    for name, value in pairs(given or {}) do
        endpoint[name] = value
    end
    return endpoint
end

-- The row of an endpoint; a new one begins at the mean of the others.
local function row_of(self, name, is_start)
    local row = self.rows[name]
    if not row then
        row = { in_flight = 0, fails = 0, failed = 0, answers = 0.05 }
        if not is_start then
            row.arrived = self.now
            local sum, count = 0, 0
            for _, other in pairs(self.rows) do
                if other.latency then
                    sum, count = sum + other.latency, count + 1
                end
            end
            row.latency, row.measured = count > 0 and sum / count or nil, self.now
        end
        self.rows[name] = row
    end
    return row
end

---Sets the endpoints to numbers 1 to `count`, or to a list of tables.
function World:set(endpoints)
    local list, is_start = {}, next(self.rows) == nil
    if type(endpoints) == "number" then
        for i = 1, endpoints do
            list[i] = endpoint_of(i)
        end
    else
        for i, given in ipairs(endpoints) do
            list[i] = endpoint_of(given.number or i, given)
        end
    end
    local group = groups.new(list, nil, nil, self.place)
    for i, name in ipairs(group.names) do
        row_of(self, name, is_start)
        group.rows[i] = name
    end
    self.ask.group = group
    return group
end

-- Ends what is over by now.
local function end_requests(self)
    local running, still = self.running, {}
    for _, request in ipairs(running) do
        if request.ends <= self.now then
            local row = request.row
            row.in_flight = row.in_flight - 1
            local seconds = (request.ends - request.begun) / 1000
            local old = self.ask.load.latency(request.name, self.now)
            local kept = math.exp(((row.measured or 0) - self.now) / 10000)
            row.latency = (not row.latency or seconds >= row.latency) and seconds
                or old + seconds * (1 - kept)
            row.measured = self.now
        else
            still[#still + 1] = request
        end
    end
    self.running = still
end

---Picks for one request, which begins.
---@return integer? index, string? cookie
function World:pick(vars, tried)
    local ask = self.ask
    ask.now, ask.vars, ask.tried = self.now, vars, tried
    local index, cookie = self.choose(ask)
    self.place = ask.group.place
    if index then
        local name = ask.group.names[index]
        local row = self.rows[name]
        row.in_flight = row.in_flight + 1
        -- an answer takes from half to one and a half of the usual time
        local ends = self.now + row.answers * 1000 * (0.5 + self.random())
        self.running[#self.running + 1] = { row = row, name = name, begun = self.now, ends = ends }
    end
    return index, cookie
end

---Sends so many requests, `pause` milliseconds apart on average.
---@return table<string, integer> counts by "host:port"
function World:send(count, pause, vars_of)
    local counts = {}
    for i = 1, count do
        self.now = self.now - math.log(1 - self.random()) * pause
        end_requests(self)
        local index = assert(self:pick(vars_of and vars_of(i)))
        local name = self.ask.group.names[index]
        counts[name] = (counts[name] or 0) + 1
    end
    return counts
end

return world
