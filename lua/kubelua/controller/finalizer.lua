-- The finalizer of a controller: it is added before the first reconcile of an object, and removed
-- when finalize is done. Both are merge patches of exactly this object at this version; after a
-- conflict the object is read again.
local core = require "kubelua.core"
local outcome = require "kubelua.controller.outcome"
local verbs = require "kubelua.verbs"
local writes_unknown = require "kubelua.controller.writes_unknown"

local finalizer = {}

-- How often a patch is tried while others write the object at the same time.
local TRIES = 5

local function list_others(object, name)
    local others, is_there = core.array(), false
    local all = object:get("metadata.finalizers") or {}
    for i = 1, #all do
        if all[i] == name then
            is_there = true
        else
            others[#others + 1] = all[i]
        end
    end
    return others, is_there
end

---True if an object has the finalizer.
---@param object kubelua.Object
---@param name string
---@return boolean
function finalizer.is_on(object, name)
    local _, is_there = list_others(object, name)
    return is_there
end

---True if an object is being deleted.
---@param object kubelua.Object
---@return boolean
function finalizer.is_terminating(object)
    return object:get("metadata.deletionTimestamp") ~= nil
end

-- The finalizers that the object must have; nil: it has them already.
local function list_wanted(object, name, is_wanted)
    local finalizers, is_there = list_others(object, name)
    if is_there == is_wanted then
        return nil
    elseif is_wanted then
        finalizers[#finalizers + 1] = name
    end
    return finalizers
end

-- Reads the same object from the server. nil alone: it is gone, or its name belongs to another
-- object.
local function read_again(state, object)
    local live, message, code, retry_after = state.client:get(object)
    if not live and code == "not_found" then
        return nil
    end
    return live, message, code, retry_after
end

-- Adds or removes the finalizer. Returns the object as it is then; nil alone: it is gone; or nil,
-- message, code, retry_after.
local function set_finalizer(state, object, is_wanted)
    local name, message, code, retry_after = state.options.finalizer, nil, nil, nil
    for _ = 1, TRIES do
        local finalizers = list_wanted(object, name, is_wanted)
        if not finalizers or (is_wanted and finalizer.is_terminating(object)) then
            return object -- nothing can be added to a terminating object
        end
        local answer
        answer, message, code, retry_after = verbs.methods.patch(state.client, object,
            { metadata = { resourceVersion = object.resource_version, finalizers = finalizers } },
            { manager = state.name })
        if answer or code == "not_found" then
            return answer
        elseif code ~= "conflict" then
            break
        end
        local why, why_code, later
        object, why, why_code, later = read_again(state, object)
        if not object then
            return nil, why, why_code, later
        end
    end
    return nil, message, code, retry_after
end

local function make_failure(state, object, verb, message, code, retry_after)
    return outcome.failure(string.format("the finalizer %s cannot be %s %s: %s",
        state.options.finalizer, verb, tostring(object), message), code, retry_after)
end

---Runs finalize for an object that is being deleted, and removes the finalizer once finalize is
---done.
---@param state kubelua.controller.State
---@param run kubelua.Run
---@param object kubelua.Object it has the finalizer
---@return kubelua.controller.Outcome
function finalizer.finalize(state, run, object)
    local result = outcome.call("finalize", state.options.finalize, object, run)
    if result.keeps then
        return result
    end
    local left, message, code, retry_after = set_finalizer(state, object, false)
    if message then
        return make_failure(state, object, "taken from", message, code, retry_after)
    -- The object is gone. A cache that still has it must not finalize it again.
    elseif not left then
        writes_unknown.note(state.writes.unknown, run.key, { kind = state.kind, name = object.name,
            namespace = object.namespace, uid = object.uid })
    end
    return result
end

---Runs before a reconcile. Returns the outcome of the key, if there is nothing to reconcile; else
---nil and the object as it is now.
---@param state kubelua.controller.State
---@param run kubelua.Run
---@param object kubelua.Object
---@return kubelua.controller.Outcome?
---@return kubelua.Object?
function finalizer.step(state, run, object)
    local name = state.options.finalizer
    if not name then
        return nil, object
    elseif finalizer.is_terminating(object) then
        if finalizer.is_on(object, name) then
            return finalizer.finalize(state, run, object)
        end
        return nil, object
    end
    local with, message, code, retry_after = set_finalizer(state, object, true)
    if message then
        return make_failure(state, object, "added to", message, code, retry_after)
    elseif not with then
        return outcome.done -- it is gone: the delete event will come
    elseif finalizer.is_terminating(with) then
        return finalizer.step(state, run, with)
    end
    return nil, with
end

return finalizer
