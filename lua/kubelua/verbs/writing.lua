-- The verbs that write a whole object: create, update, apply.
local answers = require "kubelua.verbs.answers"
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
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
        expected = nil -- the pod is bound to a node; the answer is no object
    end
    return ports.write(port, { verb = "create", dry_run = given.dry_run, name = target.name }, {
        method = "POST", what = "create", timeout = given.timeout,
        query = { fieldManager = given.manager, dryRun = dry_run_parameter(given) },
        body = core.encode(document),
    }, collection, function(reply)
        return answers.object(reply, what, expected)
    end)
end

-- The letters of generated names are those that Kubernetes uses: without vowels, so without words
-- (k8s.io/apimachinery, util/rand).
local LETTERS = "bcdfghjklmnpqrstvwxz2456789"
local LENGTH, LONGEST = 5, 63

---Makes a name with this beginning, as a server does for generateName. KubeLua makes it, so that a
---create without an answer can be looked up by its name.
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

local function send_apply(port, prepared, given)
    check_name("apply", prepared)
    return ports.write(port, { verb = "apply", dry_run = given.dry_run }, {
        method = "PATCH", what = "apply", subresource = given.subresource, timeout = given.timeout,
        headers = { ["Content-Type"] = APPLY_TYPE },
        query = { fieldManager = given.manager or MANAGER, dryRun = dry_run_parameter(given),
            force = given.force and "true" or "false" },
        body = core.encode(prepared.document),
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

return writing
