-- Finds the rule for a request, in the tables gateway.entries and gateway.hosts of the shared map.
-- No ngx here: gateway.lua hands in how tables are read and how a pattern is searched.
--   1. The entry: that of the address and port, else that of the port at any address.
--   2. The listener with the most specific name that fits the host takes the request; the others
--      are not asked (listener isolation of the Gateway API).
--   3. The routes' host with the most specific name; where none of its matches fits, the next.
--   4. rules.lua finds the match by path, method, headers and arguments.
local hostname = require "resty.kubelua.gateway.hostname"
local rules = require "resty.kubelua.gateway.rules"

local match = {}

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
---@field entry fun(key: string): table? a value of gateway.entries; the same table until it changes
---@field host fun(key: string): table? a value of gateway.hosts; the same
---@field clock (fun(): number)? seconds of CPU; default: os.clock
---@field regex fun(text: string, pattern: string): any, any true if the pattern is found; nil and
---why if the search was given up. In nginx it is ngx.re.find with "jo": lua_regex_match_limit
---bounds its steps, so a request to a host with a pattern that explodes costs one such search, and
---a 500

---@class resty.kubelua.gateway.Place where a host is served; shared, so do not change it
---@field host string the host of the request, normalised
---@field name string of the listener: a host, "*.example.com" or "*"
---@field listener table
---@field keys string[] of gateway.hosts, the most specific first, as far as they were needed
---@field prefix string of these keys
---@field widest string? the name of the last of `keys`

---@class resty.kubelua.gateway.Matcher
---@field places table<table, table<string, resty.kubelua.gateway.Place|false>> by entry; weak
---@field kept integer how many of them there are
---@field rules table<table, resty.kubelua.gateway.Rules> by value of gateway.hosts; weak
local Matcher = {}
Matcher.__index = Matcher

local WEAK = { __mode = "k" }

---@param options resty.kubelua.gateway.MatchOptions
---@return resty.kubelua.gateway.Matcher
function match.new(options)
    return setmetatable({ entry = options.entry, host = options.host, regex = options.regex,
        clock = options.clock, places = setmetatable({}, WEAK), kept = 0,
        rules = setmetatable({}, WEAK) }, Matcher)
end

local function find_entry(self, address, port)
    return self.entry(address .. ":" .. port) or self.entry("*:" .. port)
end

-- A table of its own: it must not lead to the entry, which is its key in a weak table.
local function make_place(entry, host)
    local name = host == "" and "*" or host ---@type string?
    while name and not entry.listeners[name] do
        name = hostname.widen(name)
    end
    return name and { host = host, name = name, listener = entry.listeners[name], keys = {},
        prefix = entry.id .. " " .. name .. " " }
end

local function keep_place(self, entry, header, place)
    if self.kept >= MOST_PLACES then
        self.places, self.kept = setmetatable({}, WEAK), 0
    end
    self.places[entry] = self.places[entry] or {}
    self.places[entry][header] = place
    self.kept = self.kept + 1
end

-- False: no listener takes the host. nil: not a host.
local function place_of(self, entry, header)
    header = header or ""
    local places = self.places[entry]
    local place = places and places[header]
    if place ~= nil then
        return place
    end
    local host = hostname.normalise(header)
    if not host then
        return nil
    end
    place = make_place(entry, host) or false
    if #header <= LONGEST_KEPT and select(2, host:gsub("%.", "")) <= MOST_DOTS then
        keep_place(self, entry, header, place)
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

-- The i-th key of gateway.hosts; nil: there are no more.
local function key_of(place, i)
    local key = place.keys[i]
    if key then
        return key
    end
    local name = place.host == "" and "*" or place.host
    if i > 1 then
        name = hostname.widen(place.widest)
    end
    if name then
        place.widest = name
        place.keys[i] = place.prefix .. name
    end
    return place.keys[i]
end

local function rules_of(self, value)
    local known = self.rules[value]
    if not known then
        known = rules.new(value)
        self.rules[value] = known
    end
    return known
end

-- The rule of the host with this key; nil, "regex": no other may take the request.
local function find_at(self, key, request)
    local value = key and self.host(key)
    if value then
        return rules_of(self, value):find(request, self.regex, self.clock)
    end
end

-- The rule of a less specific host.
local function find_wider(self, place, request)
    local i = 2
    local key = key_of(place, i)
    while key do
        local rule, found = find_at(self, key, request)
        if rule or found then
            return rule, found
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
---@return resty.kubelua.gateway.Match|string match or why there is none
---@return resty.kubelua.gateway.Place? place
function Matcher:find(request)
    local place, why = self:place(request.address, request.port, request.host)
    if not place then
        ---@cast why -nil
        return nil, why
    end
    -- The usual request ends here: in a loop, LuaJIT would make its trace begin at the loop.
    local rule, found = find_at(self, key_of(place, 1), request)
    if not rule and not found then
        rule, found = find_wider(self, place, request)
    end
    if rule or found then
        ---@cast found -nil
        return rule, found, place
    end
    return nil, "route", place
end

return match
