-- kube.service: one port of a Service. Usual picks (round robin over a short list) read tables of
-- this worker; they are valid while the version in shared memory is the same. The core makes all
-- other picks, in the shared map.
local ffi = require "ffi"
local library = require "resty.kubelua.library"
local options_of = require "kubelua.options"

local band = require("bit").band
local ffi_string = ffi.string

---@class resty.kubelua.PickOptions which endpoint to pick; every key is optional
---@field hash? string|number equal keys get the same endpoint (consistent hash); else round robin
---@field exclude? string|string[] hosts, or "host:port", that have failed; at most 16 count
---@field zone? string prefer endpoints for this zone; default: that of kube.init
---@field node? string prefer endpoints for this node, then for the zone; default: that of kube.init
local PICK_TYPES = { hash = "string|number", exclude = "string|table", zone = "string",
    node = "string" }

---@class resty.kubelua.Endpoint one address of a service
---@field host string an IP address (IPv6 in brackets), or a host name if `dns` is true
---@field port integer
---@field ready boolean
---@field serving boolean
---@field terminating boolean
---@field dns boolean the host is a name to resolve: the Service has the type ExternalName
---@field weight integer
---@field zone string? the zone that it is for; several with commas between them
---@field node string? the node that it is for

---@class resty.kubelua.Service
---@field name string "namespace/service:port"
---@field map resty.kubelua.Map
---@field key ffi.cdata* kl_shared_key
---@field bucket integer
---@field version integer? the version of the entry from which the fields below were read
---@field hosts string[] of the endpoints in the round robin
---@field ports integer[]
---@field count integer how many of them there are; 0: the core picks
---@field turn number
---@field checks integer how many more option tables are checked
local Service = {}
Service.__index = Service

local services = {}

local FEW = 64 -- endpoints; copying a longer list at each change does not pay
local CHECKS = 64 -- how many option tables of a service are checked
local EXCLUDES = 16 -- KL_SHARED_EXCLUDES
local OK, EXCLUDED, TOO_SMALL = 0, 4, 5 -- kl_shared_result
local READY, SERVING, TERMINATING, DNS = 1, 2, 4, 8

-- Shared by all picks: a worker's Lua runs on one thread, and a pick never waits.
local few = ffi.new("kl_pick[?]", FEW)
local found = ffi.new("kl_pick")
local counted = ffi.new("uint32_t[1]")
local wanted = ffi.new("kl_pick_options")

---@param map resty.kubelua.Map
---@param name string "namespace/service:port"
---@return resty.kubelua.Service? nil: no service can have that name
function services.new(map, name)
    local key = map:key("services", name)
    return key and setmetatable({ name = name, map = map, key = key, bucket = key.bucket,
        hosts = {}, ports = {}, count = 0, turn = 0, checks = CHECKS }, Service)
end

