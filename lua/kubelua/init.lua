-- The module kubelua: lets a script react to a Kubernetes cluster. This file lists its functions;
-- docs/LUA.md describes them.
require "kubelua.interpreter"
local clients = require "kubelua.client"
local controllers = require "kubelua.controller"
local core = require "kubelua.core"
local exec = require "kubelua.exec"
local http = require "kubelua.http"
local lines = require "kubelua.log_lines"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"
local loop = require "kubelua.loop"
local metric = require "kubelua.metric"
local misuse = require "kubelua.misuse"
local registrations = require "kubelua.registration"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local script_log = require "kubelua.script_log"
local script_tasks = require "kubelua.task"
local trace = require "kubelua.trace"
local triggers = require "kubelua.controller.triggers"
local values = require "kubelua.values"

---@class kubelua.Object a read-only Kubernetes object; a field is looked up when it is read
---@field name string
---@field namespace string nil if its kind has no namespaces
---@field key string "namespace/name"
---@field uid string
---@field resource_version string
---@field kind string
---@field apiVersion string
---@field metadata any
---@field spec any
---@field status any
---@field get fun(self, ...: string): ... the value at each path, in one search for up to 64 of
---them; nil if a part of the path is missing
---@field table fun(self, options: kubelua.TableOptions?): table a copy as Lua tables, which may be
---changed
---@field json fun(self): string
---@field [string] any

-- Makes pairs and ipairs for views and plain tables alike, in either Lua. So
-- `kubelua.ipairs(pod:get("a.b") or {})` works.
local function make_iterator(name, over_view, over_table)
    return function(value)
        local kind = type(value)
        if kind == "table" then
            return over_table(value)
        elseif kind ~= "userdata" then
            misuse("%s: an object, a part of one, or a table expected, not a %s", name, kind)
        end
        return over_view(value)
    end
end

local kubelua = {
    _VERSION = core.version,
    null = core.null,
    -- Of handlers that set none: how many events may wait before changes are coalesced.
    backlog = 10000,
    connect = clients.connect,
    controller = controllers.new,
    changed = triggers.changed,
    run = loop.run,
    step = loop.step,
    stop = loop.stop,
    fd = loop.fd,
    sleep = waiting.sleep,
    spawn = script_tasks.spawn,
    exec = exec,
    http = http,
    log = script_log.log,
    metric = metric,
    array = core.array,
    pairs = make_iterator("kubelua.pairs", core.pairs, pairs),
    ipairs = make_iterator("kubelua.ipairs", core.ipairs, ipairs),
    get = core.get,
    table = values.table,
    decode = values.decode,
    json = values.json,
    base64 = values.base64,
    unbase64 = values.unbase64,
    hash = values.hash,
    time = values.time,
    timestamp = values.timestamp,
    condition = values.condition,
}

registrations.defaults = kubelua -- it holds the backlog, which scripts may set

-- These are loaded when they are first called: the first three alone are a tenth of what starting
-- loads (1.2 of 11 ms in Lua 5.4), and few scripts need them.

---Reads an amount, such as "1500m" or "2Gi", exactly; or nil, message, "parse".
---@param value string|number|kubelua.Quantity
---@return kubelua.Quantity?, string?, string?
function kubelua.quantity(value)
    return require("kubelua.quantity")(value)
end

---Reads a Go duration, such as "1h30m", or makes one of seconds; or nil, message, "parse".
---@param value string|number|kubelua.Duration
---@return kubelua.Duration?, string?, string?
function kubelua.duration(value)
    return require("kubelua.duration")(value)
end

---Reads the schedule of a CronJob, such as "*/5 * * * *"; or nil, message, "parse".
---@param text string
---@return kubelua.Schedule?, string?, string?
function kubelua.cron(text)
    return require("kubelua.cron")(text)
end

---Asks functions of the script before an object is written: an admission webhook. kubelua run
---serves it with --admit. nil, message, code: the configuration is wrong, or an informer's options.
---@param given kubelua.AdmitOptions
---@return kubelua.Admission?, string?, string?
function kubelua.admit(given)
    return require("kubelua.admission").admit(given)
end

---Calls a function for each cluster that a source names: docs/FLEETS.md. nil, message, code: the
---configuration of the home cluster is wrong.
---@param given kubelua.FleetOptions
---@return kubelua.Fleet?, string?, string?
function kubelua.fleet(given)
    return require("kubelua.fleet").new(given)
end

---Tells that a host runs other things on this thread: outside of tasks, every call that would block
---raises from now on. kubelua.host(false) takes it back.
---@param yes boolean
function kubelua.host(yes)
    if type(yes) ~= "boolean" then
        misuse("kubelua.host: true or false")
    end
    tasks.is_hosted = yes
end

---Unix time in seconds, with a fraction: the machine's, or that of a simulated cluster whose clock
---a test moves.
---@return number
function kubelua.now()
    return tasks.clock_here():unix()
end

---Calls a function every so many seconds, one call at a time. stop() of the result ends it.
---@param seconds number
---@param f function
---@return { stop: fun() }
function kubelua.every(seconds, f)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds <= 0 or type(f) ~= "function" then
        misuse("kubelua.every: a number of seconds above 0, and a function")
    end
    local ticker = { stopped = false }
    local what = running.name("kubelua.every", f)
    local calls = false -- true while f runs
    local clock = tasks.clock_here()
    local next_at = clock:now() + seconds
    local task
    local function arm()
        ticker.timer = clock:at(next_at, function()
            tasks.wake(task)
        end)
    end
    function ticker.stop()
        ticker.stopped = true
        if ticker.timer then
            ticker.timer.cancelled = true
        end
    end
    task = tasks.task(what, function()
        while not ticker.stopped do
            arm()
            tasks.rest()
            if ticker.stopped then
                return
            end
            scheduler.count()
            calls = true
            local ok, problem = trace.call(f)
            calls = false
            if not ok and problem ~= trace.CANCELED then
                lines.write("error", what .. ": " .. problem,
                    { msg = what .. " failed", error = problem })
            end
            if ticker.stopped then
                return
            end
            -- If a call took longer than the interval, the ticks that it missed become one, which
            -- is due at once.
            next_at = math.max(next_at + seconds, clock:now())
        end
    end)
    task.serves, task.on_over = true, ticker.stop
    task.doing = function() return calls and what or nil end
    return ticker
end

return kubelua
