-- kubelua run --reload: runs a script, and replaces it when its files change, or after SIGHUP.
-- reload/source.lua says what has changed; reload/handover.lua stops the old script, and goes back
-- to it if the new one fails.
local core = require "kubelua.core"
local handover = require "kubelua.cli.reload.handover"
local kubelua = require "kubelua"
local lines = require "kubelua.log_lines"
local log = require "kubelua.log"
local loop = require "kubelua.loop"
local misuse = require "kubelua.misuse"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local script_folder = require "kubelua.script_folder"
local scripts = require "kubelua.script"
local Source = require "kubelua.cli.reload.source"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

---@class kubelua.Reload
---@field source kubelua.ScriptSource
---@field arguments string[]
---@field describe fun(problem: any): any # makes a text with a traceback of an error
---@field current kubelua.RunningScript? nil: the first start has failed, or goes on
---@field is_wanted boolean true: the current script is to be replaced soon
---@field is_forced boolean after SIGHUP, even if nothing has changed
---@field put_back fun()? while the next script starts: restores the current one's globals

---@class kubelua.RunningScript
---@field script kubelua.Script
---@field version string
---@field main thread the coroutine of its main part
---@field till number when its kubelua.run ends, if nothing ends it before
---@field grace number
---@field is_in_run boolean

-- ---- globals and modules ----

local base, base_meta -- what _G has before the first script
local base_settings -- what read_settings returns then

local function copy(from)
    local all = {}
    for name, value in next, from do
        all[name] = value
    end
    return all
end

local function refill(into, from)
    for name in pairs(copy(into)) do
        rawset(into, name, from[name])
    end
    for name, value in pairs(from) do
        rawset(into, name, value)
    end
end

-- Other settings that a script may change. Without a reset the next script would see the change,
-- and a path that each start puts before package.path would be there again and again.
local function read_settings()
    return { path = package.path, cpath = package.cpath, preload = copy(package.preload),
        kubelua = copy(kubelua), is_hosted = tasks.is_hosted }
end

local function write_settings(settings)
    package.path, package.cpath = settings.path, settings.cpath
    refill(package.preload, settings.preload)
    refill(kubelua, settings.kubelua)
    tasks.is_hosted = settings.is_hosted
end

local function remember_globals()
    base, base_meta, base_settings = copy(_G), debug.getmetatable(_G), read_settings()
end

-- True for a global that is a loaded module, but not one of the script's: both stay.
local function is_kept(value)
    for _, module in pairs(package.loaded) do
        if rawequal(module, value) and type(value) == "table" then -- a script may have __eq
            return true
        end
    end
    return false
end

-- Removes the modules and globals of the current script. Returns a function that restores them.
local function take_out()
    local modules, globals, meta = {}, copy(_G), debug.getmetatable(_G)
    local settings = read_settings()
    for name in pairs(script_folder.own_modules()) do
        modules[name], package.loaded[name] = package.loaded[name], nil
    end
    local remember_places = script_folder.forget()
    write_settings(base_settings)
    debug.setmetatable(_G, base_meta) -- a script may have set __metatable
    for name, value in pairs(globals) do
        if base[name] == nil and not is_kept(value) then
            rawset(_G, name, nil)
        end
    end
    for name, value in pairs(base) do
        rawset(_G, name, value)
    end
    return function()
        take_out()
        remember_places()
        write_settings(settings)
        for name, module in pairs(modules) do
            package.loaded[name] = module
        end
        for name, value in pairs(globals) do
            rawset(_G, name, value)
        end
        debug.setmetatable(_G, meta)
    end
end

-- ---- metrics ----

local info, successes, failures

local function make_metrics()
    info = assert(core.metric("gauge", "kubelua_script_info",
        "The script that runs, and its version.", { "script", "version" }))
    local total = assert(core.metric("counter", "kubelua_script_reloads_total",
        "Reloads of the script.", { "result" }))
    successes, failures = assert(total:with("success")), assert(total:with("failure"))
