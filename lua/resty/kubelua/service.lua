-- kube.service: one port of a Service. Usual picks (round robin over a short list) read tables of
-- this worker; they are valid while the version in shared memory is the same. The core makes all
-- other picks, in the shared map.
local ffi = require "ffi"
local library = require "resty.kubelua.library"
local options_of = require "kubelua.options"
local tables = require "resty.kubelua.tables"

local band = require("bit").band
local byte = string.byte
local ffi_string = ffi.string

---@class resty.kubelua.PickOptions which endpoint to pick; every key is optional
---@field hash? string|number equal keys get the same endpoint (consistent hash); else round robin
---@field exclude? string|string[] hosts, or "host:port", that have failed; any number
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
---@field family "IPv4"|"IPv6"|"FQDN"
---@field kept true? the service has no usable endpoint: this one is kept for a time
---@field zone string? the zone that it is for; several with commas between them
---@field node string? the node where it is
---@field pod string? the name of its pod

---@class resty.kubelua.Service
---@field name string "namespace/service:port"
---@field map resty.kubelua.Map
---@field key ffi.cdata* kl_shared_key
---@field bucket integer
---@field version integer? the version of the entry from which the fields below were read
---@field hosts string[] of the endpoints in the round robin
---@field ports integer[]
---@field count integer how many of them there are; 0: the core picks
---@field place number where the round robin stands
---@field checks integer how many more option tables are checked
---@field list resty.kubelua.Endpoint[]? what `endpoints` gave
---@field listed integer? the version of the entry then
local Service = {}
Service.__index = Service

local services = {}

local FEW = 64 -- endpoints; copying a longer list at each change does not pay
local CHECKS = 64 -- how many option tables of a service are checked
local OK, EXCLUDED, TOO_SMALL = 0, 4, 5 -- kl_shared_result
local SPECS = "specs" -- the table of the core's owner
local BRACKET = 91 -- "["
local READY, SERVING, TERMINATING, DNS, KEPT = 1, 2, 4, 8, 16

-- Shared by all picks: a worker's Lua runs on one thread, and a pick never waits.
local few = ffi.new("kl_pick[?]", FEW)
local many, most = few, FEW -- for lists; it grows
local found = ffi.new("kl_pick")
local counted = ffi.new("uint32_t[1]")
local wanted = ffi.new("kl_pick_options")
local excludes = 16
local excluded = ffi.new("uint64_t[?]", excludes) -- for `wanted`; it grows

---@param map resty.kubelua.Map
---@param name string "namespace/service:port"
---@return resty.kubelua.Service? nil: no service can have that name
function services.new(map, name)
    local key = map:key("services", name)
    return key and setmetatable({ name = name, map = map, key = key, bucket = key.bucket,
        hosts = {}, ports = {}, count = 0, place = 0, checks = CHECKS }, Service)
end

-- The first place in the round robin: it differs between workers, even if they inherited this
-- service from the master.
local function first_place(name)
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
        self.place = first_place(self.name)
    end
    self.version = version
    self.count = read_turns(self)
end

