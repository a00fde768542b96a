-- run:patch, run:delete and run:evict: the client's verbs, for exactly the object that the run has
-- read (its UID; with `lock` also its version).
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local target = require "kubelua.controller.target"
local verbs = require "kubelua.verbs"

---@class kubelua.RunPatchOptions: kubelua.PatchOptions
---@field lock? boolean "conflict" if the object has changed since it was read

local PATCH = { type = "string", subresource = "string", manager = "string", force = "boolean",
    dry_run = "boolean", timeout = "number", lock = "boolean" }

---@class kubelua.RunDeleteOptions
---@field propagation? "Foreground"|"Background"|"Orphan" what happens to the objects that it owns
---@field grace? integer seconds; 0: at once
---@field lock? boolean "conflict" if the object has changed since it was read
---@field dry_run? boolean the server checks it, and deletes nothing
---@field timeout? number seconds of the whole call; default: 30

local DELETE = { propagation = "string", grace = "number", lock = "boolean", dry_run = "boolean",
    timeout = "number" }

local change = {}

local function add_lock(patch, version, kind)
    if kind == "json" then
        local steps = core.array({ { op = "test", path = "/metadata/resourceVersion",
            value = version } })
        for _, step in (core.is_view(patch) and core.ipairs or ipairs)(patch) do
            steps[#steps + 1] = step
        end
        return steps
    end
    local copy = documents.copy(patch)
    copy.metadata.resourceVersion = version
    return copy
end

---@param run kubelua.controller.Inside
---@param ... any target, patch, options; patch, options
---@return kubelua.Object?, string?, string?, number?
function change.patch(run, ...)
    local meant, patch, given = target.of_patch(run, "run:patch", ...)
    if not meant then
        return nil, patch, given
    end
    given = options.optional("run:patch", given, PATCH)
    if type(patch) ~= "table" and not core.is_view(patch) then
        misuse("run:patch: a table expected as patch, not a %s", type(patch))
    end
    if given.lock then
        documents.check_pruned("run:patch", patch) -- the copy below has no mark of it
        patch = add_lock(patch, target.version(meant, "run:patch"), given.type)
    end
    return verbs.methods.patch(run.state.client, meant, patch, { type = given.type,
        force = given.force, subresource = given.subresource, dry_run = given.dry_run,
        manager = given.manager or run.state.name, timeout = given.timeout })
end

-- True if the object of a delete is gone, or its name belongs to another object now.
local function is_gone(run, meant, code)
    if code == "not_found" then
        return true
    elseif code ~= "conflict" or not target.uid(meant) then
        return false
    end
    local now, _, why = verbs.methods.get(run.state.client, meant)
    return (not now and why == "not_found") or (now and now.uid ~= target.uid(meant)) or false
end

---@param run kubelua.controller.Inside
---@param ... any target, options
---@return kubelua.Object|true|nil, string?, string?, number?
function change.delete(run, ...)
    local meant, given, code = target.of_delete(run, "run:delete", ...)
    if not meant then
        return nil, given, code
    end
    given = options.optional("run:delete", given, DELETE)
    local version = given.lock and target.version(meant, "run:delete") or nil
    local deleted, message, retry_after
    deleted, message, code, retry_after = verbs.methods.delete(run.state.client, meant, {
        propagation = given.propagation, grace = given.grace, dry_run = given.dry_run,
        timeout = given.timeout, resource_version = version })
    if not deleted and is_gone(run, meant, code) then
        return true
    end
    return deleted, message, code, retry_after
end

---@param run kubelua.controller.Inside
---@param pod string|kubelua.Object
---@param given kubelua.EvictOptions?
---@return true?, string?, string?, number?
function change.evict(run, pod, given)
    local is_key = type(pod) == "string"
    local meant, message, code = target.of_delete(run, "run:evict", is_key and "pods" or pod,
        is_key and pod or nil)
    if not meant then
        return nil, message, code
    end
    local evicted, retry_after
    evicted, message, code, retry_after = verbs.methods.evict(run.state.client, meant, given)
    if not evicted and is_gone(run, meant, code) then
        return true
    end
    return evicted, message, code, retry_after
end

return change
