-- Runs the scripts of kube.owner in the worker that owns their map; when that worker ends, they run
-- in the next owner. There are two timers. `supervise` runs ten times a second; it cannot die,
-- because nginx sets it again before it runs. `dispatch` runs the handlers, of all maps that this
-- worker owns; `supervise` starts it again after PATIENCE seconds without a round.
local clients = require "kubelua.client"
local core = require "kubelua.core"
local ffi = require "ffi"
local kubelua = require "kubelua"
local library = require "resty.kubelua.library"
local log = require "kubelua.log"
local maps = require "resty.kubelua.map"
local metrics = require "resty.kubelua.metrics"
local misuse = require "kubelua.misuse"
local pace = require "resty.kubelua.pace"
local tasks = require "kubelua.tasks"
local threads = require "resty.kubelua.threads"
local writes = require "resty.kubelua.writes"

local owner = {}

local WATCHED = 0.1 -- seconds between two checks of the owner
local PATIENCE = 2 -- seconds without a round, then a dispatcher counts as dead
local ROUNDS = 2000 -- rounds of one timer: nginx frees a timer's memory when it ends
local ROLE_OWNER = 2 -- kl_serve_role
local IDLE, BUSY = 0.005, 0.001 -- seconds between rounds
local RETRY = 1 -- seconds between two tries to read a configuration that cannot be used
local LOOKED = 0.5 -- seconds between two looks at the scripts' informers
local NO_WATCH = 0x7fffffffffffffffLL -- KL_SHARED_NO_WATCH

---The scripts of a map, and what they have in this worker.
---@class resty.kubelua.Cast
---@field scripts function[]
---@field clients kubelua.Client[] that they have opened
---@field is_running boolean
---@field looked_at number when their informers were looked at last

local casts = {} ---@type table<resty.kubelua.Map, resty.kubelua.Cast>

local is_supervised = false
local is_dispatching = false -- true once a dispatcher was started, while scripts run
local heard = 0 -- when the last round began
-- The number of the latest dispatcher. A dispatcher that counts as dead may run again: then it sees
-- that the number has changed, and ends.
local latest = 0

---True in the worker that may write to the map.
---@param map resty.kubelua.Map
---@return boolean
function owner.is_owner(map)
    return library.kl_shared_role(map.pointer) == ROLE_OWNER
end

-- Connects; in a task, waits while the configuration of kube.init cannot be used.
local function connect_patiently(map, given)
    local merged = {}
    local is_own = given and (given.server or given.kubeconfig or given.kubeconfig_text)
    for _, options in ipairs { map.options.connect or {}, given or {} } do
        for name, value in pairs(options) do
            merged[name] = value
        end
    end
    local client, message, code = kubelua.connect(merged)
    local told
    while code == "config" and not is_own and tasks.task_here() do
        if message ~= told then
            log("error", "kube.owner: %s%s; it is tried again each second", message,
                map.options.guess or "")
            told = message
        end
        kubelua.sleep(RETRY)
        client, message, code = kubelua.connect(merged)
    end
    return client, message, code
end

