-- The finalizer of a controller: it is added before the first reconcile of an object, and removed
-- when finalize is done. Both are merge patches of exactly this object at this version; after a
-- conflict the object is read again.
local cache_of = require "kubelua.controller.cache_of"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local outcome = require "kubelua.controller.outcome"
local verbs = require "kubelua.verbs"

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
        local reply
        reply, message, code, retry_after = verbs.methods.patch(state.client, object,
            { metadata = { resourceVersion = object.resource_version, finalizers = finalizers } },
            { manager = state.name })
        if reply or code == "not_found" then
            return reply
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
        state.writes:note_unknown(run.key, { kind = state.kind, name = object.name,
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

-- True if objects outside of the selectors of the controller may have its finalizer: the selectors
-- do not select them any more, or never did in this process.
local function can_be_unselected(state)
    return state.options.finalizer ~= nil and state.main ~= nil
        and not cache_of.selects_all(state.main)
end

local function is_due(state, object)
    return finalizer.is_terminating(object) and finalizer.is_on(object, state.options.finalizer)
end

-- Queues the key of an object that must be finalized.
local function queue_if_due(state, object)
    if is_due(state, object) then
        local known = state.main.informer:get(object.key)
        if not known or known.uid ~= object.uid then
            state:add(object.key)
        end
    end
end

---Begins to watch objects outside of the selectors. A second informer, with metadata only and
---without selectors, shows when they are deleted.
---@param state kubelua.controller.State
---@return true?, string?, string?
function finalizer.watch_unselected(state)
    if not can_be_unselected(state) then
        return true
    end
    local given = state.main.given
    local informer, message, code = clients.informer(state.client, { given[1],
        namespace = given.namespace, metadata = true, idle_timeout = given.idle_timeout,
        page_size = given.page_size, streaming_list = given.streaming_list,
        compress = given.compress },
        state.options.namespace)
    if not informer then
        return nil, message, code
    end
    local registration
    registration, message, code = informer:on {
        name = state.what .. ": finalizers",
        add = function(object) queue_if_due(state, object) end,
        update = function(_, object) queue_if_due(state, object) end,
    }
    if not registration then
        informer:stop()
        return nil, message, code
    end
    state.unselected = informer
    return true
end

---The object of a key that is not in the controller's cache, read from the server, if it must be
---finalized.
---@param state kubelua.controller.State
---@param key string
---@return kubelua.Object?, string?, string?, number?
function finalizer.find_unselected(state, key)
    if not can_be_unselected(state) then
        return nil
    end
    local object, message, code, retry_after = state.client:get(
        state.main.kind.api_version .. "/" .. state.main.kind.kind, key)
    if not object then
        if code == "not_found" then
            return nil
        end
        return nil, message, code, retry_after
    elseif is_due(state, object) then
        return object
    end
    return nil
end

return finalizer
