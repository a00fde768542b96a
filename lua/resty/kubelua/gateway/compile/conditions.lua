-- Merges wanted conditions into those that an object has. The time of a condition stays while its
-- status does not change, conditions of other controllers stay where they are, and a result that
-- equals the object's status need not be written. Pure.
local conditions = {}

---@class resty.kubelua.gateway.Condition
---@field type string
---@field status "True"|"False"|"Unknown"
---@field reason string
---@field message string

local MESSAGE = 2048 -- bytes; the API server takes 32768

---@param kind string
---@param holds boolean
---@param reason string
---@param message string?
---@return resty.kubelua.gateway.Condition
function conditions.new(kind, holds, reason, message)
    message = message or ""
    if #message > MESSAGE then
        message = message:sub(1, MESSAGE - 4) .. " ..."
    end
    return { type = kind, status = holds and "True" or "False", reason = reason,
        message = message }
end

---True if two decoded JSON values are equal.
---@param a any
---@param b any
---@return boolean
function conditions.same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for key, value in pairs(a) do
        if not conditions.same(value, b[key]) then
            return false
        end
    end
    for key in pairs(b) do
        if a[key] == nil then
            return false
        end
    end
    return true
end

local function merge_one(present, wanted, generation, now)
    if present and present.observedGeneration and generation
        and present.observedGeneration > generation then
        return present -- written for a newer object than the one compiled
    end
    local since = now
    if present and present.status == wanted.status then
        since = present.lastTransitionTime or now
    end
    return { type = wanted.type, status = wanted.status, reason = wanted.reason,
        message = wanted.message, observedGeneration = generation, lastTransitionTime = since }
end

---@param present table[]? the conditions that the object has
---@param wanted resty.kubelua.gateway.Condition[]
---@param generation integer? metadata.generation of the object
---@param now string RFC 3339
---@param owned table<string, true>? types that go if they are not wanted; all others stay
---@return table[]
function conditions.merge(present, wanted, generation, now, owned)
    local by_type, merged, done = {}, {}, {}
    for _, condition in ipairs(wanted) do
        by_type[condition.type] = condition
    end
    for _, condition in ipairs(present or {}) do
        local new = by_type[condition.type]
        if new then
            merged[#merged + 1] = merge_one(condition, new, generation, now)
            done[condition.type] = true
        elseif not (owned and owned[condition.type]) then
            merged[#merged + 1] = condition
        end
    end
    for _, condition in ipairs(wanted) do
        if not done[condition.type] then
            merged[#merged + 1] = merge_one(nil, condition, generation, now)
        end
    end
    return merged
end

local REF_FIELDS = { "namespace", "name", "sectionName", "port" }

local function same_parent(a, b)
    if (a.group or "gateway.networking.k8s.io") ~= (b.group or "gateway.networking.k8s.io")
        or (a.kind or "Gateway") ~= (b.kind or "Gateway") then
        return false
    end
    for _, field in ipairs(REF_FIELDS) do
        if a[field] ~= b[field] then
            return false
        end
    end
    return true
end

local function find_parent(parents, ref)
    for i, parent in ipairs(parents) do
        if same_parent(parent.parentRef, ref) then
            return i, parent
        end
    end
end

local PARENTS = 32 -- the CRD's limit of status.parents

---Merges what this controller says about a route's parents. Entries of other controllers are
---never changed; entries of this one go when their parent is no longer referenced.
---@param present table[]? status.parents of the object
---@param wanted { parentRef: table, conditions: resty.kubelua.gateway.Condition[] }[]
---@param controller string
---@param generation integer?
---@param now string
---@param owned table<string, true>
---@return table[]
function conditions.merge_parents(present, wanted, controller, generation, now, owned)
    local merged, ours, done = {}, {}, {}
    for _, parent in ipairs(present or {}) do
        local at = parent.controllerName == controller and find_parent(wanted, parent.parentRef)
        if parent.controllerName ~= controller then
            merged[#merged + 1] = parent
        elseif at and not done[at] then
            done[at] = true
            local entry = { parentRef = wanted[at].parentRef, controllerName = controller,
                conditions = conditions.merge(parent.conditions, wanted[at].conditions,
                    generation, now, owned) }
            ours[at], merged[#merged + 1] = entry, entry
        end
    end
    for i, parent in ipairs(wanted) do
        if not ours[i] and #merged < PARENTS then
            merged[#merged + 1] = { parentRef = parent.parentRef, controllerName = controller,
                conditions = conditions.merge(nil, parent.conditions, generation, now, owned) }
        end
    end
    return merged
end

return conditions
