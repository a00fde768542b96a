-- run:create and run:apply: write objects that the object of a run owns. They find the kind and the
-- target of a document once, and hand them to the client's verbs.
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local kinds = require "kubelua.kinds"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local owner = require "kubelua.controller.owner"
local ports = require "kubelua.verbs.ports"
local scheduler = require "kubelua.scheduler"
local target = require "kubelua.controller.target"
local targets = require "kubelua.verbs.targets"
local verbs = require "kubelua.verbs"
local writing = require "kubelua.verbs.writing"

---A run, as KubeLua's own modules see it.
---@class kubelua.controller.Inside
---@field state kubelua.controller.State
---@field key string?
---@field object kubelua.Object?

---@class kubelua.RunCreateOptions
---@field owner? boolean false: no owner; default: the run's object becomes the controller
---@field adopt? boolean take an existing object that has no controller; in an apply without an
---owner: one that the field manager has not applied before
---@field manager? string default: the controller's name
---@field dry_run? boolean the server checks it, and writes nothing
---@field timeout? number seconds of the whole call; default: 30

local CREATE = { owner = "boolean", adopt = "boolean", manager = "string", dry_run = "boolean",
    timeout = "number" }

---@class kubelua.RunApplyOptions: kubelua.RunCreateOptions
---@field force? boolean take fields that others own; default: true

local APPLY = { owner = "boolean", adopt = "boolean", manager = "string", dry_run = "boolean",
    timeout = "number", force = "boolean" }

local write = {}

local function is_for_owner(run, given)
    return run.object ~= nil and given.owner ~= false
end

-- The default namespace of a document: that of the run's object; if the object is gone, that of the
-- run's key.
local function namespace_of(run)
    if run.object then
        return run.object.namespace
    end
    return run.state.main and run.key:match("^(.-)/") or nil
end

-- Finds the kind of a document, and makes a copy that can be sent, with its target. If fields are
-- missing, there is no target, and the verb will refuse the document.
local function prepare(run, port, call, object, given)
    local document, message, code = documents.one(call, object)
    if not document then
        return nil, message, code
    end
    local metadata = document.metadata
    if type(document.apiVersion) ~= "string" or type(document.kind) ~= "string"
        or (type(metadata) ~= "table" and not core.is_view(metadata)) then
        return { document = document }
    end
    local asked = document.apiVersion .. "/" .. document.kind
    local kind
    kind, message, code = kinds.find(port, asked)
    if not kind then
        return nil, message, code
    end
    document = documents.copy(document)
    metadata = document.metadata
    if kind.namespaced and metadata.namespace == nil then
        metadata.namespace = namespace_of(run) or port.namespace
    end
    if is_for_owner(run, given) then
        owner.add(call, metadata, kind, run.object)
    end
    local aim
    aim, message, code = targets.of_kind(port, kind, asked, document)
    if not aim then
        return nil, message, code
    end
    return { document = document, target = aim }
end

-- The options of the verb.
local function pass_options(run, given)
    return { manager = given.manager or run.state.name, dry_run = given.dry_run,
        timeout = given.timeout, force = nil }
end

-- Makes the run's object the controller of an existing object, if nothing prevents it.
local function adopt_object(run, existing, given)
    local problem = owner.obstacle(existing, run.object, given.adopt)
    if problem then
        return nil, problem, "not_owned"
    end
    local patch = owner.adoption(existing, run.object)
    if not patch then
        return existing
    end
    return verbs.methods.patch(run.state.client, existing, patch, pass_options(run, given))
end

---@param run kubelua.controller.Inside
---@param object table|string
---@param given kubelua.RunCreateOptions?
---@return kubelua.Object?, string?, string?, number?
function write.create(run, object, given)
    given = options.optional("run:create", given, CREATE)
    local port = ports.of(run.state.client)
    local prepared, problem, refusal = prepare(run, port, "run:create", object, given)
    if not prepared then
        return nil, problem, refusal
    end
    local document, aim, passed = prepared.document, prepared.target, pass_options(run, given)
    if not aim then
        return writing.create(port, document, passed) -- the verb refuses it
    end
    local has_name = aim.name ~= nil
    local created, message, code, retry_after = writing.create_prepared(port, prepared, passed)
    if code ~= "already_exists" or not has_name or not is_for_owner(run, given) then
        return created, message, code, retry_after
    end
    local existing, why, why_code, later = target.live(run, aim.kind, document)
    if not existing then
        return nil, why, why_code, later
    elseif not owner.obstacle(existing, run.object, false) then
        return nil, message, code, retry_after
    end
    return adopt_object(run, existing, given)
end

-- The options of an apply without any.
local NONE = {}

-- A version that no object has: if the object exists, the server answers with a conflict; if not,
-- it ignores the version (kube-apiserver clears it when an apply creates an object).
local NO_VERSION = "1"

-- Says why an apply without an owner cannot take an existing object; nil: it can.
local function find_obstacle(run, existing, given, manager)
    if given.adopt or run.state.applies:has_manager(existing, manager) then
        return nil
    end
    return string.format("%s exists already, and \"%s\" has never applied it; to take it over, "
        .. "pass { adopt = true }", tostring(existing), manager)
