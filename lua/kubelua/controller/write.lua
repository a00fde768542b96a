-- run:create and run:apply: objects that the object of a run owns. The requests are the client's
-- verbs.
local core = require "kubelua.core"
local documents = require "kubelua.verbs.documents"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local owner = require "kubelua.controller.owner"
local target = require "kubelua.controller.target"
local verbs = require "kubelua.verbs"

---What write functions get: the inside of a run.
---@class kubelua.controller.Inside
---@field state kubelua.controller.State
---@field key string?
---@field object kubelua.Object?

---@class kubelua.RunCreateOptions
---@field owner? boolean false: without an owner; default: the run's object controls it
---@field adopt? boolean take an object that is there, and that nothing controls
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

-- The namespace of what names none: that of the run's object, which may be gone.
local function namespace_of(run)
    if run.object then
        return run.object.namespace
    end
    return run.state.main and run.key:match("^(.-)/") or nil
end

-- The document to be sent, which may be changed, and its kind; its kind is left out where the verb
-- will say what is wrong with it.
local function prepare(run, call, object, given)
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
    if run.object and given.owner ~= false then
        owner.check(call, run.object, kind, metadata.namespace)
        owner.add(metadata, run.object)
    end
    return document, kind
end

local function pass_on(run, given, extra)
    local passed = { manager = given.manager or run.state.name, dry_run = given.dry_run,
        timeout = given.timeout }
    for name, value in pairs(extra or {}) do
        passed[name] = value
    end
    return passed
end

-- Takes an object, where nothing stands in the way.
local function adopt(run, existing, given)
    local problem = owner.obstacle(existing, run.object, given.adopt)
    if problem then
        return nil, problem, "not_owned"
    end
    local patch = owner.adoption(existing, run.object)
    if not patch then
        return existing
    end
    return run.state.client:patch(existing, patch, pass_on(run, given))
end

---@param run kubelua.controller.Inside
---@param object table|kubelua.Object|string
---@param given kubelua.RunCreateOptions?
---@return kubelua.Object?, string?, string?, number?
function write.create(run, object, given)
    given = options.optional("run:create", given, CREATE)
    local client = run.state.client
    local document, kind, problem = prepare(run, "run:create", object, given)
    if not document then
        return nil, kind, problem
    end
    local created, message, code, retry_after = client:create(document, pass_on(run, given))
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
    return adopt(run, existing, given)
end

-- A version that no object has: where a server finds one, it is a conflict, and else it says
-- nothing (kube-apiserver clears it when an apply creates).
local NONE = "1"

-- Sends an apply for an owner: of exactly this object, or of none.
local function send_apply(run, document, existing, given, passed)
    local metadata = document.metadata
    if existing then
        if owner.adoption(existing, run.object) and owner.controller(existing) then
            local taken, message, code, retry_after = adopt(run, existing, given)
            if not taken then
                return nil, message, code, retry_after
            end
        end
        metadata.uid = metadata.uid or existing.uid
    elseif metadata.resourceVersion == nil and metadata.uid == nil then
        metadata.resourceVersion = NONE
    end
    return run.state.client:apply(document, passed)
end

-- The apply of what is there, if this run's object may have it.
local function apply_to(run, document, existing, given, passed)
    local problem = owner.obstacle(existing, run.object, given.adopt)
    if problem then
        return nil, problem, "not_owned"
    end
    return send_apply(run, document, existing, given, passed)
end

local function apply_owned(run, document, kind, given, passed)
    local existing, message, code, retry_after = target.known(run, "run:apply", kind, document)
    if existing then
        return apply_to(run, document, existing, given, passed)
    elseif code ~= "not_found" then
        return nil, message, code, retry_after
    end
    local applied
    applied, message, code, retry_after = send_apply(run, document, nil, given, passed)
    if code ~= "conflict" or document.metadata.resourceVersion ~= NONE then
        return applied, message, code, retry_after
    end
    -- It is there, though the cache does not know it yet.
    existing = target.live(run, kind, document)
    if not existing then
        return nil, message, code, retry_after
    end
    document.metadata.resourceVersion = nil
    return apply_to(run, document, existing, given, passed)
end

---@param run kubelua.controller.Inside
---@param object table|string
---@param given kubelua.RunApplyOptions?
---@return kubelua.Object?, string?, string?, number?
function write.apply(run, object, given)
    given = options.optional("run:apply", given, APPLY)
    if core.is_view(object) then
        misuse("run:apply: this is an object that was read; apply a table of the fields that the "
            .. "controller owns: what is applied is owned, and what others wrote would be, too")
    end
    local document, kind, problem = prepare(run, "run:apply", object, given)
    if not document then
        return nil, kind, problem
    end
    local passed = pass_on(run, given, { force = given.force ~= false })
    if not kind or not run.object or given.owner == false
        or type(document.metadata.name) ~= "string" then
        return run.state.client:apply(document, passed)
    end
    return apply_owned(run, document, kind, given, passed)
end

return write
