-- Checks the options of kubelua.fleet, and makes its source of them.
local clients = require "kubelua.client"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local Ring = require "kubelua.fleet.ring"

---What kubelua.fleet takes: the function comes first.
---@class kubelua.FleetOptions
---@field [1]? fun(cluster: kubelua.FleetCluster) called for each cluster, in a task of its own
---@field source kubelua.FleetSource|fun(): table<string, kubelua.ConnectOptions> where the
---clusters come from; a function returns the options of connect by name
---@field name? string # in logs, metrics and status; default: "fleet"
---@field client? kubelua.Client the home cluster: of Secrets, profiles and Leases; default:
---kubelua.connect()
---@field shards? string|kubelua.LeaderOptions a ring: its members share out the clusters
---@field interval? number seconds between two looks at a function or a folder; default: 10
---@field grace? number seconds that runs have to end when their cluster goes; default: 10

---Where the clusters come from: one of these.
---@class kubelua.FleetSource
---@field folder? string of kubeconfigs, one a file
---@field secrets? string "argocd", "cluster-api", or a key of Secrets, with a kubeconfig
---@field profiles? table<string, kubelua.FleetProvider> of ClusterProfiles: the program of each
---provider
---@field namespace? string of Secrets and profiles; "*": all; default: the client's
---@field labels? string a selector of Secrets and profiles
---@field exec? boolean Secrets may name programs, which then run here
---@field insecure? boolean servers need not be verified

local TYPES = { source = "function|table", name = "string", interval = "number",
    grace = "number", client = "userdata", shards = "string|table" }

-- Each kind of source: its first option, and the file that makes it.
local KINDS = { folder = "kubelua.fleet.folder", secrets = "kubelua.fleet.secrets",
    profiles = "kubelua.fleet.profiles" }

local checked = {}

local function check_number(given, name, least, words)
    local value = given[name]
    if value and not (value >= least and value < math.huge) then
        misuse("kubelua.fleet: '%s' must be %s", name, words)
    end
end

---True if a text can be the name of a cluster.
---@param name any
---@return boolean
function checked.is_name(name)
    return type(name) == "string" and #name <= 253 and name:find("^[%w._:/@+-]+$") ~= nil
end

---Why it cannot.
---@param name any
---@return string
function checked.tell_name(name)
    return string.format("%q cannot be the name of a cluster: use at most 253 letters, digits and "
        .. ". - _ : / @ +", tostring(name))
end

local function split(given)
    local named = {}
    for key, value in pairs(given) do
        if key ~= 1 then
            named[key] = value
        end
    end
    options.check("kubelua.fleet", named, TYPES)
    return given[1], named
end

local function make_source(given, named)
    if type(given) == "function" then
        return require("kubelua.fleet.from_function")(given, named)
    end
    local found
    for kind in pairs(KINDS) do
        if given[kind] ~= nil and found then
            misuse("kubelua.fleet: source: either '%s' or '%s', not both", found, kind)
        end
        found = given[kind] ~= nil and kind or found
    end
    if not found then
        misuse("kubelua.fleet: source: a function, or a table with %s = ... expected",
            table.concat(require("kubelua.sorted_keys")(KINDS), " = ..., or "))
    end
    return require(KINDS[found])(given, named)
end

---The home cluster.
---@class kubelua.fleet.Home
---@field client kubelua.Client
---@field is_own boolean the fleet has opened it, and closes it

-- Returns a function for the home cluster, which connects when it is first called.
local function find_home(given)
    local home
    return function()
        if not home then
            local client, message, code = given, nil, nil
            if not client then
                client, message, code = clients.connect()
            end
            if not client then
                return nil, message, code
            end
            home = { client = client, is_own = given == nil }
        end
        return home
    end
end

---Checks the options; returns them with their defaults, and the source. Raises if they are wrong.
---nil, message, code: the home cluster cannot be reached by this configuration.
---@param given kubelua.FleetOptions
---@return table?, string?, string?
function checked.read(given)
    if type(given) ~= "table" then
        misuse("kubelua.fleet: a table expected, such as { source = ..., function(cluster) end }, "
            .. "not a %s", type(given))
    end
    local call, named = split(given)
    if type(call) ~= "function" then
        misuse("kubelua.fleet: the function for each cluster is missing: write kubelua.fleet { "
            .. "source = ..., function(cluster) ... end }")
    elseif named.source == nil then
        misuse("kubelua.fleet: 'source' is missing: it says where the clusters come from")
    end
    check_number(named, "interval", 0.001, "a number of seconds above 0")
    check_number(named, "grace", 0, "a number of seconds, from 0")
    if named.name and not checked.is_name(named.name) then
        misuse("kubelua.fleet: 'name': use letters, digits and . - _ : / @ +")
    end
    named.shards = named.shards and Ring.options(named.shards)
    local result = { call = call, name = named.name or "fleet", grace = named.grace or 10 }
    named.interval, named.home = named.interval or 10, find_home(named.client)
    local message, code
    result.source, message, code = make_source(named.source, named)
    if not result.source then
        return nil, message, code
    end
    result.home = result.source.home
    if named.shards then
        result.home, message, code = named.home()
        if not result.home then
            return nil, message, code
        end
        result.ring = Ring.new(named.shards, result.home)
    end
    return result
end

return checked
