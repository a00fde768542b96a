-- run:create and run:apply: write objects that the object of a run owns. They use the client's
-- verbs.
local applies = require "kubelua.controller.applies"
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local owner = require "kubelua.controller.owner"
local scheduler = require "kubelua.scheduler"
local target = require "kubelua.controller.target"
local verbs = require "kubelua.verbs"

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

-- Returns a copy of the document, to be sent, and its kind. Returns no kind if fields are missing:
-- the verb will refuse such a document.
local function prepare_document(run, call, object, given)
    local document, message, code = documents.one(call, object)
    if not document then
        return nil, message, code
    end
    local metadata = document.metadata
    if type(document.apiVersion) ~= "string" or type(document.kind) ~= "string"
        or (type(metadata) ~= "table" and not core.is_view(metadata)) then
        return document
    end
    local kind
    kind, message, code = verbs.kind(run.state.client, document.apiVersion .. "/" .. document.kind)
    if not kind then
        return nil, message, code
    end
    document = documents.copy(document)
    metadata = document.metadata
    if kind.namespaced and metadata.namespace == nil then
        metadata.namespace = namespace_of(run) or run.state.client:namespace()
    end
    if is_for_owner(run, given) then
        owner.check(call, run.object, kind, metadata.namespace)
        owner.add(metadata, run.object)
    end
    return document, kind
end

local function pass_options(run, given, extra)
    local passed = { manager = given.manager or run.state.name, dry_run = given.dry_run,
        timeout = given.timeout }
    for name, value in pairs(extra or {}) do
        passed[name] = value
    end
    return passed
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
    local document, kind, problem = prepare_document(run, "run:create", object, given)
    if not document then
        return nil, kind, problem
    end
    local created, message, code, retry_after = verbs.methods.create(run.state.client, document,
        pass_options(run, given))
    if code ~= "already_exists" or not run.object or given.owner == false
        or not document.metadata.name then
        return created, message, code, retry_after
    end
    local existing, why, why_code, later = target.live(run, kind, document)
    if not existing then
        return nil, why, why_code, later
    elseif not owner.obstacle(existing, run.object, false) then
        return nil, message, code, retry_after
    end
    return adopt_object(run, existing, given)
end

-- A version that no object has: if the object exists, the server answers with a conflict; if not,
-- it ignores the version (kube-apiserver clears it when an apply creates an object).
local NONE = "1"

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
local function try_apply(run, document, existing, given, passed)
    local metadata = document.metadata
    if existing then
        local is_owned = is_for_owner(run, given)
        local problem
        if is_owned then
            problem = owner.obstacle(existing, run.object, given.adopt)
        else
            problem = find_obstacle(run, existing, given, passed.manager)
        end
        if problem then
            return nil, problem, "not_owned"
        elseif is_owned and owner.controller(existing) and owner.adoption(existing, run.object) then
            local taken, message, code, retry_after = adopt_object(run, existing, given)
            if not taken then
                return nil, message, code, retry_after
            end
        end
        metadata.uid = metadata.uid or existing.uid
    elseif metadata.resourceVersion == nil and metadata.uid == nil then
        metadata.resourceVersion = NONE
    end
    return verbs.methods.apply(run.state.client, document, passed)
end

-- How often an apply is tried while the object changes, or the cache does not know it yet.
local TRIES = 3

local function send_apply(run, document, kind, existing, given, passed)
    local metadata = document.metadata
    local uid, version = metadata.uid, metadata.resourceVersion -- as the script has named them
    local object, message, code, retry_after
    for _ = 1, TRIES do
        metadata.uid, metadata.resourceVersion = uid, version
        object, message, code, retry_after = try_apply(run, document, existing, given, passed)
        -- To an apply with the UID of another object a server answers "invalid".
        if code ~= "conflict" and not (code == "invalid" and existing) then
            break
        end
        local live, _, why = target.live(run, kind, document)
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

local function apply_owned(run, document, kind, given, passed)
    local existing, message, code, retry_after = target.known(run, "run:apply", kind, document)
    if not existing and code ~= "not_found" then
        return nil, message, code, retry_after
    end
    local known = run.state.applies
    local digest = may_skip(run, document, passed) and applies.digest(document, passed) or nil
    local object = existing and digest and known:find(existing, kind, digest)
    if object then
        scheduler.pass("run:apply")
        return object
    end
    object, message, code, retry_after = send_apply(run, document, kind, existing, given, passed)
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

local function apply_unowned(run, document, kind, given, passed)
    local existing, message, code, retry_after = find_unowned(run, document, kind, given,
        passed.manager)
    if not existing and code ~= "not_found" then
        return nil, message, code, retry_after
    end
    local object
    object, message, code, retry_after = send_apply(run, document, kind, existing, given, passed)
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
    given = options.optional("run:apply", given, APPLY)
    if core.is_view(object) then
        misuse("run:apply: this object was read from the cluster; apply a table of only the fields "
            .. "that the controller decides on: an apply makes it the owner of every field in it")
    end
    local document, kind, problem = prepare_document(run, "run:apply", object, given)
    if not document then
        return nil, kind, problem
    end
    local passed = pass_options(run, given, { force = given.force ~= false })
    if not kind or type(document.metadata.name) ~= "string" then
        return verbs.methods.apply(run.state.client, document, passed) -- the verb refuses it
    elseif is_for_owner(run, given) then
        return apply_owned(run, document, kind, given, passed)
    end
    return apply_unowned(run, document, kind, given, passed)
end

return write
