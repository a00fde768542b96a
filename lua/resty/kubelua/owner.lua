-- The scripts of kube.owner: they run in the worker that owns the map, and in the next one when it
-- has gone. Two timers: `supervise` looks ten times a second and cannot die, since nginx arms it
-- again before it runs; `dispatch` runs the handlers, and is started again by the other when it has
-- not been heard of for a while.
local kubelua = require "kubelua"
local library = require "resty.kubelua.library"
local log = require "kubelua.log"
local map = require "resty.kubelua.map"
local metrics = require "resty.kubelua.metrics"
local misuse = require "kubelua.misuse"
local writes = require "resty.kubelua.writes"

local owner = { scripts = {} }

local WATCHED = 0.1 -- seconds between two looks at which process owns the map
local PATIENCE = 2 -- seconds without a round before a dispatcher counts as dead
local ROUNDS = 2000 -- of one timer: nginx frees a timer's memory only when it ends
local ROLE_OWNER = 2 -- kl_serve_role
local IDLE, BUSY = 0.005, 0.001 -- seconds between rounds

local clients = {} -- that scripts have opened here
local is_running = false -- the scripts of this worker
local is_supervised = false
local heard = 0 -- when a round was last begun
local turn = 0 -- counts dispatchers: one that was taken for dead ends when it comes back

-- True in the worker that may write the map.
local function is_owner()
    return library.kl_shared_role(map.pointer) == ROLE_OWNER
end

-- The module as a script has it: kubelua.connect() is the cluster of kube.init.
local function module_for_scripts()
    local connect = kubelua.connect
    return setmetatable({
        connect = function(given)
            local merged = {}
            for name, value in pairs(map.options.connect or {}) do
                merged[name] = value
            end
            for name, value in pairs(given or {}) do
                merged[name] = value
            end
            local client, message, code = connect(merged)
            clients[#clients + 1] = client
            return client, message, code
        end,
    }, { __index = kubelua })
end

local function run_scripts()
    local module = module_for_scripts()
    for _, script in ipairs(owner.scripts) do
        kubelua.spawn(script, module) -- which logs what it raises
    end
end

local function end_scripts()
    is_running = false
    for _, client in ipairs(clients) do
        pcall(client.close, client)
    end
    clients = {}
end

local function may_run()
    return not ngx.worker.exiting() and is_owner()
end

local function rounds(mine)
    for _ = 1, ROUNDS do
        if turn ~= mine or not may_run() then
            return
        end
        heard = ngx.now()
        writes.is_round = true
        local ok, ran = pcall(kubelua.step, 0)
        writes.is_round = false
        writes.publish()
        if not ok then
            error(ran, 0)
        end
        metrics.handlers = metrics.handlers + ran
        ngx.sleep(ran > 0 and BUSY or IDLE)
    end
end

local function dispatch(premature, mine)
    if premature or turn ~= mine then
        return
    end
    local ok, problem = xpcall(rounds, debug.traceback, mine)
    if not ok then
        metrics.failures = metrics.failures + 1
        log("error", "kube.owner: the dispatcher failed, and goes on: %s", tostring(problem))
    end
    if turn == mine and may_run() then
        ngx.timer.at(ok and 0 or WATCHED, dispatch, mine) -- if it fails, `supervise` finds out
    end
end

local function start_dispatcher()
    turn = turn + 1
    heard = ngx.now()
    local ok, message = ngx.timer.at(0, dispatch, turn)
    if ok then
        metrics.dispatchers = metrics.dispatchers + 1
    else
        metrics.failures = metrics.failures + 1
        log("error", "kube.owner: no timer for the dispatcher (%s); the next try is in %g s",
            tostring(message), PATIENCE)
    end
end

local function supervise(premature)
    if premature or not may_run() then
        if is_running then
            end_scripts()
            kubelua.step(0) -- what waited on those clients ends
        end
    elseif not is_running then
        is_running = true
        run_scripts()
        start_dispatcher()
    elseif ngx.now() - heard > PATIENCE then
        log("warn", "kube.owner: no round of handlers for %g s: another dispatcher starts",
            PATIENCE)
        start_dispatcher()
    end
end

---Looks after the scripts of this worker from now on; once is enough.
function owner.supervise()
    if is_supervised or #owner.scripts == 0 then
        return
    end
    local ok, message = ngx.timer.every(WATCHED, supervise)
    if not ok then
        misuse("kube.owner: no timer can be had in this phase (%s); call it in init_by_lua or "
            .. "init_worker_by_lua", tostring(message))
    end
    is_supervised = true
end

---@param script fun(kubelua: table)
function owner.add(script)
    owner.scripts[#owner.scripts + 1] = script
end

return owner