-- The module kubelua for scripts: its kubelua.connect() is the cluster of kube.init.
local function module_for_scripts(map, cast)
    return setmetatable({
        connect = function(given)
            local client, message, code = connect_patiently(map, given)
            cast.clients[#cast.clients + 1] = client
            return client, message, code
        end,
    }, { __index = kubelua })
end

local function start_scripts(map, cast)
    local module = module_for_scripts(map, cast)
    cast.is_running = true
    for _, script in ipairs(cast.scripts) do
        kubelua.spawn(script, module) -- it logs the error that a script raises
    end
end

local function stop_scripts(cast)
    cast.is_running = false
    for _, client in ipairs(cast.clients) do
        pcall(client.close, client)
    end
    cast.clients = {}
    kubelua.step(0) -- ends what waited for those clients
end

-- Tells the core, for kube.age, when the scripts' informers have heard from the server; and counts
-- them, for the metrics.
local function look_at_informers(map, cast)
    cast.looked_at = core.now()
    local oldest, count, synced = 0, 0, 0
    for _, client in ipairs(cast.clients) do
        for informer in pairs(clients.informers(client)) do
            local status = informer:status()
            if status.state ~= "stopped" then
                count, synced = count + 1, synced + (status.has_synced and 1 or 0)
                oldest = math.max(oldest, status.age or math.huge)
            end
        end
    end
    metrics.informers[map], metrics.informers_synced[map] = count, synced
    local age = oldest < math.huge and math.floor(oldest * 1000) or -1
    library.kl_shared_tell_age(map.pointer, count > 0 and age or NO_WATCH)
end

-- Starts or stops the scripts of each map. True: scripts run in this worker.
local function keep_scripts()
    local is_running = false
    for _, map in ipairs(maps.all) do
        local cast = casts[map]
        local may_run = cast ~= nil and not ngx.worker.exiting() and owner.is_owner(map)
        if may_run and not cast.is_running then
            start_scripts(map, cast)
        elseif cast and cast.is_running and not may_run then
            stop_scripts(cast)
            look_at_informers(map, cast)
        elseif may_run and core.now() - cast.looked_at > LOOKED then
            look_at_informers(map, cast)
        end
        is_running = is_running or may_run
    end
    threads.has_dispatcher = is_running
    return is_running
end

local function may_run()
    for map in pairs(casts) do
        if owner.is_owner(map) then
            return not ngx.worker.exiting()
        end
    end
    return false
end

-- One round of handlers; what they put is published together. If nothing is pending, waits for it
-- at most that long.
local function run_round(seconds)
    writes.is_round = true
    pace.begin()
    local ok, ran = pcall(kubelua.step, seconds)
    writes.is_round = false
    writes.publish()
    if not ok then
        error(ran, 0)
    end
    metrics.handlers = metrics.handlers + ran
    return ran
end

local function run_rounds(mine)
    for _ = 1, ROUNDS do
        if latest ~= mine or not may_run() then
            return
        end
        heard = ngx.now()
        local ran = run_round(0)
        threads.begin()
        ngx.sleep((ran > 0 or pace.has_more) and BUSY or IDLE)
    end
end

local function dispatch(premature, mine)
    if premature or latest ~= mine then
        return
    end
    local ok, problem = xpcall(run_rounds, debug.traceback, mine)
    if not ok then
        metrics.failures = metrics.failures + 1
        log("error", "kube.owner: the dispatcher failed, and goes on: %s", tostring(problem))
    end
    if latest == mine and may_run() then
        ngx.timer.at(ok and 0 or WATCHED, dispatch, mine) -- if this fails, `supervise` notices
    end
end

local function start_dispatcher()
    latest = latest + 1
    heard = ngx.now()
    local ok, message = ngx.timer.at(0, dispatch, latest)
    if ok then
        metrics.dispatchers = metrics.dispatchers + 1
    else
        metrics.failures = metrics.failures + 1
        log("error", "kube.owner: no timer for the dispatcher (%s); the next try is in %g s",
            tostring(message), PATIENCE)
    end
end

local function supervise(premature)
    if not keep_scripts() or premature then
        is_dispatching = false
    elseif not is_dispatching then
        is_dispatching = true
        start_dispatcher()
    elseif ngx.now() - heard > PATIENCE then
        log("warn", "kube.owner: no round of handlers for %g s: another dispatcher starts",
            PATIENCE)
        start_dispatcher()
    end
end

---Supervises the scripts of this worker from now on. A second call does nothing.
function owner.supervise()
    if is_supervised or next(casts) == nil then
        return
    end
    local ok, message = ngx.timer.every(WATCHED, supervise)
    if not ok then
        misuse("kube.owner: nginx gives no timer in this phase (%s); call it in init_by_lua or "
            .. "init_worker_by_lua", tostring(message))
    end
    is_supervised = true
end

---Runs the scripts of this worker while it starts, when no timer runs yet. Takes about so many
---seconds.
---@param seconds number
function owner.run_scripts(seconds)
    if not keep_scripts() then
        ffi.C.usleep(seconds * 1e6)
        return
    end
    local ok, problem = pcall(run_round, seconds)
    if not ok then
        log("error", "kube.owner: a round of handlers failed: %s", tostring(problem))
        ffi.C.usleep(seconds * 1e6)
    end
end

---@param map resty.kubelua.Map
---@param script fun(kubelua: table)
function owner.add(map, script)
    casts[map] = casts[map] or { scripts = {}, clients = {}, is_running = false,
        looked_at = 0 }
    table.insert(casts[map].scripts, script)
end

return owner
