-- Reads and writes the record of a Lease (coordination.k8s.io/v1, decoded): its holder and times.
-- Any value in its fields is accepted.
local timestamp = require("kubelua.core").timestamp

local records = {}

local MOST_TRANSITIONS = 2147483647

local function read_spec(lease)
    return type(lease.spec) == "table" and lease.spec or {}
end

local function copy_table(value)
    local result = {}
    for key, field in pairs(value) do
        result[key] = field
    end
    return result
end

---A text that differs between two renewals. Metadata does not count: an annotation renews nothing.
---@param lease table
---@return string
function records.text(lease)
    local spec = read_spec(lease)
    return table.concat({ tostring(spec.holderIdentity), tostring(spec.leaseDurationSeconds),
        tostring(spec.acquireTime), tostring(spec.renewTime), tostring(spec.leaseTransitions) },
        "\n")
end

---@param lease table
---@return string holder "": none
function records.holder(lease)
    local holder = read_spec(lease).holderIdentity
    return type(holder) == "string" and holder or ""
end

---@param lease table
---@return string?
function records.version(lease)
    local metadata = lease.metadata
    return type(metadata) == "table" and metadata.resourceVersion or nil
end

---For how many seconds the record is valid.
---@param lease table
---@param otherwise number if the record does not say it
---@return number
function records.duration(lease, otherwise)
    local seconds = tonumber(read_spec(lease).leaseDurationSeconds)
    return seconds and seconds > 0 and seconds or otherwise
end

---How often the Lease has changed hands; one more if it does now.
---@param lease table
---@param changes boolean
---@return integer
local function count_transitions(lease, changes)
    local count = tonumber(read_spec(lease).leaseTransitions) or 0
    count = count > 0 and count <= MOST_TRANSITIONS and math.floor(count) or 0
    if changes then
        count = count < MOST_TRANSITIONS and count + 1 or 0
    end
    return count
end

---A time for renewTime. Others notice a renewal only if it differs from the last one, so while the
---wall clock stands still, each renewal gets one microsecond more.
---@param times { last: number?, stood: integer? } kept between the calls
---@param unix number by the wall clock
---@return number
function records.tell_apart(times, unix)
    times.stood = unix == times.last and times.stood + 1 or 0
    times.last = unix
    return unix + times.stood / 1e6
end

---The Lease with a new record. Other fields are kept.
---@param lease table? nil: it does not exist yet
---@param record { identity: string, lease: number, renewed_at: number, acquired_at: number?,
---changes: boolean } the times are Unix times; without acquired_at that field stays
---@return table
function records.written(lease, record)
    local result = copy_table(lease or {})
    result.spec = copy_table(read_spec(result))
    local spec = result.spec
    spec.holderIdentity = record.identity
    spec.leaseDurationSeconds = math.ceil(record.lease)
    spec.renewTime = timestamp(record.renewed_at, 6)
    spec.leaseTransitions = lease and count_transitions(lease, record.changes) or 0
    if record.acquired_at then
        spec.acquireTime = timestamp(record.acquired_at, 6)
    end
    return result
end

return records
