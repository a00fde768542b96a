-- A port of a Service, resolved once: picks of it follow what the cluster says. The usual pick, by
-- turns over a small list, comes from tables of this worker that hold as long as the version in
-- shared memory does; every other one is made by the core, in the map itself.
local ffi = require "ffi"
local library = require "resty.kubelua.library"
local map = require "resty.kubelua.map"
local options_of = require "kubelua.options"

local band = require("bit").band
local ffi_string = ffi.string

---@class resty.kubelua.PickOptions which endpoint; every key is optional
---@field hash? string|number a key that has one endpoint (consistent hash); without it: by turns
---@field exclude? string|string[] hosts, or "host:port", that were tried; 16 of them count
---@field zone? string prefer endpoints for this zone; default: that of kube.init
---@field node? string prefer endpoints for this node, then those for the zone; the same
local PICK_TYPES = { hash = "string|number", exclude = "string|table", zone = "string",
    node = "string" }

---@class resty.kubelua.Endpoint one address of a service
---@field host string an IP address, or a name where `dns` is true
---@field port integer
---@field ready boolean
---@field serving boolean
---@field terminating boolean
---@field dns boolean the host is a name that has to be resolved: of a Service of type ExternalName
---@field weight integer
---@field zone string? that it is for
---@field node string? that it is for

---@class resty.kubelua.Service
---@field name string "namespace/service:port"
---@field key ffi.cdata* kl_shared_key
---@field bucket integer
---@field version integer? of the entry when the fields below were read
---@field hosts string[] of the endpoints that take turns
---@field ports integer[]
---@field count integer how many there are; 0: the core picks
---@field turn number
---@field checks integer how many option tables are still to be looked at in full
local Service = {}
Service.__index = Service

local services = {}

local FEW = 64 -- endpoints; longer lists are not worth to be copied at each change
local CHECKS = 64 -- option tables of a service that are looked at in full
local EXCLUDES = 16 -- KL_SHARED_EXCLUDES
local OK, EXCLUDED, TOO_SMALL = 0, 4, 5 -- kl_shared_result
local READY, SERVING, TERMINATING, DNS = 1, 2, 4, 8

-- One thread runs a worker's Lua, and no pick is interrupted by another.
local few = ffi.new("kl_pick[?]", FEW)
local found = ffi.new("kl_pick")
local counted = ffi.new("uint32_t[1]")
local wanted = ffi.new("kl_pick_options")

---@param name string "namespace/service:port"
---@return resty.kubelua.Service? nil: no service can have that name
function services.new(name)
    local key = map.key("services", name)
    return key and setmetatable({ name = name, key = key, bucket = key.bucket, hosts = {},
        ports = {}, count = 0, turn = 0, checks = CHECKS }, Service)
end

