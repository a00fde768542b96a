-- Finds out what a controller must know before a run: that the versions of its caches are numbers,
-- or that they are not; and the result of each write that was sent, but not answered.
local cache_of = require "kubelua.controller.cache_of"
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"
local versions_seen = require "kubelua.controller.versions_seen"

local writes_unknown = {}

local function prepare_source(state, source)
    local first = informer_parts.informers(source.informer)[1]
    if not core.compare_versions(first:resource_version(), "1") then
        local seen, message, code = versions_seen.new(state.what .. ": " .. source.name,
            source.informer)
        if not seen then
            return nil, message, code
        end
        source.versions_seen = seen
    end
    source.is_prepared = true
    return true
end

---Looks at each new source: if its versions are not numbers, remembers them (versions_seen.lua).
---Called before each run, when all caches have synced.
---@param state kubelua.controller.State
---@return true?, string?, string?
function writes_unknown.prepare(state)
    for _, source in pairs(state.sources) do
        if not source.is_prepared then
            local ok, message, code = prepare_source(state, source)
            if not ok then
                return nil, message, code
            end
        end
    end
    return true
end

---Notes a write whose target must be read from the server before the next run of the key.
---@param unknown table<string, kubelua.Write[]>
---@param key string
---@param write kubelua.Write
function writes_unknown.note(unknown, key, write)
    unknown[key] = unknown[key] or {}
    table.insert(unknown[key], write)
end

---Reads the target of a write whose result is unknown. Calls `remember` with what the server has,
---for each source that can hold it: no cache may be older than that.
---@param state kubelua.controller.State
---@param write kubelua.Write
---@param remember fun(source: kubelua.controller.Source, found: kubelua.Write)
---@return true?, string?, string?, number?
function writes_unknown.read(state, write, remember)
    local kind, name = write.kind, write.name
    if not name then
        return true -- it cannot be looked up
    end
    local object, message, code, retry_after = state.client:get(
        kind.api_version .. "/" .. kind.kind,
        kind.namespaced and write.namespace .. "/" .. name or name)
    if not object and code ~= "not_found" then
        return nil, message, code, retry_after
    end
    for _, source in ipairs(cache_of.sources(state, kind, write.namespace)) do
        remember(source, { verb = object and "update" or "delete", kind = kind, name = name,
            namespace = write.namespace, object = object, uid = not object and write.uid or nil })
    end
    return true
end

return writes_unknown