end

-- ---- the main part of a script ----

local RUN = {} -- the main part yields this inside kubelua.run

local function resume_main(self, running_script, ...)
    local main = running_script.main
    tasks.poller:enter(core.activity("the start of " .. self.source.what), main)
    local resumed, ok, message = coroutine.resume(main, ...)
    tasks.poller:leave()
    running_script.is_in_run = resumed and ok == RUN and coroutine.status(main) == "suspended"
    running_script.till, running_script.grace = loop.plan(running_script.is_in_run
        and message or nil)
    if running_script.is_in_run then
        return true
    end
    return resumed and ok, not resumed and ok or message
end

-- Logs once if the main part has not returned after the time of the watchdog, and where it waits.
local function watch_start(self, main)
    if running.limit == 0 then
        return { cancelled = true }
    end
    return scheduler.at(core.now() + running.limit, function()
        log("warn", "the start of %s has not returned after %g s; it waits here:%s",
            self.source.what, running.limit,
            (debug.traceback(main, "", 0):gsub("^\n?stack traceback:", "")))
    end)
end

-- Runs the main part of a script until it has returned, or has called kubelua.run.
local function start(self, script, chunk)
    local one = { script = script }
    one.main = coroutine.create(function(...)
        return xpcall(chunk, self.describe, ...)
    end)
    tasks.mains[one.main] = function(given)
        if not core.is_yieldable() then
            misuse("kubelua.run inside a module that is required, or a function that C called: "
                .. "with --reload, call it in the script itself, or not at all")
        end
        return coroutine.yield(RUN, given)
    end
    local restore, timer = loop.forget_hopeless(), watch_start(self, one.main)
    waiting.is_given_up = function() return self.is_wanted end
    local ok, message = resume_main(self, one, (table.unpack or unpack)(self.arguments))
    waiting.is_given_up, timer.cancelled = nil, true
    one.version = self.source:note_loaded()
    if ok and loop.tell_hopeless() then
        ok, message = false, loop.tell_hopeless()
    end
    if not ok then
        restore()
    end
    return ok and one or nil, message
end

-- ---- one script after the other ----

local function tell_failure(self, message)
    failures:inc()
    local one = self.current
    local what = string.format("%s was not reloaded; %s", self.source.what,
        one and "version " .. one.version .. " goes on" or "no script runs")
    lines.write("error", what .. ": " .. tostring(message), { msg = what, error = message })
end

local function show_version(self, before)
    if before then
        info:remove(self.source.what, before.version)
        successes:inc()
        log("info", "reloaded %s (version %s)", self.source.what, self.current.version)
    end
    info:set(1, self.source.what, self.current.version)
end

-- Everything of the old script is garbage now. A trace of LuaJIT keeps its constants alive.
local function collect_old()
    if rawget(_G, "jit") then
        require("jit").flush()
    end
    collectgarbage()
    collectgarbage()
end

-- True: the new script has replaced the old one.
local function begin_next(self, chunk)
    local old = self.current
    if not handover.pause(old.script, waiting.grace) then
        return false -- the run ends
    end
    local put_back, seen = take_out(), self.source.seen
    self.put_back = put_back
    local new = scripts.new(self.source.what)
    new.replaces, scripts.current = old.script, new
    local one, message = start(self, new, chunk)
    if one and not tasks.poller:caught() then -- else the old script ends, as it would have
        self.current, self.put_back = one, nil
        handover.complete(old.script, new, waiting.grace)
        show_version(self, old)
        return true
    end
    if waiting.stopping and waiting.stopped_by == new then
        waiting.stopping = false
        message = message == waiting.ENDED and "it has called kubelua.stop()" or message
    end
    handover.take_back(new, old.script)
    put_back()
    scripts.current, self.put_back = old.script, nil
    handover.resume(old.script)
    self.source:keep_seen(seen)
    if not one and message ~= waiting.ENDED then
        tell_failure(self, message)
    elseif self.is_wanted then
        tell_failure(self, "its start was given up, as it has changed again")
    end
    return false
