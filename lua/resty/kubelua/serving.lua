-- Joins a worker to the candidates for the owner of the map: the one worker that watches the
-- cluster. The core watches, in its own thread (kl_shared_serve); this file runs once in each
-- worker.
local ffi = require "ffi"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local library = require "resty.kubelua.library"
local log = require "kubelua.log"
local maps = require "resty.kubelua.map"
local owner = require "resty.kubelua.owner"
local readiness = require "resty.kubelua.readiness"

local serving = {}

local FOR_EVER = 365 * 86400 -- seconds: nginx runs this timer early, when the worker exits
local LOOK = 0.002 -- seconds between two checks of a map that is not synced
local RETRY = 1 -- seconds between two tries to read a configuration that cannot be used

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
    options.external_names = map.options.external_names or false
    options.keep_ms = (map.options.keep or 0) * 1000
    local code = library.kl_shared_serve(map.pointer, client and core.client_pointer(client),
        options, problem)
    return maps.result(code, problem)
end

-- Joins once; nil, message, code if that fails.
local function join(map)
    local client, message, code = open_client(map)
    if message then
        return nil, message .. (map.options.guess or ""), code
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

-- Joins, and logs why not: each reason once, as this is tried each second.
local function join_or_tell(map)
    local ok, message, code = join(map)
    if not ok and message ~= map.trouble then
        map.trouble = message
        log("error", "kube.init_worker: %s%s", message,
            code == "config" and "; it is tried again each second" or "")
    end
    return ok, message, code
end

-- A kubeconfig may be written, or become readable, after nginx has started.
local function join_later(premature, map)
    if not premature and not map.is_served and not join_or_tell(map) then
        ngx.timer.at(RETRY, join_later, map)
    end
end

---Joins; if the configuration cannot be used yet, tries again each second, and returns nil,
---message, code.
---@param map resty.kubelua.Map
---@return boolean?, string?, string?
function serving.start(map)
    if map.is_served or not ngx.worker.id() then
        -- The privileged agent has the rights of the master, so it does not watch.
        return true
    end
    map.is_started = true
    local ok, message, code = join_or_tell(map)
    if not ok and code == "config" then
        ngx.timer.at(RETRY, join_later, map)
    end
    return ok, message, code
end

-- Waits for LOOK seconds. With tables it runs the owner's scripts meanwhile: this worker may be the
-- owner, and only they fill the tables.
local function pass_time(map)
    if map.options.tables then
        owner.run_scripts(LOOK)
    else
        ffi.C.usleep(LOOK * 1e6)
    end
end

-- Says what is missing after a wait.
local function describe_missing(map, seconds)
    local names = readiness.missing(map)
    if names[1] == readiness.SERVICES then
        return string.format("the first list of the cluster has not come within %g s (the error "
            .. "log has the reason); until it comes, picks return not_synced", seconds)
    end
    return string.format("no script of kube.owner has called kube.complete for %s within %g s (the "
        .. "error log has the reason); until then, kube.lookup may not find what is there",
        table.concat(names, ", "), seconds)
end

---Waits until the cluster is known, and the tables that kube.init names are complete. The worker
---answers no requests meanwhile.
---@param map resty.kubelua.Map
---@param seconds number
---@return boolean?, string?, string?
function serving.wait(map, seconds)
    local begun = core.now()
    local deadline, retry = begun + seconds, begun + RETRY
    while not readiness.is_ready(map) and core.now() < deadline do
        if not map.is_served and core.now() >= retry then
            join_or_tell(map)
            retry = core.now() + RETRY
        end
        pass_time(map)
    end
    if seconds > 0 and not readiness.is_ready(map) then
        local message = describe_missing(map, seconds)
        log("warn", "kube.init_worker: %s", message)
        return nil, message, "timeout"
    end
    return true
end

return serving
