-- run:status: sets each named field of a status to exactly the given value; other fields stay. The
-- new value is compared with the newest known object, and nothing is sent if nothing changes.
local cache_of = require "kubelua.controller.cache_of"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local target = require "kubelua.controller.target"
local tasks = require "kubelua.tasks"
local values = require "kubelua.values"
local verbs = require "kubelua.verbs"

---@class kubelua.RunStatusOptions
---@field manager? string default: the controller's name
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of each request; default: 30

local STATUS = { manager = "string", dry_run = "boolean", timeout = "number" }

-- How often a write is tried while others write the object at the same time.
local TRIES = 5

local status = {}

-- The status of an object; nil if only its metadata is known. Of a pruned object it may be a part:
-- see find_newest.
local function status_of(object)
    local ok, found = pcall(core.get, object, "status")
    if not ok then
        return nil
    end
    return found ~= nil and core.view_table(found) or {}
end

-- The later of two states of an object; if their versions are not numbers, the second.
local function pick_later(a, b)
    if not a then
        return b
    end
    local order = b and core.compare_versions(a.resource_version, b.resource_version)
    return b and (not order or order < 0) and b or a
end

-- The newest known state: of the given object, the caches, and the replies to writes. An object
-- whose status `drop` or `keep` may have removed does not count: compared with it, a condition of
-- another writer would seem not to be there, and the patch would remove it.
local function find_newest(run, meant, kind)
    local uid = meant.metadata.uid
    local best = core.is_object(meant) and not core.is_pruned(meant) and status_of(meant) and meant
        or nil
    local key = kind.namespaced and meant.metadata.namespace .. "/" .. meant.metadata.name
        or meant.metadata.name
    for _, source in ipairs(cache_of.sources(run.state, kind, meant.metadata.namespace)) do
        local is_whole = not source.metadata and not cache_of.lacks_status(source)
        local cached = is_whole and source.informer:get(key)
        if cached and (not uid or cached.uid == uid) then
            best = pick_later(best, cached)
        end
        local reply = run.state.writes:reply(source, key, uid or (cached and cached.uid))
        if reply and status_of(reply) then
            best = pick_later(best, reply)
        end
    end
    return best
end

local ARRAY = getmetatable(core.array())

local function is_array(value)
    return #value > 0 or (ARRAY ~= nil and getmetatable(value) == ARRAY)
end

---A copy of a value as tables. Nulls in the objects of a script's table are left out, because a
---merge patch cannot set them; a view is copied as it is.
---@param value any
---@return any
local function copy_plain(value)
    if core.is_view(value) then
        return core.view_table(value)
    elseif type(value) ~= "table" or value == core.null then
        return value
    elseif values.stands_for(value) then
        return values.stands_for(value)
    end
    local copy = is_array(value) and core.array() or {}
    for name, part in pairs(value) do
        if part ~= core.null or is_array(value) then
            copy[name] = copy_plain(part)
        end
    end
    return copy
end

