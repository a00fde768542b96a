-- Finalizes objects outside of the selectors of a controller: they have its finalizer, but the
-- selectors do not select them any more, or never did in this process. A second informer, with
-- metadata only and without selectors, shows when they are deleted.
local cache_of = require "kubelua.controller.cache_of"
local clients = require "kubelua.client"
local finalizer = require "kubelua.controller.finalizer"

local finalize_unselected = {}

---True if there can be such objects.
---@param state kubelua.controller.State
---@return boolean
function finalize_unselected.is_needed(state)
    return state.options.finalizer ~= nil and state.main ~= nil
        and not cache_of.takes_all(state.main)
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

---Begins to watch for such objects.
---@param state kubelua.controller.State
---@return true?, string?, string?
function finalize_unselected.open(state)
    if not finalize_unselected.is_needed(state) then
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
function finalize_unselected.find(state, key)
    if not finalize_unselected.is_needed(state) then
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

return finalize_unselected
