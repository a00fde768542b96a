-- Finds the rule for a request, in the tables gateway.entries and gateway.hosts of the shared map.
-- No ngx here: gateway.lua hands in how tables are read and how a pattern is searched.
--   1. The entry: that of the address and port, else that of the port at any address.
--   2. The listener with the most specific name that fits the host takes the request; the others
--      are not asked (listener isolation of the Gateway API).
--   3. The routes' host with the most specific name; where none of its matches fits, the next.
--   4. rules.lua finds the match by path, method, headers and arguments.
local cold = require "resty.kubelua.cold"
local hostname = require "resty.kubelua.gateway.hostname"
local rules = require "resty.kubelua.gateway.rules"

local match = {}

local find_rule = rules.find

-- What a worker remembers of hosts, which clients choose: 16 MB at most. A longer host, or one with
-- more keys, is looked at anew each time.
local MOST_PLACES = 8192
local LONGEST_KEPT = 100 -- characters of a Host header
local MOST_DOTS = 7

---@class resty.kubelua.gateway.Request
---@field address string the address that the client connected to
---@field port integer|string the Gateway's port
---@field scheme "http"|"https"
---@field method string
---@field host string? the Host header
---@field path string decoded and without "//" and dots, as nginx's $uri: what matches see
---@field raw_path string? as the client sent it, without the query
---@field query string? without "?"
---@field header fun(name: string): string|string[]|nil in any case of letters
---@field argument fun(name: string): string|true|(string|true)[]|nil of the query, decoded
---@field cookie (fun(name: string): string?)?

---@class resty.kubelua.gateway.MatchOptions
---@field entry fun(key: string): any? where a value of gateway.entries is read from; nil: no key
---@field host fun(key: string): any? the same of gateway.hosts
---@field read fun(from: any): table? the value there; the same table until it changes
---@field clock (fun(): number)? seconds of CPU; default: os.clock
---@field regex fun(text: string, pattern: string): any, any true if the pattern is found; nil and
---why if the search was given up. In nginx it is searching.find, which bounds the
---time: a request to a host with a pattern that explodes costs one such search, and a 500

---@class resty.kubelua.gateway.Place where a host is served; shared, so do not change it
---@field host string the host of the request, normalised
---@field name string of the listener: a host, "*.example.com" or "*"
---@field listener table
---@field from any where the rules of the most specific host are read from
---@field value table? what was there
---@field rules resty.kubelua.gateway.Rules? made of it
---@field keys string[] of the less specific hosts in gateway.hosts, as far as they were needed
---@field prefix string of these keys
---@field widest string the name of the last of `keys`

---@class resty.kubelua.gateway.Point an address and a port that requests come to
---@field exact any? where its own entry is read from
---@field any any? where that of the port at any address is read from

---@class resty.kubelua.gateway.Matcher
---@field points table<string, table<string|integer, resty.kubelua.gateway.Point>> by address, port
---@field addresses integer how many of them there are
---@field places table<table, table<string, resty.kubelua.gateway.Place|false>> by entry; weak
---@field kept integer how many of them there are
---@field rules table<table, resty.kubelua.gateway.Rules> by value of gateway.hosts; weak
local Matcher = {}
Matcher.__index = Matcher

local WEAK = { __mode = "k" }
local MOST_ADDRESSES = 256 -- that are remembered: clients choose, where nginx has a whole network

---@param options resty.kubelua.gateway.MatchOptions
---@return resty.kubelua.gateway.Matcher
function match.new(options)
    return setmetatable({ entry = options.entry, host = options.host, read = options.read,
        regex = options.regex, clock = options.clock, points = {}, addresses = 0,
        places = setmetatable({}, WEAK), kept = 0, rules = setmetatable({}, WEAK) }, Matcher)
end

local make_point = cold(function(self, address, port)
    local point = { exact = self.entry(address .. ":" .. port), any = self.entry("*:" .. port) }
    if not self.points[address] then
        if self.addresses >= MOST_ADDRESSES then
            self.points, self.addresses = {}, 0
        end
        self.points[address], self.addresses = {}, self.addresses + 1
    end
    self.points[address][port] = point
    return point
end)

local function find_entry(self, address, port)
    local ports = self.points[address]
    local point = ports and ports[port] or make_point(self, address, port)
    return point.exact and self.read(point.exact) or point.any and self.read(point.any)
