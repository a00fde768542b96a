-- The verbs that change a part of an object: patch and scale.
local answers = require "kubelua.verbs.answers"
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
local targets = require "kubelua.verbs.targets"

local patching = {}

---@class kubelua.PatchOptions
---@field type? "merge"|"json"|"strategic"|"apply" default: "merge"
---@field subresource? string "status", "scale"
---@field manager? string the field manager; default: "kubelua"
---@field force? boolean # in an apply: take fields that others own
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of the whole call; default: 30

local PATCH = { type = "string", subresource = "string", manager = "string", force = "boolean",
    dry_run = "boolean", timeout = "number" }

local PATCH_TYPES = {
    merge = "application/merge-patch+json",
    json = "application/json-patch+json",
    strategic = "application/strategic-merge-patch+json",
    apply = "application/apply-patch+yaml",
}

---@class kubelua.ScaleOptions
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of the whole call; default: 30

local SCALE = { dry_run = "boolean", timeout = "number" }

-- Reads a patch: a table, a view, or a text of JSON or YAML. A patch replaces whole lists, so a
-- copy of a pruned object would remove what was dropped from their elements.
local function read_patch(patch)
    if type(patch) == "table" or core.is_view(patch) then
        documents.check_pruned("patch", patch)
        return patch
    elseif type(patch) ~= "string" then
        misuse("patch: a table or a text expected, not %s",
            patch == nil and "nil" or "a " .. type(patch))
    end
    local text, message, code = core.manifest(patch)
    if not text then
        return nil, message, code
    end
    local all = core.decode(text)
    if #all ~= 1 or type(all[1]) ~= "table" then
        return nil, "patch: the text of one table expected", "invalid_argument"
    end
    return all[1]
end

-- The JSON of a patch with the UID, so that the server refuses it for another object of that name.
local function encode_patch(patch, kind, uid)
    if kind == "json" then
        local steps = core.array({ uid and { op = "test", path = "/metadata/uid", value = uid } })
        for _, step in (core.is_view(patch) and core.ipairs or ipairs)(patch) do
            steps[#steps + 1] = step
        end
        return core.encode(steps)
    elseif not uid then
        return core.encode(patch)
    end
    local copy = documents.copy(patch)
    copy.metadata.uid = copy.metadata.uid or uid
    return core.encode(copy)
end

-- A server answers "invalid" to a patch with the UID of another object. If that is the reason, the
-- code becomes "conflict".
local function explain_invalid(port, target, message)
    local reply = ports.read(port, { what = "patch" }, target)
    local now = reply and answers.object(reply, "patch", target.kind.kind)
    if now and now.uid ~= target.uid then
        return nil, targets.tell(target) .. " is another object by now: its UID is " .. now.uid
            .. ", not " .. target.uid, "conflict"
    end
    return nil, message, "invalid"
end

local function send_patch(port, verb, target, given, call)
    call.method, call.what, call.timeout = "PATCH", verb, given.timeout
    call.query = call.query or {}
    call.query.dryRun = given.dry_run and "All" or nil
    local object, message, code, retry_after = ports.write(port,
        { verb = verb, dry_run = given.dry_run }, call, target)
    if object then
        return object
    elseif code == "invalid" and target.uid then
        return explain_invalid(port, target, message)
    end
    return nil, message, code, retry_after
end

---@param port kubelua.Port
---@param resource string|table
---@param ... any key, patch, options; of an object: patch, options
---@return kubelua.Object?, string?, string?, number?
function patching.patch(port, resource, ...)
    local named, taken = targets.arguments("patch", resource, (...))
    local given = options.optional("patch", (select(taken + 2, ...)), PATCH)
    local kind = given.type or "merge"
    options.choice("patch", "type", kind, PATCH_TYPES)
    port = ports.bounded(port, given.timeout)
    local patch, message, code = read_patch((select(taken + 1, ...)))
    if not patch then
        return nil, message, code
    end
    local target
    target, message, code = targets.find(port, "patch", named)
    if not target then
        return nil, message, code
    end
    return send_patch(port, "patch", target, given, {
        subresource = given.subresource, headers = { ["Content-Type"] = PATCH_TYPES[kind] },
        query = { fieldManager = given.manager or kind == "apply" and "kubelua" or nil,
            force = given.force and "true" or nil },
        body = encode_patch(patch, kind, target.uid),
    })
end

---@param port kubelua.Port
---@param resource string|table
---@param ... any key, replicas, options; of an object: replicas, options
---@return kubelua.Object? scale, string?, string?, number?
function patching.scale(port, resource, ...)
    local named, taken = targets.arguments("scale", resource, (...))
    local replicas = select(taken + 1, ...)
    local given = options.optional("scale", (select(taken + 2, ...)), SCALE)
    if type(replicas) ~= "number" or replicas % 1 ~= 0 or replicas < 0 then
        misuse("scale: how many replicas? A whole number from 0 expected, not %s",
            type(replicas) == "number" and ("%g"):format(replicas) or "a " .. type(replicas))
    end
    port = ports.bounded(port, given.timeout)
    local target, message, code = targets.find(port, "scale", named)
    if not target then
        return nil, message, code
    end
    return send_patch(port, "scale", target, given, {
        subresource = "scale", headers = { ["Content-Type"] = PATCH_TYPES.merge },
        body = encode_patch({ spec = { replicas = replicas } }, "merge", target.uid),
    })
end

return patching
