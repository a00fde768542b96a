-- The verbs that write: create, update and apply of a whole object, patch and scale of a part.
local replies = require "kubelua.verbs.replies"
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
local query = require "kubelua.query"
local targets = require "kubelua.verbs.targets"

local writing = {}

---@class kubelua.CreateOptions
---@field manager? string the field manager; default: "kubelua"
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of the whole call; default: 30

local CREATE = { manager = "string", dry_run = "boolean", timeout = "number" }

---@class kubelua.UpdateOptions
---@field subresource? string "status"
---@field manager? string the field manager; default: "kubelua"
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of the whole call; default: 30

local UPDATE = { subresource = "string", manager = "string", dry_run = "boolean",
    timeout = "number" }

---@class kubelua.ApplyOptions
---@field manager? string the field manager; default: "kubelua"
---@field force? boolean take fields that others own; default: false, which is a conflict
---@field subresource? string "status"
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of the whole call; default: 30

local APPLY = { manager = "string", force = "boolean", subresource = "string",
    dry_run = "boolean", timeout = "number" }

local MANAGER = "kubelua"
local APPLY_TYPE = "application/apply-patch+yaml"

local function dry_run_parameter(given)
    return given.dry_run and "All" or nil
end

---A document that is ready to be sent, with its target.
---@class kubelua.Prepared
---@field document table|kubelua.Object
---@field target kubelua.Target

-- Raises if the document has no name. True if create must make one.
local function check_name(verb, prepared)
    local document, target = prepared.document, prepared.target
    local beginning = not target.name and document.metadata and document.metadata.generateName
    local is_generated = type(beginning) == "string" and beginning ~= ""
    if not target.name and (not is_generated or verb ~= "create") then
        misuse("%s: the object needs metadata.name%s", verb, is_generated
            and "; only create makes a name from generateName" or "")
    end
    return is_generated
end

local function prepare(port, verb, object)
    local document, message, code = documents.one(verb, object)
    if not document then
        return nil, message, code
    end
    local target
    target, message, code = targets.of_object(port, document)
    if not target then
        return nil, message, code
    end
    return { document = document, target = target }
end

local function post_object(port, document, target, given)
    local collection = { kind = target.kind, asked = target.asked, namespace = target.namespace }
    local what = "create " .. targets.tell(target)
    local expected = target.kind.kind
    if expected == "Binding" then
        expected = nil -- the pod is bound to a node; the reply is no object
    end
    return ports.write(port, { verb = "create", dry_run = given.dry_run, name = target.name }, {
        method = "POST", what = "create", timeout = given.timeout,
        query = { fieldManager = given.manager, dryRun = dry_run_parameter(given) },
        body = core.encode(document),
    }, collection, function(reply)
        return replies.object(reply, what, expected)
    end)
end

-- The letters of generated names are those that Kubernetes uses: without vowels, so without words
-- (k8s.io/apimachinery, util/rand).
local LETTERS = "bcdfghjklmnpqrstvwxz2456789"
local LENGTH, LONGEST = 5, 63

---Makes a name with this beginning, as a server does for generateName. KubeLua makes it, so that a
---create without a reply can be looked up by its name.
---@param beginning string "shop-"
---@return string
local function generate_name(beginning)
    local suffix = core.random(LENGTH):gsub("%x%x", function(digits)
        local at = tonumber(digits, 16) % #LETTERS + 1
        return LETTERS:sub(at, at)
    end)
    return beginning:sub(1, LONGEST - LENGTH) .. suffix
end

local TRIES = 8 -- attempts with generated names, as in kube-apiserver

local function send_create(port, prepared, given)
    local document, target = prepared.document, prepared.target
    if not check_name("create", prepared) then
        return post_object(port, document, target, given)
    end
    document = documents.copy(document)
    local created, message, code, retry_after
    for _ = 1, TRIES do
        target.name = generate_name(document.metadata.generateName)
        document.metadata.name = target.name
        created, message, code, retry_after = post_object(port, document, target, given)
        if created or code ~= "already_exists" then
            break
        end
    end
    return created, message, code, retry_after
end

---@param port kubelua.Port
---@param object table|string
---@param given kubelua.CreateOptions?
---@return kubelua.Object|true|nil, string?, string?, number? true: a Binding was carried out
function writing.create(port, object, given)
    given = options.optional("create", given, CREATE)
    port = ports.bounded(port, given.timeout)
    local prepared, message, code = prepare(port, "create", object)
    if not prepared then
        return nil, message, code
    end
    return send_create(port, prepared, given)
end

---Creates the object of a document that was prepared before. Its options are correct.
---@param port kubelua.Port
---@param prepared kubelua.Prepared
---@param given kubelua.CreateOptions
---@return kubelua.Object|true|nil, string?, string?, number?
function writing.create_prepared(port, prepared, given)
    return send_create(ports.bounded(port, given.timeout), prepared, given)
end

---@param port kubelua.Port
---@param object table|string
---@param given kubelua.UpdateOptions?
---@return kubelua.Object?, string?, string?, number?
function writing.update(port, object, given)
    given = options.optional("update", given, UPDATE)
    port = ports.bounded(port, given.timeout)
    local prepared, message, code = prepare(port, "update", object)
    if not prepared then
        return nil, message, code
    end
    check_name("update", prepared)
    return ports.write(port, { verb = "update", dry_run = given.dry_run }, {
        method = "PUT", what = "update", subresource = given.subresource, timeout = given.timeout,
        query = { fieldManager = given.manager, dryRun = dry_run_parameter(given) },
        body = core.encode(prepared.document),
    }, prepared.target)
end

-- The parameters of the last apply: most are those of the next one.
local last = { manager = nil, dry_run = nil, force = nil, query = nil }

local function apply_query(given)
    local manager, dry_run = given.manager or MANAGER, dry_run_parameter(given)
    local force = given.force and "true" or "false"
    if last.manager ~= manager or last.dry_run ~= dry_run or last.force ~= force then
        last = { manager = manager, dry_run = dry_run, force = force, query = query.text {
            fieldManager = manager, dryRun = dry_run, force = force } }
    end
    return last.query
end

local function send_apply(port, prepared, given)
    check_name("apply", prepared)
    return ports.write(port, ports.new_write("apply", given.dry_run), {
        method = "PATCH", what = "apply", subresource = given.subresource, timeout = given.timeout,
        type = APPLY_TYPE, query = apply_query(given), body = core.encode(prepared.document),
        path = nil, send_by = nil, may_finish = nil, tells = nil, is_brief = nil,
    }, prepared.target)
end

---Server-side apply.
---@param port kubelua.Port
---@param object table|string
---@param given kubelua.ApplyOptions?
---@return kubelua.Object?, string?, string?, number?
function writing.apply(port, object, given)
    given = options.optional("apply", given, APPLY)
    port = ports.bounded(port, given.timeout)
    local prepared, message, code = prepare(port, "apply", object)
    if not prepared then
        return nil, message, code
    end
    return send_apply(port, prepared, given)
end

---Applies a document that was prepared before. Its options are correct.
---@param port kubelua.Port
---@param prepared kubelua.Prepared
---@param given kubelua.ApplyOptions
---@return kubelua.Object?, string?, string?, number?
function writing.apply_prepared(port, prepared, given)
    return send_apply(ports.bounded(port, given.timeout), prepared, given)
end

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
    apply = APPLY_TYPE,
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
    local now = reply and replies.object(reply, "patch", target.kind.kind)
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
function writing.patch(port, resource, ...)
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
function writing.scale(port, resource, ...)
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

return writing
