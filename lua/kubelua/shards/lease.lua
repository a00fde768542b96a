-- The Leases of a ring: what their names, labels and annotations mean, and which rights they need.
--   NAME         the ring's own: its annotation `members` names all that may be at work
--   NAME-TOKEN   of one member: its holder and times are those of leader/election.lua
local core = require "kubelua.core"

local lease = {
    LABEL = "kubelua.dev/ring", -- on all Leases of a ring: its name
}

local MEMBERS, BY, NUMBER = "kubelua.dev/members", "kubelua.dev/by", "kubelua.dev/announcement"

local function field(table, name)
    local value = type(table) == "table" and table[name] or nil
    return type(value) == "string" and value or ""
end

---What to do about a failure, to be added to its message; "" if the code does not tell.
---@param code string?
---@param namespace string
---@return string
function lease.remedy(code, namespace)
    return code == "forbidden" and "; a ring needs the verbs get, list, watch, create, update and "
        .. "delete on leases of the group coordination.k8s.io in the namespace " .. namespace
        .. ": see Rights in docs/SCALE.md" or ""
end

---The token of a member: short, and the same for the same identity.
---@param identity string
---@return string
function lease.token(identity)
    return (core.hash(identity):gsub("[^%w]", ""):lower())
end

---@param ring string
---@param token string
---@return string
function lease.name(ring, token)
    return ring .. "-" .. token
end

---The token of a member's Lease; nil: it is the ring's own, or none of the ring.
---@param ring string
---@param name string of the Lease
---@return string?
function lease.token_of(ring, name)
    return name:sub(1, #ring + 1) == ring .. "-" and name:sub(#ring + 2) or nil
end

---Sets the labels and annotations of a member's Lease.
---@param metadata table
---@param ring string
---@param said { claims: string, by: string, number: string }
function lease.describe(metadata, ring, said)
    metadata.labels = metadata.labels or {}
    metadata.labels[lease.LABEL] = ring
    metadata.annotations = metadata.annotations or {}
    local annotations = metadata.annotations
    annotations[MEMBERS], annotations[BY], annotations[NUMBER] = said.claims, said.by, said.number
end

---What a member's Lease says; nil: it has no holder, not even an empty one as of a Lease that was
---released, or cannot be read.
---@param object kubelua.Object
---@param token string
---@return kubelua.shards.Facts?
function lease.facts(object, token)
    local ok, found = pcall(object.table, object, { nulls = false })
    local spec = ok and type(found) == "table" and found.spec or nil
    if type(spec) ~= "table" or type(spec.holderIdentity) ~= "string" then
        return nil
    end
    local annotations = found.metadata.annotations
    local seconds = tonumber(spec.leaseDurationSeconds)
    return { token = token, holder = field(spec, "holderIdentity"),
        record = field(spec, "renewTime") .. " " .. field(spec, "acquireTime") .. " "
            .. field(spec, "holderIdentity"),
        duration = seconds and seconds > 0 and seconds or 15,
        acquired = field(spec, "acquireTime"), claims = field(annotations, MEMBERS),
        by = field(annotations, BY), number = field(annotations, NUMBER) }
end

---The members that may be at work, by the ring's own Lease.
---@param object kubelua.Object
---@return string[] tokens
function lease.registered(object)
    local tokens = {}
    local found = object:table { nulls = false }
    for token in field(found.metadata.annotations, MEMBERS):gmatch("[^,]+") do
        tokens[#tokens + 1] = token
    end
    return tokens
end

---The ring's own Lease, with other members.
---@param object kubelua.Object? as it is; nil: there is none
---@param options { name: string, namespace: string }
---@param tokens string[]
---@return table
function lease.registry(object, options, tokens)
    local result = object and object:table { nulls = false }
        or { apiVersion = "coordination.k8s.io/v1", kind = "Lease", metadata = {
            name = options.name, namespace = options.namespace } }
    local metadata = result.metadata
    metadata.labels = metadata.labels or {}
    metadata.labels[lease.LABEL] = options.name
    metadata.annotations = metadata.annotations or {}
    metadata.annotations[MEMBERS] = table.concat(tokens, ",")
    return result
end

return lease
