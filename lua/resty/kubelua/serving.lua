-- Joins a worker to the candidates for the owner of the map: the one worker that watches the
-- cluster. The core watches, in its own thread (kl_shared_serve); this file runs once in each
-- worker.
local ffi = require "ffi"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local library = require "resty.kubelua.library"
local log = require "kubelua.log"
local maps = require "resty.kubelua.map"

local serving = {}

local FOR_EVER = 365 * 86400 -- seconds: nginx runs this timer early, when the worker exits
local LOOK = 0.002 -- seconds between two checks of a map that is not synced

local problem = ffi.new("kl_error")

-- An exiting worker may still have requests for hours, so another worker becomes the owner at once.
local function leave_owners(premature, map)
    if premature then
        library.kl_shared_leave(map.pointer)
    end
end

local function list_namespaces(services)
    local given = services and services.namespace or "*"
    return type(given) == "table" and given or { given }
end

-- A client for the core. It makes no connection before this worker is the owner.
local function open_client(map)
    if map.options.services == false then
        return nil
    end
    local client, message, code = clients.connect(map.options.connect)
    if not client then
        return nil, message, code
    end
    return client
end

-- The core copies the options, and takes a reference to the client.
local function join_owners(map, client)
    local services = map.options.services
    local namespaces = services == false and {} or list_namespaces(services)
    local names = ffi.new("const char *[?]", #namespaces + 1)
    for i, name in ipairs(namespaces) do
        names[i - 1] = name
    end
    local options = ffi.new("kl_serve_options")
    options.namespaces, options.namespace_count = names, #namespaces
    options.no_services = services == false
    options.labels = services and services.labels or nil
    options.clear_empty = map.options.empty == "clear"
    local code = library.kl_shared_serve(map.pointer, client and core.client_pointer(client),
        options, problem)
    return maps.result(code, problem)
end

---Joins; nil, message, code if that fails.
---@param map resty.kubelua.Map
---@return boolean?, string?, string?
function serving.start(map)
    if map.is_served or not ngx.worker.id() then
        -- The privileged agent has the rights of the master, so it does not watch.
        return true
    end
    local client, message, code = open_client(map)
    if message then
        return nil, message, code
    end
    local ok
    ok, message, code = join_owners(map, client)
    if not ok then
        return nil, message, code
    end
    map.is_served = true
    ok, message = ngx.timer.at(FOR_EVER, leave_owners, map)
    if not ok then
        log("warn", "resty.kubelua: nginx gave no timer (%s): if this worker is the owner, the "
            .. "next one takes over only when it has ended", tostring(message))
    end
    return true
end

---Waits until the cluster is known. The worker answers no requests meanwhile.
---@param map resty.kubelua.Map
---@param seconds number
---@return boolean?, string?, string?
function serving.wait(map, seconds)
    local deadline = core.now() + seconds
    while not map:is_synced() and core.now() < deadline do
        ffi.C.usleep(LOOK * 1e6)
    end
    if seconds > 0 and not map:is_synced() then
        local message = string.format("the first list of the cluster has not come within %g s (the "
            .. "error log has the reason); until it comes, picks return not_synced", seconds)
        log("warn", "kube.init_worker: %s", message)
        return nil, message, "timeout"
    end
    return true
end

return serving