end

-- One attempt of an apply. With `existing`, it changes exactly that object; without, it succeeds
-- only if no object of that name exists.
local function try_apply(run, port, prepared, existing, given, passed)
    local metadata = prepared.document.metadata
    if existing then
        local problem, is_former
        if is_for_owner(run, given) then
            problem, is_former = owner.obstacle(existing, run.object, given.adopt)
        else
            problem = find_obstacle(run, existing, given, passed.manager)
        end
        if problem then
            return nil, problem, "not_owned"
        elseif is_former then
            local taken, message, code, retry_after = adopt_object(run, existing, given)
            if not taken then
                return nil, message, code, retry_after
            end
        end
        metadata.uid = metadata.uid or existing.uid
    elseif metadata.resourceVersion == nil and metadata.uid == nil then
        metadata.resourceVersion = NO_VERSION
    end
    prepared.target.uid = type(metadata.uid) == "string" and metadata.uid or nil
    return writing.apply_prepared(port, prepared, passed)
end

-- How often an apply is tried while the object changes, or the cache does not know it yet.
local TRIES = 3

local function send_apply(run, port, prepared, existing, given, passed)
    local metadata = prepared.document.metadata
    local uid, version = metadata.uid, metadata.resourceVersion -- as the script has named them
    local object, message, code, retry_after
    for _ = 1, TRIES do
        metadata.uid, metadata.resourceVersion = uid, version
        object, message, code, retry_after = try_apply(run, port, prepared, existing, given,
            passed)
        -- To an apply with the UID of another object a server answers "invalid".
        if code ~= "conflict" and not (code == "invalid" and existing) then
            break
        end
        local live, _, why = target.live(run, prepared.target.kind, prepared.document)
        local is_same = live and existing and live.uid == existing.uid
        if not live and why ~= "not_found"
            or is_same and (given.force == false or code == "invalid") then
            break -- another kind of conflict
        end
        existing = live
    end
    return object, message, code, retry_after
end

-- True if an apply that would change nothing need not be sent. A resourceVersion in the document
-- asks the server to compare it. No event reconciles an object again after its finalize.
local function may_skip(run, document, passed)
    return not passed.dry_run and document.metadata.resourceVersion == nil
        and run.object:get("metadata.deletionTimestamp") == nil
end

local function apply_owned(run, port, prepared, given, passed)
    local document, kind = prepared.document, prepared.target.kind
    local existing, message, code, retry_after = target.known(run, "run:apply", kind, document)
    if not existing and code ~= "not_found" then
        return nil, message, code, retry_after
    end
    local known, digest, object = run.state.applies, nil, nil
    if may_skip(run, document, passed) then
        digest, object = known:find(existing, kind, document, passed)
    end
    if object then
        scheduler.pass("run:apply")
        return object
    end
    object, message, code, retry_after = send_apply(run, port, prepared, existing, given, passed)
    if object and digest then
        known:note(object, digest)
    end
    return object, message, code, retry_after
end

-- Finds the object that an apply without an owner would change. A cache does not tell which manager
-- has applied it: unless that is known, it is read from the server.
local function find_unowned(run, document, kind, given, manager)
    local existing, message, code, retry_after = target.known(run, "run:apply", kind, document)
    if existing and not given.adopt and not run.state.applies:has_manager(existing, manager)
        and existing:get("metadata.managedFields") == nil then
        return target.live(run, kind, document)
    end
    return existing, message, code, retry_after
end

local function apply_unowned(run, port, prepared, given, passed)
    local existing, message, code, retry_after = find_unowned(run, prepared.document,
        prepared.target.kind, given, passed.manager)
    if not existing and code ~= "not_found" then
        return nil, message, code, retry_after
    end
    local object
    object, message, code, retry_after = send_apply(run, port, prepared, existing, given, passed)
    if object and not passed.dry_run then
        run.state.applies:note_manager(object, passed.manager)
    end
    return object, message, code, retry_after
end

---@param run kubelua.controller.Inside
---@param object table|string
---@param given kubelua.RunApplyOptions?
---@return kubelua.Object?, string?, string?, number?
function write.apply(run, object, given)
    if given == nil then
        given = NONE
    else
        options.check("run:apply", given, APPLY)
    end
    if core.is_view(object) then
        misuse("run:apply: this object was read from the cluster; apply a table of only the fields "
            .. "that the controller decides on: an apply makes it the owner of every field in it")
    end
    local port = ports.of(run.state.client)
    local prepared, message, code = prepare(run, port, "run:apply", object, given)
    if not prepared then
        return nil, message, code
    end
    local passed = pass_options(run, given)
    passed.force = given.force ~= false
    if not prepared.target or not prepared.target.name then
        return writing.apply(port, prepared.document, passed) -- the verb refuses it
    elseif is_for_owner(run, given) then
        return apply_owned(run, port, prepared, given, passed)
    end
    return apply_unowned(run, port, prepared, given, passed)
end

return write