-- The first place in the round robin: it differs between workers, even if they inherited this
-- service from the master.
local function first_turn(name)
    local text = name .. ffi.C.getpid()
    return tonumber(library.kl_shared_hash(text, #text)) % 65536
end

-- The host of an endpoint. An IPv6 address is in brackets: nginx takes it only so.
local function host_of(endpoint)
    local host = ffi_string(endpoint.host, endpoint.host_length)
    return host:find(":", 1, true) and "[" .. host .. "]" or host
end

-- Reads the endpoints of the round robin: the ready ones, if all have the same weight and none is a
-- name. 0: the core must pick.
local function read_turns(self)
    if library.kl_shared_endpoints(self.map.pointer, self.key, few, FEW, counted) ~= OK
        or counted[0] == 0 then
        return 0
    end
    local count = few[0].ready
    for i = 1, count do
        local endpoint = few[i - 1]
        if endpoint.weight ~= few[0].weight or endpoint.weight == 0
            or band(endpoint.flags, DNS) ~= 0 then
            return 0
        end
        self.hosts[i] = host_of(endpoint)
        self.ports[i] = endpoint.port
    end
    return count
end

local function refresh_turns(self, version)
    if not self.version then
        self.turn = first_turn(self.name)
    end
    self.version = version
    self.count = read_turns(self)
end

-- Calls f(endpoint, host) for each endpoint in one state of the map; returns the name of the
-- result.
local function each_endpoint(self, f)
    local picks = few
    local result = library.kl_shared_endpoints(self.map.pointer, self.key, picks, FEW, counted)
    while result == TOO_SMALL do
        local capacity = counted[0] + FEW
        picks = ffi.new("kl_pick[?]", capacity)
        result = library.kl_shared_endpoints(self.map.pointer, self.key, picks, capacity, counted)
    end
    local name = ffi_string(library.kl_shared_result_name(result))
    if name ~= "ok" and name ~= "empty" then
        return name
    end
    for i = 0, counted[0] - 1 do
        f(picks[i], host_of(picks[i]))
    end
    return name
end

-- Turns excluded hosts into the identities that the core knows. A host that is not in the service
-- any more needs no exclusion.
local function add_excluded(self, tried)
    local names = {}
    for _, name in ipairs(type(tried) == "table" and tried or { tried }) do
        names[name] = true
    end
    local count = 0
    each_endpoint(self, function(endpoint, host)
        if count < EXCLUDES and (names[host] or names[host .. ":" .. endpoint.port]
            or names[ffi_string(endpoint.host, endpoint.host_length)]) then
            wanted.exclude[count] = endpoint.identity
            count = count + 1
        end
    end)
    return count
end

local function hash_text(text)
    return library.kl_shared_hash(text, #text)
end

local function check_options(options)
    options_of.check("pick", options, PICK_TYPES)
end

-- Reads the options of a pick into `wanted`, for the core.
local function read_options(self, options)
    if self.checks > 0 then
        self.checks = self.checks - 1
        check_options(options)
    end
    local hash, zone, node = options.hash, options.zone, options.node
    if hash == nil then
        wanted.hash = 0
    elseif type(hash) == "string" then
        wanted.hash = hash_text(hash)
    else
        check_options(options)
        wanted.hash = hash_text(tostring(hash))
    end
    zone, node = zone or self.map.zone, node or self.map.node
    wanted.zone = zone and hash_text(zone) or 0
    wanted.node = node and hash_text(node) or 0
    wanted.excluded = 0
    if options.exclude ~= nil then
        wanted.excluded = add_excluded(self, options.exclude)
    end
end

local NO_OPTIONS = {}

local function pick_in_map(self, options)
    read_options(self, options or NO_OPTIONS)
    local result = library.kl_shared_pick(self.map.pointer, self.key, wanted, found)
    if result == OK then
        return host_of(found), found.port, found.version, band(found.flags, DNS) ~= 0 or nil
    elseif result == EXCLUDED then
        return nil, "empty"
    end
    return nil, ffi_string(library.kl_shared_result_name(result))
end

---Picks one endpoint for a request: round robin, or by a hash. Never waits.
---@param options resty.kubelua.PickOptions?
---@return string? host nil: there is none
---@return integer|"unknown"|"empty"|"not_synced" port or the reason why there is none
---@return integer? version differs after each change of the service
---@return true? is_name the host is a name, which may resolve to any address: only with the option
---`external_names` of kube.init
function Service:pick(options)
    local version = self.map.versions[self.bucket]
    if version ~= self.version then
        refresh_turns(self, version)
    end
    local count = self.count
    if options or count == 0 or self.map.has_place then
        return pick_in_map(self, options)
    end
    local turn = self.turn + 1
    self.turn = turn
    local at = turn % count + 1
    return self.hosts[at], self.ports[at], version
end

local function has_flag(flags, flag)
    return band(flags, flag) ~= 0
end

local function text_or_nil(text)
    local read = ffi_string(text)
    return read ~= "" and read or nil
end

---All endpoints: first the ready ones, then others that serve, then the rest. A new table.
---@return resty.kubelua.Endpoint[]? endpoints nil: the service is not in the map; see `why`
---@return string? why "unknown" (there is no such service) or "not_synced"
function Service:endpoints()
    local list = {}
    local result = each_endpoint(self, function(endpoint, host)
        local flags = endpoint.flags
        list[#list + 1] = { host = host, port = endpoint.port, weight = endpoint.weight,
            ready = has_flag(flags, READY), serving = has_flag(flags, SERVING),
            terminating = has_flag(flags, TERMINATING), dns = has_flag(flags, DNS),
            zone = text_or_nil(endpoint.zone), node = text_or_nil(endpoint.node) }
    end)
    if result ~= "ok" and result ~= "empty" then
        return nil, result
    end
    return list
end

return services