local function hash_text(text)
    return library.kl_shared_hash(text, #text)
end

-- Turns excluded hosts into hashes for the core. That of "host:port" means one endpoint, that of a
-- host all its endpoints. Brackets of IPv6 addresses do not count.
local function add_excluded(tried)
    local count = type(tried) == "table" and #tried or 1
    if count > excludes then
        excludes = 2 * count
        excluded = ffi.new("uint64_t[?]", excludes)
    end
    for i = 1, count do
        local name = type(tried) == "table" and tried[i] or tried
        if byte(name, 1) == BRACKET then
            name = name:gsub("[%[%]]", "")
        end
        excluded[i - 1] = library.kl_shared_hash(name, #name)
    end
    wanted.exclude = excluded
    return count
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
        wanted.excluded = add_excluded(options.exclude)
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
    local place = self.place + 1
    self.place = place
    local at = place % count + 1
    return self.hosts[at], self.ports[at], version
end

local function has_flag(flags, flag)
    return band(flags, flag) ~= 0
end

local function text_or_nil(text)
    local read = ffi_string(text)
    return read ~= "" and read or nil
end

local function family_of(pick, host)
    if has_flag(pick.flags, DNS) then
        return "FQDN"
    end
    return byte(host, 1) == BRACKET and "IPv6" or "IPv4"
end

local function describe_endpoint(pick)
    local host, flags = host_of(pick), pick.flags
    return {
        host = host, port = pick.port, weight = pick.weight, family = family_of(pick, host),
        ready = has_flag(flags, READY), serving = has_flag(flags, SERVING),
        terminating = has_flag(flags, TERMINATING), dns = has_flag(flags, DNS),
        kept = has_flag(flags, KEPT) or nil,
        zone = text_or_nil(pick.zone), node = text_or_nil(pick.node), pod = text_or_nil(pick.pod),
    }
end

-- All endpoints in one state of the map; or nil, why.
local function read_endpoints(self)
    local result = library.kl_shared_endpoints(self.map.pointer, self.key, many, most, counted)
    while result == TOO_SMALL do
        most = counted[0] + FEW
        many = ffi.new("kl_pick[?]", most)
        result = library.kl_shared_endpoints(self.map.pointer, self.key, many, most, counted)
    end
    if result ~= OK then
        return nil, ffi_string(library.kl_shared_result_name(result))
    end
    local list = {}
    for i = 1, counted[0] do
        list[i] = describe_endpoint(many[i - 1])
    end
    return list
end

---How many endpoints there are: cheaper than a list of them.
---@return integer? ready nil: the service is not in the map; see `why`
---@return integer|"unknown"|"not_synced" all or why
function Service:count_endpoints()
    local result = library.kl_shared_endpoints(self.map.pointer, self.key, nil, 0, counted)
    if result ~= OK and result ~= TOO_SMALL then
        return nil, ffi_string(library.kl_shared_result_name(result))
    end
    local all = counted[0]
    result = library.kl_shared_pick(self.map.pointer, self.key, nil, found)
    return result == OK and found.ready or 0, all
end

---@class resty.kubelua.Spec what a Service says of how it is to be reached
---@field sessionAffinity string "None" or "ClientIP"
---@field sessionAffinityTimeout integer? seconds
---@field internalTrafficPolicy string "Cluster" or "Local"
---@field trafficDistribution string?
---@field publishNotReadyAddresses boolean
---@field protocol string of this port: "TCP", "UDP" or "SCTP"
---@field appProtocol string? of this port

-- The port that a name of a service means, in the list of those that are not usual.
local function find_port(ports, name)
    for _, port in ipairs(ports or {}) do
        if not name or name == port.name or tonumber(name) == port.port then
            return port
        end
    end
    return {}
end

---What the Service says of how it is to be reached. docs/NGINX.md says what of it a pick honours. A
---new table.
---@return resty.kubelua.Spec? spec nil: the service is not in the map; see `why`
---@return string? why "unknown" (there is no such service) or "not_synced"
function Service:spec()
    local result = library.kl_shared_pick(self.map.pointer, self.key, nil, found)
    local why = ffi_string(library.kl_shared_result_name(result))
    if result ~= OK and why ~= "empty" then
        return nil, why
    end
    local said = tables.lookup(self.map, SPECS, self.name:match("^[^:]+")) or {}
    local port = find_port(said.ports, self.name:match(":(.+)$"))
    return {
        sessionAffinity = said.sessionAffinity or "None",
        sessionAffinityTimeout = said.sessionAffinityTimeout,
        internalTrafficPolicy = said.internalTrafficPolicy or "Cluster",
        trafficDistribution = said.trafficDistribution,
        publishNotReadyAddresses = said.publishNotReadyAddresses or false,
        protocol = port.protocol or "TCP", appProtocol = port.appProtocol,
    }
end

---All endpoints: first the ready ones, then others that serve, then the rest. The list is new; the
---endpoints in it are the same tables until the service changes: do not change them.
---@return resty.kubelua.Endpoint[]? endpoints nil: the service is not in the map; see `why`
---@return string? why "unknown" (there is no such service) or "not_synced"
function Service:endpoints()
    local version, list = self.map.versions[self.bucket], self.list
    if not list or version ~= self.listed then
        local why
        list, why = read_endpoints(self)
        self.list, self.listed = list, version
        if not list then
            return nil, why
        end
    end
    local copy = {}
    for i = 1, #list do
        copy[i] = list[i]
    end
    return copy
end

return services