-- Each worker begins elsewhere, also where it inherited this service from the master.
local function first_turn(name)
    local text = name .. ffi.C.getpid()
    return tonumber(library.kl_shared_hash(text, #text)) % 65536
end

-- The endpoints that take turns: those that are ready, all of one weight. Else the core picks.
local function read_turns(self)
    if library.kl_shared_endpoints(map.pointer, self.key, few, FEW, counted) ~= OK
        or counted[0] == 0 then
        return 0
    end
    local count = few[0].ready
    for i = 1, count do
        local endpoint = few[i - 1]
        if endpoint.weight ~= few[0].weight or endpoint.weight == 0 then
            return 0
        end
        self.hosts[i] = ffi_string(endpoint.host, endpoint.host_length)
        self.ports[i] = endpoint.port
    end
    return count
end

local function refresh(self, version)
    if not self.version then
        self.turn = first_turn(self.name)
    end
    self.version = version
    self.count = read_turns(self)
end

-- Calls f(endpoint, index) for each endpoint, of one state of the map; returns the result's name.
local function each_endpoint(self, f)
    local picks = few
    local result = library.kl_shared_endpoints(map.pointer, self.key, picks, FEW, counted)
    while result == TOO_SMALL do
        local capacity = counted[0] + FEW
        picks = ffi.new("kl_pick[?]", capacity)
        result = library.kl_shared_endpoints(map.pointer, self.key, picks, capacity, counted)
    end
    local name = ffi_string(library.kl_shared_result_name(result))
    if name ~= "ok" and name ~= "empty" then
        return name
    end
    for i = 0, counted[0] - 1 do
        f(picks[i], ffi_string(picks[i].host, picks[i].host_length))
    end
    return name
end

---"host:port", with an IPv6 address in brackets.
local function address_of(host, port)
    return (host:find(":", 1, true) and "[" .. host .. "]" or host) .. ":" .. port
end

-- Names what was tried as the core does. What is not in the service any more needs no exclusion.
local function exclude(self, tried)
    local names = {}
    for _, name in ipairs(type(tried) == "table" and tried or { tried }) do
        names[name] = true
    end
    local count = 0
    each_endpoint(self, function(endpoint, host)
        if count < EXCLUDES and (names[host] or names[address_of(host, endpoint.port)]) then
            wanted.exclude[count] = endpoint.identity
            count = count + 1
        end
    end)
    return count
end

local function hash_of(text)
    return library.kl_shared_hash(text, #text)
end

local function check(options)
    options_of.check("pick", options, PICK_TYPES)
end

-- What the core is asked for, in `wanted`.
local function read_options(self, options)
    if self.checks > 0 then
        self.checks = self.checks - 1
        check(options)
    end
    local hash, zone, node = options.hash, options.zone, options.node
    if hash == nil then
        wanted.hash = 0
    elseif type(hash) == "string" then
        wanted.hash = hash_of(hash)
    else
        check(options)
        wanted.hash = hash_of(tostring(hash))
    end
    zone, node = zone or map.zone, node or map.node
    wanted.zone = zone and hash_of(zone) or 0
    wanted.node = node and hash_of(node) or 0
    wanted.excluded = 0
    if options.exclude ~= nil then
        wanted.excluded = exclude(self, options.exclude)
    end
end

local NO_OPTIONS = {}

local function pick_in_map(self, options)
    read_options(self, options or NO_OPTIONS)
    local result = library.kl_shared_pick(map.pointer, self.key, wanted, found)
    if result == OK then
        return ffi_string(found.host, found.host_length), found.port, found.version
    elseif result == EXCLUDED then
        return nil, "empty"
    end
    return nil, ffi_string(library.kl_shared_result_name(result))
end

---One endpoint to send a request to: by turns, or by a hash. Waits for nothing.
---@param options resty.kubelua.PickOptions?
---@return string? host nil: there is none
---@return integer|"unknown"|"empty"|"not_synced" port or why there is none
---@return integer? version differs after each change of the service
function Service:pick(options)
    local version = map.versions[self.bucket]
    if version ~= self.version then
        refresh(self, version)
    end
    local count = self.count
    if options or count == 0 or map.has_place then
        return pick_in_map(self, options)
    end
    local turn = self.turn + 1
    self.turn = turn
    local at = turn % count + 1
    return self.hosts[at], self.ports[at], version
end

local function has(flags, flag)
    return band(flags, flag) ~= 0
end

local function text_or_nil(text)
    local read = ffi_string(text)
    return read ~= "" and read or nil
end

---All endpoints: those that are ready, then others that serve, then the rest. A new table.
---@return resty.kubelua.Endpoint[]? endpoints nil: there is no such service
---@return string? why "unknown" or "not_synced"
function Service:endpoints()
    local list = {}
    local result = each_endpoint(self, function(endpoint, host)
        local flags = endpoint.flags
        list[#list + 1] = { host = host, port = endpoint.port, weight = endpoint.weight,
            ready = has(flags, READY), serving = has(flags, SERVING),
            terminating = has(flags, TERMINATING), dns = has(flags, DNS),
            zone = text_or_nil(endpoint.zone), node = text_or_nil(endpoint.node) }
    end)
    if result ~= "ok" and result ~= "empty" then
        return nil, result
    end
    return list
end

return services