end

-- Starts a script while no script runs: the first one, or the next one if that start was given up.
local function begin_first(self, chunk)
    local script = scripts.new(self.source.what)
    scripts.current = script
    local one, message = start(self, script, chunk)
    self.current = one
    if one then
        show_version(self)
        return true
    end
    return false, message
end

-- An error between two scripts, such as a lack of memory, ends neither.
local function recover(self, message)
    local script, put_back = self.current.script, self.put_back
    if scripts.current ~= script then
        pcall(handover.take_back, scripts.current, script)
    end
    scripts.current, self.put_back = script, nil
    if put_back then
        put_back()
    end
    handover.resume(script)
    tell_failure(self, message)
end

local function replace(self)
    self.is_wanted = false
    local before = self.source.seen
    local chunk, message = self.source:load()
    if not chunk then
        self.source:keep_seen(before)
        return tell_failure(self, message)
    end
    local ok, result = xpcall(begin_next, debug.traceback, self, chunk)
    if not ok then
        recover(self, result)
    elseif result then
        collect_old()
    end
end

-- The task that waits for changes. It belongs to no script.
local function watch_changes(self)
    local function has_hung_up()
        self.is_forced = tasks.poller:has_hung_up() or self.is_forced
        return self.is_forced
    end
    while true do
        local problem = self.source:await_change(has_hung_up)
        self.is_forced = false
        if problem then
            tell_failure(self, problem)
        else
            self.is_wanted = true
            tasks.poller:wake()
        end
    end
end

local function start_watching(self)
    if not self.watcher or self.watcher.is_over then
        self.watcher = tasks.task("--reload", watch_changes, self)
        self.watcher.doing = function() end
        tasks.leave_script(self.watcher)
    end
end

-- The first start. It is given up, and the next one begins, if the files change before it ends.
local function start_first(self)
    repeat
        self.is_wanted = false
        local chunk, message = self.source:load()
        local ok
        if chunk then
            start_watching(self)
            ok, message = begin_first(self, chunk)
        end
        if ok or not self.is_wanted then
            return ok, message
        end
        log("info", "%s has changed: its start is given up, and begins again", self.source.what)
        handover.drop(scripts.current)
        take_out()
    until false
end

-- Runs rounds until the run has ended.
local function run_scripts(self)
    while true do
        start_watching(self)
        local is_over, signal = loop.run_until(self.current.till, self.current.grace, function()
            return self.is_wanted
        end)
        local one = self.current
        if not is_over then
            handover.with_signals(replace, self)
        elseif one.is_in_run then -- kubelua.run returns
            local ok, message = resume_main(self, one, signal)
            if not ok or not one.is_in_run then
                return ok, message, signal
            end
        else
            return true, nil, signal
        end
    end
end

---Runs the script of the command line until the run ends. Returns what the main part has returned:
---true; or false and its error; and the signal that has ended the run.
---@param options table of the command line
---@param describe fun(problem: any): any
---@return boolean, any, integer?
return function(options, describe)
    local self = { arguments = options.args, describe = describe, is_wanted = false,
        is_forced = false }
    local message
    if type(options.reload) == "table" then
        self.source, message = Source.of_config_map(options.reload)
    else
        self.source = Source.of_file(options.script)
    end
    if not self.source then
        return false, message
    end
    script_folder.of_command(self.source.main)
    remember_globals()
    make_metrics()
    tasks.poller:catch_hangup()
    local ok, signal
    ok, message = start_first(self)
    if ok then
        log("info", "%s runs (version %s); a change reloads it", self.source.what,
            self.current.version)
        ok, message, signal = run_scripts(self)
    end
    if self.watcher then
        self.watcher:cancel()
    end
    self.source:close()
    return ok or false, message, signal
end
