-- The objects of a simulated cluster, as an administrator's hands: beside its faults and tokens,
-- and in no record of requests.
local core = require "kubelua.core"
local documents = require "kubelua.sim.documents"
local Kinds = require "kubelua.sim.kinds"
local simcore = require "kubelua.simcore"

local objects = {}

local function verbs_of(sim)
    return simcore.state(sim).verbs
end

---Creates or replaces the objects of a text of YAML or JSON documents; status, uid and
---creationTimestamp are taken as given.
---@param text string
---@return true?, string?, string?
function objects:load(text)
    if type(text) ~= "string" then
        error("load: the text of a manifest expected, not a " .. type(text)
            .. "; objects go to cluster:apply", 2)
    end
    return simcore.load(self, text)
end

-- Status and all: what a manifest of an administrator says is so. A load tells that the server
-- refuses, and why; with which code, a trial tells.
local function add(self, document, collection)
    local ok, message, code = simcore.load(self, core.encode(document))
    if not ok then
        local tried, _, refusal = verbs_of(self):request("POST", collection, document,
            { query = { dryRun = "All" } })
        return nil, message, not tried and code == "invalid_argument" and refusal or code
    end
    local metadata = document.metadata
    return verbs_of(self):get(document.apiVersion .. "/" .. document.kind,
        metadata.namespace or nil, metadata.name)
end

-- Merges the document into what is there; its status by a request of its own.
local function change(self, kind, key, document)
    local status = kind.has_status and document.status or nil
    local rest = {}
    for name, value in pairs(document) do
        rest[name] = value
    end
    if kind.has_status then
        rest.status = nil
    end
    local name = kind.api_version .. "/" .. kind.kind
    local object, message, code = verbs_of(self):patch(name, key, rest)
    if object and status then
        return verbs_of(self):patch(name, key, { status = status }, { subresource = "status" })
    end
    return object, message, code
end

local function apply_one(self, document)
    local kind, namespace, name = verbs_of(self):place(document)
    if not kind then
        return nil, namespace, name
    elseif type(name) ~= "string" then
        return verbs_of(self):create(document)
    end
    local present, message, code = verbs_of(self):request("GET", Kinds.path(kind, namespace, name))
    if not present and code ~= "not_found" then
        return nil, message, code
    end
    local uid = document.metadata.uid
    if not present or (uid and uid ~= core.decode(present).metadata.uid) then
        return add(self, document, Kinds.path(kind, namespace))
    end
    return change(self, kind, namespace and namespace .. "/" .. name or name, document)
end

---Creates an object, or changes the one of that name: fields that are given are merged into it
---(kubelua.null removes one, arrays are replaced), its status too. A uid of its own makes it
---another object: the old one is deleted.
---@param object any a table, a view, or a text of YAML or JSON documents
---@return kubelua.Object? object as it is now; one for each document
---@return ... string, string
function objects:apply(object)
    local all, message, code = documents(object)
    if not all then
        return nil, message, code
    end
    local applied = {}
    for i, document in ipairs(all) do
        applied[i], message, code = apply_one(self, document)
        if not applied[i] then
            return nil, message, code
        end
    end
    return (table.unpack or unpack)(applied, 1, #all)
end

for _, name in ipairs { "get", "list", "create", "update", "patch", "delete" } do
    objects[name] = function(self, ...)
        local verbs = verbs_of(self)
        return verbs[name](verbs, ...)
    end
end

return objects
