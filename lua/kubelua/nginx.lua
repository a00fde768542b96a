-- What KubeLua knows of nginx's Lua module, and the only file that looks at `ngx`. Inside nginx:
-- 1. Coroutines stay apart. The module keeps a pointer to the current request in each Lua thread,
--    and its coroutine.* suspend that request. A task of KubeLua belongs to none: it is made, and
--    rounds run, while the pointer is cleared; then ngx.sleep in a handler raises the module's own
--    error ("no request found") instead of crashing the worker.
-- 2. What would block the worker raises an error that names the alternative.
-- 3. Log lines go to nginx's error log.
-- Elsewhere all of this is what plain Lua has.
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
    pcall = pcall, -- of what must not see the request
}

---Raises inside nginx where a call would block the worker: while it starts and ends, it may.
---@param name string of the call
function nginx.refuse_wait(name) end

---Raises inside nginx if no time is given, wherever it is called.
---@param name string
---@param seconds number?
function nginx.refuse_endless(name, seconds) end

---Raises inside nginx: what can be done there is the alternative.
---@param name string
---@param alternative string
function nginx.refuse(name, alternative) end

---Writes a line to the log.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function nginx.log(level, message)
    core.log(level, message)
end

---Has lines of the core's threads be filtered as nginx's error log is: in init_by_lua it is not
---open yet.
function nginx.take_log_level() end

if not is_inside then
    return nginx
end

local STEP = "dispatch with ngx.timer.every(0.01, function() kubelua.step() end)"

-- Phases in which nothing else of the worker (or of the master) is held up.
local MAY_WAIT = { init = true, init_worker = true, exit_worker = true }

local has_exdata, exdata = pcall(require, "thread.exdata")
if not has_exdata then
    error("kubelua inside nginx needs OpenResty's LuaJIT, and this is " .. _G.jit.version
        .. ": install it (Debian: the package libluajit2-5.1-2)", 0)
end
local NONE = require("ffi").cast("void *", 0)

-- The functions of plain Lua, which the module keeps under other names.
for _, name in ipairs { "create", "resume", "yield", "status" } do
    nginx[name] = coroutine["_" .. name] or coroutine[name]
end

local function restore(request, ...)
    exdata(request)
    return ...
end

function nginx.pcall(...)
    local request = exdata()
    if request == nil then
        return pcall(...)
    end
    exdata(NONE)
    return restore(request, pcall(...))
end

-- A new thread has the pointer of the one that makes it.
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
