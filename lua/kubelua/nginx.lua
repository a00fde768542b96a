-- What KubeLua does differently inside nginx. No other file looks at `ngx`. Inside nginx:
-- 1. Coroutines are kept apart. nginx's Lua module stores a pointer to the current request in each
--    Lua thread, and its coroutine.* functions suspend that request. A task of KubeLua belongs to
--    no request: tasks are made, and rounds run, while the pointer is cleared. So ngx.sleep in a
--    handler raises nginx's own error ("no request found") instead of crashing the worker.
-- 2. A call that would block the worker raises an error that names the alternative.
-- 3. Log lines go to nginx's error log.
-- Outside of nginx, the functions here are those of plain Lua.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

local ngx = rawget(_G, "ngx")
local is_inside = type(ngx) == "table" and type(ngx.get_phase) == "function"

local nginx = {
    is_inside = is_inside,
    create = coroutine.create,
    resume = coroutine.resume,
    yield = coroutine.yield,
    status = coroutine.status,
    pcall = pcall, -- calls a function that must not see the request
}

---Raises inside nginx if a call would block the worker. It may block while a worker starts or ends.
---@param name string of the call
function nginx.refuse_wait(name) end

---Raises inside nginx if the call has no time limit.
---@param name string
---@param seconds number?
function nginx.refuse_endless(name, seconds) end

---Raises inside nginx: the call would block; `alternative` says what to do instead.
---@param name string
---@param alternative string
function nginx.refuse(name, alternative) end

---Writes a line to the log.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function nginx.log(level, message)
    core.log(level, message)
end

---Filters the log lines of the core's threads as nginx's error log is filtered. Called again later,
---because in init_by_lua the error log is not open yet.
function nginx.take_log_level() end

if not is_inside then
    return nginx
end

local STEP = "dispatch with ngx.timer.every(0.01, function() kubelua.step() end)"

-- In these phases the worker (or the master) has nothing else to do.
local MAY_WAIT = { init = true, init_worker = true, exit_worker = true }

local has_exdata, exdata = pcall(require, "thread.exdata")
if not has_exdata then
    error("kubelua inside nginx needs OpenResty's LuaJIT, and this is " .. _G.jit.version
        .. ": install it (Debian 12: the package libluajit2-5.1-2; docs/NGINX.md)", 0)
end
local NONE = require("ffi").cast("void *", 0)

-- nginx's Lua module keeps the functions of plain Lua under names with a "_" in front.
for _, name in ipairs { "create", "resume", "yield", "status" } do
    nginx[name] = coroutine["_" .. name] or coroutine[name]
end

local function restore_request(request, ...)
    exdata(request)
    return ...
end

function nginx.pcall(...)
    local request = exdata()
    if request == nil then
        return pcall(...)
    end
    exdata(NONE)
    return restore_request(request, pcall(...))
end

-- A new Lua thread inherits the pointer of the thread that makes it.
local create = nginx.create
function nginx.create(f)
    local ok, result = nginx.pcall(create, f)
    if not ok then
        error(result, 0)
    end
    return result
end

function nginx.refuse(name, alternative)
    misuse("%s would block nginx's worker; %s", name, alternative)
end

function nginx.refuse_wait(name)
    if not MAY_WAIT[ngx.get_phase()] then
        nginx.refuse(name, "call it inside kubelua.spawn(function() ... end), and " .. STEP)
    end
end

function nginx.refuse_endless(name, seconds)
    if seconds == nil then
        nginx.refuse(name .. " without a time", "give it one, such as 5 seconds, in "
            .. "init_worker_by_lua; or use kubelua.spawn, and " .. STEP)
    end
end

nginx.STEP = STEP

local LEVELS = { debug = ngx.DEBUG, info = ngx.INFO, warn = ngx.WARN, error = ngx.ERR }
local errlog = require "ngx.errlog"

function nginx.take_log_level()
    local filter, wanted = errlog.get_sys_filter_level(), "off"
    for _, level in ipairs { "error", "warn", "info", "debug" } do
        wanted = filter >= LEVELS[level] and level or wanted
    end
    core.set_log_level(wanted, "nginx")
end

function nginx.log(level, message)
    errlog.raw_log(LEVELS[level], "kubelua: " .. message)
end

nginx.take_log_level()

return nginx
