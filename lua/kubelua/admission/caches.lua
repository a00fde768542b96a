-- The caches of a webhook: what its functions get as `cluster`.
local copy_table = require "kubelua.copy_table"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local sorted_keys = require "kubelua.sorted_keys"

---The cluster that the functions of kubelua.admit get: the caches that `reads` names.
---@class kubelua.AdmitCluster
local Caches = {}
Caches.__name = "kubelua.AdmitCluster"

-- The key of the informers by name. No name of a method collides with it.
local INFORMERS = {}

local methods = {}

function Caches.__index(_, name)
    return methods[name] or misuse("the cluster of kubelua.admit has no '%s'; it has %s",
        tostring(name), table.concat(sorted_keys(methods), ", "))
end

local function find(self, call, name)
    local informers = type(self) == "table" and rawget(self, INFORMERS)
    if not informers then
        misuse("%s: call it with a colon, as in cluster:get(...)", call)
    end
    local informer = informers[name]
    if not informer then
        local names = sorted_keys(informers)
        local nearest = type(name) == "string" and options.nearest(name, names)
        misuse("%s: there is no cache '%s'%s; add it to `reads`; there are %s", call,
            tostring(name), nearest and " (do you mean '" .. nearest .. "'?)" or "",
            #names > 0 and table.concat(names, ", ") or "none")
    end
    return informer
end

---An object in a cache; nil: it is not there.
---@param name string of the cache, as in `reads`
---@param key string "namespace/name"; or "name", if the kind has no namespaces
---@return kubelua.Object?
function methods:get(name, key)
    return find(self, "cluster:get", name):get(key)
end

---The objects of a cache, sorted by key.
---@param name string
---@param filter kubelua.Filter?
---@return kubelua.Object[]
function methods:list(name, filter)
    return find(self, "cluster:list", name):list(filter)
end

---The objects with a value in an index of a cache, sorted by key.
---@param name string
---@param index string
---@param value string|number|boolean
---@return kubelua.Object[]
function methods:by(name, index, value)
    return find(self, "cluster:by", name):by(index, value)
end

local caches = {}

-- The options of the informer, and the cache's name.
local function read_entry(entry)
    if type(entry) == "string" then
        return { entry }, entry
    elseif type(entry) ~= "table" or type(entry[1]) ~= "string" then
        misuse("admit: 'reads' is a list of resources, such as { \"ingresses\" }, or of tables of "
            .. "an informer's options")
    end
    local given = copy_table(entry)
    given.as = nil
    return given, entry.as or entry[1]
end

---Opens an informer for each entry of `reads`.
---@param client kubelua.Client
---@param reads (string|kubelua.SourceOptions)[]
---@return kubelua.AdmitCluster?, string?, string?
function caches.open(client, reads)
    local self = setmetatable({ [INFORMERS] = {} }, Caches)
    for _, entry in ipairs(reads) do
        local given, name = read_entry(entry)
        if self[INFORMERS][name] then
            misuse("admit: 'reads' has '%s' twice; give one of them another name: as = \"...\"",
                name)
        end
        local informer, message, code = client:informer(given)
        if not informer then
            caches.close(self)
            return nil, message, code
        end
        self[INFORMERS][name] = informer
    end
    return self
end

---@param self kubelua.AdmitCluster
function caches.close(self)
    for _, informer in pairs(self[INFORMERS]) do
        informer:stop()
    end
end

---What has no first list yet, in words; nil: all caches have theirs.
---@param self kubelua.AdmitCluster
---@return string?
function caches.missing(self)
    for _, name in ipairs(sorted_keys(self[INFORMERS])) do
        local informer = self[INFORMERS][name]
        if not informer:has_synced() then
            local status = informer:status()
            return name .. ": " .. (status and status.error or "its first list has not come")
        end
    end
end

return caches