local function are_equal(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for name, part in pairs(a) do
        if not are_equal(part, b[name]) then
            return false
        end
    end
    for name in pairs(b) do
        if a[name] == nil then
            return false
        end
    end
    return true
end

---The merge patch (RFC 7396) that changes `old` into exactly `wanted`: nil if they are equal; null
---if it must be removed.
---@param old any as JSON is decoded; nil: absent
---@param wanted any a result of copy_plain
---@return any
local function find_difference(old, wanted)
    if wanted == core.null then
        return old ~= nil and old ~= core.null and core.null or nil
    elseif old ~= nil and are_equal(old, wanted) then
        return nil
    elseif type(old) ~= "table" or type(wanted) ~= "table" or is_array(old) or is_array(wanted) then
        return wanted
    end
    local patch = {}
    for name in pairs(old) do
        if wanted[name] == nil then
            patch[name] = core.null
        end
    end
    for name, part in pairs(wanted) do
        patch[name] = find_difference(old[name], part)
    end
    return patch
end

local function check_condition(condition)
    if type(condition) ~= "table" or type(condition.type) ~= "string"
        or type(condition.status) ~= "string" then
        misuse("run:status: a condition is a table such as { type = \"Ready\", status = \"True\", "
            .. "reason = \"Done\", message = \"...\" }")
    end
end

-- False for conditions of Deployments, Jobs and Nodes: they are older than metav1.Condition, and
-- have another time instead of observedGeneration.
local function has_generation(condition)
    return not (condition.lastUpdateTime or condition.lastProbeTime or condition.lastHeartbeatTime)
end

-- lastTransitionTime changes only if the status changes.
local function complete_condition(condition, old, generation)
    if old and old.status == condition.status and old.lastTransitionTime then
        condition.lastTransitionTime = old.lastTransitionTime
    elseif condition.lastTransitionTime == nil then
        condition.lastTransitionTime = core.timestamp(math.floor(tasks.clock_here():unix()))
    end
    if condition.observedGeneration == nil and has_generation(condition) then
        condition.observedGeneration = generation
    end
    return condition
end

---Merges two lists of conditions (metav1.Condition). The result has one condition of each type: a
---wanted condition replaces the old condition of its type, or is appended. lastTransitionTime says
---when the status of the condition changed last.
---@param old kubelua.Condition[]?
---@param wanted kubelua.Condition[] missing fields are filled in
---@param generation integer? of the object that the run has read
---@return kubelua.Condition[]
local function merge_conditions(old, wanted, generation)
    if type(wanted) ~= "table" then
        misuse("run:status: 'conditions' is a list of conditions, not a %s", type(wanted))
    end
    local merged, place = core.array(), {}
    for _, condition in ipairs(type(old) == "table" and old or {}) do
        merged[#merged + 1] = condition
        place[condition.type] = #merged
    end
    for key, condition in pairs(wanted) do
        check_condition(type(key) == "number" and condition or nil)
    end
    for _, condition in ipairs(wanted) do
        local at = place[condition.type] or #merged + 1
        merged[at] = complete_condition(condition, merged[at], generation)
        place[condition.type] = at
    end
    return merged
end

-- The value that each field must have, as plain JSON. Conditions are merged into the existing ones.
local function list_wanted(fields, old, meant)
    local wanted = {}
    for name, value in (core.is_view(fields) and core.pairs or pairs)(fields) do
        if type(name) ~= "string" then
            misuse("run:status: fields by name expected, such as { phase = \"Ready\" }")
        end
        wanted[name] = copy_plain(value)
    end
    if wanted.conditions ~= nil and wanted.conditions ~= core.null then
        wanted.conditions = merge_conditions(old.conditions, wanted.conditions,
            core.is_object(meant) and meant:get("metadata.generation") or nil)
    end
    return wanted
end

-- The change of each field, as a merge patch; nil: there is none.
local function find_changes(old, wanted)
    local patch = {}
    for name, value in pairs(wanted) do
        patch[name] = find_difference(old[name], value)
    end
    return next(patch) ~= nil and patch or nil
end

-- True if this very status was sent before, the server changed or dropped some of its fields, and
-- the object still has what the server stored then: so the status is not sent again.
local function is_known(run, uid, old, wanted)
    local kept = run.state.memos[run.key]
    local before = kept and kept.statuses and kept.statuses[uid]
    return before ~= nil and before.wanted == core.hash(wanted) and before.got == core.hash(old)
end

local function remember_reply(run, reply, wanted)
    local got = run.key and status_of(reply)
    if not got then
        return
    elseif find_changes(got, wanted) then
        local kept = run.state:keep(run.key, run.object)
        kept.statuses = kept.statuses or {}
        kept.statuses[reply.uid] = { wanted = core.hash(wanted), got = core.hash(got) }
    elseif run.state.memos[run.key] and run.state.memos[run.key].statuses then
        run.state.memos[run.key].statuses[reply.uid] = nil
    end
end

-- One attempt: the object, or nil, message, code, retry_after.
local function try_write(run, kind, meant, known, fields, given)
    local old = status_of(known) or {}
    local wanted = list_wanted(fields, old, meant)
    local patch = find_changes(old, wanted)
    if not patch or is_known(run, known.uid, old, wanted) then
        return known
    end
    local reply, message, code, retry_after = verbs.methods.patch(run.state.client, known,
        { metadata = { resourceVersion = known.resource_version }, status = patch },
        { subresource = kind.has_status and "status" or nil, dry_run = given.dry_run,
            manager = given.manager or run.state.name, timeout = given.timeout })
    if reply and not given.dry_run then
        remember_reply(run, reply, wanted)
    end
    return reply, message, code, retry_after
end

local function refuse_other(meant, uid)
    return nil, "run:status: " .. meant.kind .. " " .. meant.metadata.name
        .. " is another object by now: its UID is " .. uid, "conflict"
end

---@param run kubelua.controller.Inside
---@param ... any fields, options; target, fields, options
---@return kubelua.Object?, string?, string?, number?
function status.write(run, ...)
    local meant, fields, given = target.of_patch(run, "run:status", ...)
    if not meant then
        return nil, fields, given
    end
    given = options.optional("run:status", given, STATUS)
    if type(fields) ~= "table" and not core.is_view(fields) then
        misuse("run:status: a table of fields expected, not a %s", type(fields))
    end
    local kind, message, code = verbs.kind(run.state.client,
        meant.apiVersion .. "/" .. meant.kind)
    if not kind then
        return nil, message, code
    end
    local known, reply, retry_after = find_newest(run, meant, kind), nil, nil
    for _ = 1, TRIES do
        if not known then
            known, message, code, retry_after = target.live(run, kind, meant)
            if not known then
                return nil, message, code, retry_after
            elseif meant.metadata.uid and known.uid ~= meant.metadata.uid then
                return refuse_other(meant, known.uid)
            end
        end
        reply, message, code, retry_after = try_write(run, kind, meant, known, fields, given)
        if code ~= "conflict" then
            break
        end
        known = nil -- another writer came first: read the object again
    end
    return reply, message, code, retry_after
end

return status
