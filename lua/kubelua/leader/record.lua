-- What a Lease (coordination.k8s.io/v1, decoded) says of its holder, whatever is in its fields.
local timestamp = require("kubelua.core").timestamp

local records = {}

local MOST_TRANSITIONS = 2147483647

local function spec_of(lease)
    return type(lease.spec) == "table" and lease.spec or {}
end

local function copy(value)
    local result = {}
    for key, field in pairs(value) do
        result[key] = field
    end
    return result
end

---What tells one renewal from another. Metadata is not asked: an annotation renews nothing.
---@param lease table
---@return string
function records.text(lease)
    local spec = spec_of(lease)
    return table.concat({ tostring(spec.holderIdentity), tostring(spec.leaseDurationSeconds),
        tostring(spec.acquireTime), tostring(spec.renewTime), tostring(spec.leaseTransitions) },
        "\n")
end

---@param lease table
---@return string holder "": none
function records.holder(lease)
    local holder = spec_of(lease).holderIdentity
    return type(holder) == "string" and holder or ""
end

---@param lease table
---@return string?
function records.version(lease)
    local metadata = lease.metadata
    return type(metadata) == "table" and metadata.resourceVersion or nil
end

---For how many seconds its record is good.
---@param lease table
---@param otherwise number of one that does not say it
---@return number
function records.duration(lease, otherwise)
    local seconds = tonumber(spec_of(lease).leaseDurationSeconds)
    return seconds and seconds > 0 and seconds or otherwise
end

---How often the Lease has changed hands, once more if it does now.
---@param lease table
---@param changes boolean
---@return integer
local function transitions(lease, changes)
    local count = tonumber(spec_of(lease).leaseTransitions) or 0
    count = count > 0 and count <= MOST_TRANSITIONS and math.floor(count) or 0
    if changes then
        count = count < MOST_TRANSITIONS and count + 1 or 0
    end
    return count
end

---A time to be written. Others see a renewal only where it differs from the one before: a wall
---clock that stands still gets a microsecond more each time.
---@param times { last: number?, stood: integer? } kept between the calls
---@param unix number by the wall clock
---@return number
function records.tell_apart(times, unix)
    times.stood = unix == times.last and times.stood + 1 or 0
    times.last = unix
    return unix + times.stood / 1e6
end

---The Lease with another record. What others have written beside it is kept.
---@param lease table? nil: there is none yet
---@param record { identity: string, lease: number, renewed_at: number, acquired_at: number?,
---changes: boolean } times: Unix times; no acquired_at: as it is
---@return table
function records.written(lease, record)
    local result = copy(lease or {})
    result.spec = copy(spec_of(result))
    local spec = result.spec
    spec.holderIdentity = record.identity
    spec.leaseDurationSeconds = math.ceil(record.lease)
    spec.renewTime = timestamp(record.renewed_at, 6)
    spec.leaseTransitions = lease and transitions(lease, record.changes) or 0
    if record.acquired_at then
        spec.acquireTime = timestamp(record.acquired_at, 6)
    end
    return result
end

return records