end

-- A table of its own: it must not lead to the entry, which is its key in a weak table.
local function make_place(self, entry, host)
    local own = host == "" and "*" or host
    local name = own ---@type string?
    while name and not entry.listeners[name] do
        name = hostname.widen(name)
    end
    if not name then
        return false
    end
    local prefix = entry.id .. " " .. name .. " "
    return { host = host, name = name, listener = entry.listeners[name],
        from = self.host(prefix .. own), value = nil, rules = nil,
        keys = {}, prefix = prefix, widest = own }
end

local function keep_place(self, entry, header, place)
    if self.kept >= MOST_PLACES then
        self.places, self.kept = setmetatable({}, WEAK), 0
    end
    self.places[entry] = self.places[entry] or {}
    self.places[entry][header] = place
    self.kept = self.kept + 1
end

local find_place = cold(function(self, entry, header)
    local host = hostname.normalise(header)
    if not host then
        return nil
    end
    local place = make_place(self, entry, host)
    if #header <= LONGEST_KEPT and select(2, host:gsub("%.", "")) <= MOST_DOTS then
        keep_place(self, entry, header, place)
    end
    return place
end)

-- False: no listener takes the host. nil: not a host.
local function place_of(self, entry, header)
    header = header or ""
    local places = self.places[entry]
    local place = places and places[header]
    if place == nil then
        return find_place(self, entry, header)
    end
    return place
end

---Where a host is served: for a TLS handshake, and to see that a request's host is another one.
---@param address string
---@param port integer|string
---@param host string? a Host header, or the name in a handshake
---@return resty.kubelua.gateway.Place? place nil: see `why`
---@return "entry"|"host"|"listener"? why
function Matcher:place(address, port, host)
    local entry = find_entry(self, address, port)
    if not entry then
        return nil, "entry"
    end
    local place = place_of(self, entry, host)
    if not place then
        return nil, place == nil and "host" or "listener"
    end
    return place
end

-- The i-th key of less specific hosts; nil: there are no more.
local function key_of(place, i)
    local key = place.keys[i]
    if key then
        return key
    end
    local name = hostname.widen(place.widest)
    if name then
        place.widest = name
        place.keys[i] = place.prefix .. name
    end
    return place.keys[i]
end

local make_rules = cold(function(self, value)
    local made = rules.new(value)
    self.rules[value] = made
    return made
end)

local function rules_of(self, value)
    return self.rules[value] or make_rules(self, value)
end

local renew_place = cold(function(self, place, value)
    place.value, place.rules = value, rules_of(self, value)
end)

-- The rule of the most specific host; nil, "regex": no other may take the request.
local function find_first(self, place, request)
    local value = place.from and self.read(place.from)
    if not value then
        return nil
    elseif value ~= place.value then
        renew_place(self, place, value)
    end
    return find_rule(place.rules, request, self.regex, self.clock)
end

-- The rule of a less specific host.
local function find_wider(self, place, request)
    local i = 1
    local key = key_of(place, i)
    while key do
        local from = self.host(key)
        local value = from and self.read(from)
        if value then
            local rule, found, failed = find_rule(rules_of(self, value), request, self.regex,
                self.clock)
            if rule or found then
                return rule, found, failed
            end
        end
        i = i + 1
        key = key_of(place, i)
    end
end

---The rule for a request. What is not found: "host" (the header is no host: 400), else 404: "entry"
---(nothing on this port), "listener" (none takes the host), "route" (no match fits). "regex": the
---search of a pattern was given up, so no other rule may take the request: 500.
---@param request resty.kubelua.gateway.Request
---@return table? rule
---@return resty.kubelua.gateway.Candidate|string found or why there is none
---@return resty.kubelua.gateway.Place? place
---@return { rule: table, why: string }? failed of "regex": whose pattern
function Matcher:find(request)
    local place, why = self:place(request.address, request.port, request.host)
    if not place then
        ---@cast why -nil
        return nil, why
    end
    -- The usual request ends here: in a loop, LuaJIT would make its trace begin at the loop.
    local rule, found, failed = find_first(self, place, request)
    if not rule and not found then
        rule, found, failed = find_wider(self, place, request)
    end
    if rule or found then
        ---@cast found -nil
        return rule, found, place, failed
    end
    return nil, "route", place
end

return match
