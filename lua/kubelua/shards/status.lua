-- The state of a member of a ring, for people.

---@class kubelua.ShardsStatus
---@field ring string "namespace/name"
---@field identity string of this member
---@field by string how it shares out
---@field working boolean it has announced what it works on
---@field members string[] the identities of all members that it sees, sorted
---@field parts integer how many of the 256 parts it may work on
---@field stands_by_for string? the identity of an older member that shares out otherwise
---@field problem string? of its Lease, of the watch of the others, or why it cannot do its work
---@field code string?

-- The Lease is first: without it the rest does not matter.
local function find_problem(membership)
    local held = membership.held.status()
    if held.problem then
        return held.problem, held.code
    elseif membership.readiness.why then
        return membership.readiness.why, membership.readiness.code
    end
    return membership.sight:problem()
end

---@param membership kubelua.shards.Membership
---@return kubelua.ShardsStatus
return function(membership)
    local options, ring, parts = membership.options, membership.ring, 0
    local problem, code = find_problem(membership)
    for _ in pairs(ring.allowed) do
        parts = parts + 1
    end
    local older = ring.stands_by and membership.sight.known[ring.stands_by]
    return { ring = options.namespace .. "/" .. options.name, identity = options.identity,
        by = options.by, working = membership:is_at_work(), members = membership.sight:members(),
        parts = parts, problem = problem, code = code,
        stands_by_for = older and older.facts and older.facts.holder }
end
