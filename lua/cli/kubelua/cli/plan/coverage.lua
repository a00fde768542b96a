-- For kubelua plan: notes which lines of the script and of its own modules run. A line that has not
-- run may send requests, whose rights are then missing in the role; so the plan names such lines.
-- The lines are counted by a hook. Code that LuaJIT has compiled calls no hook, so while a script
-- is planned, LuaJIT compiles nothing.
local core = require "kubelua.core"
local lua_source = require "kubelua.cli.plan.lua_source"
local nginx = require "kubelua.nginx"
local sorted_keys = require "kubelua.sorted_keys"

---A file that has run.
---@class kubelua.CoveredFile
---@field path string
---@field source kubelua.LuaSource
---@field hits table<integer, true> lines that ran
---@field active table<integer, true> lines that could have run, of functions that ran
---@field reached table<string, true> "first-last" of functions that ran

---A part of a file that has not run.
---@class kubelua.Unreached
---@field file string
---@field first integer
---@field last integer
---@field text string

---@class kubelua.Coverage
---@field files table<string, kubelua.CoveredFile> by path
---@field count integer grows with each line that runs for the first time
---@field private till number
---@field private late string
local Coverage = {}
Coverage.__index = Coverage

local coverage = {}

-- The time is looked at once in so many lines. (Lua 5.4 loses most calls of a count hook: it also
-- counts the instructions of the hook itself.)
local LINES = 4096

local getinfo = debug.getinfo

-- The file in which a function is written, if it is the script or one of its modules; else false.
local function file_of(self, info)
    local path = info.source:match("^@(.*)$")
    if not path or not self.is_own(path) then
        return false
    end
    local file = self.files[path]
    if not file then
        local read = lua_source.read_file(path)
        if not read then
            return false
        end
        file = { path = path, source = read, hits = {}, active = {}, reached = {} }
        self.files[path], self.by_short[info.short_src] = file, file
    end
    return file
end

-- Notes a function that runs for the first time; returns its file, or false.
local function note_function(self, f)
    local info = getinfo(f, "SL")
    local file = file_of(self, info)
    self.of_function[f] = file
    if file then
        for line in pairs(info.activelines or {}) do
            file.active[line] = true
        end
        file.reached[info.linedefined .. "-" .. info.lastlinedefined] = true
        self.count = self.count + 1
    end
    return file
end

local function make_hook(self)
    local left = LINES
    return function(_, line)
        left = left - 1
        if left == 0 then
            left = LINES
            if core.now() > self.till then
                error(self.late, 0)
            end
        end
        local f = getinfo(2, "f").func
        local file = self.of_function[f]
        if file == nil then
            file = note_function(self, f)
        end
        if file and not file.hits[line] then
            file.hits[line] = true
            self.count = self.count + 1
        end
    end
end

-- debug.sethook sets the hook of one coroutine only in Lua 5.4. So each new coroutine gets the hook
-- when it is made.
local function hook_coroutines(self)
    local create, wrap, of_tasks = coroutine.create, coroutine.wrap, nginx.create
    local function hooked(make)
        return function(f)
            local co = make(f)
            debug.sethook(co, self.hook, "l")
            return co
        end
    end
    nginx.create = hooked(of_tasks)
    rawset(coroutine, "create", hooked(create))
    rawset(coroutine, "wrap", function(f)
        local co = coroutine.create(f)
        local function pass(ok, ...)
            if not ok then
                error((...), 0)
            end
            return ...
        end
        return function(...)
            return pass(coroutine.resume(co, ...))
        end
    end)
    return function()
        nginx.create = of_tasks
        rawset(coroutine, "create", create)
        rawset(coroutine, "wrap", wrap)
    end
end

---Begins to note lines, in this coroutine and in each coroutine that is made from now on.
---@param is_own fun(path: string): boolean true for the script and its modules
---@param till number a time of core.now: a function that still runs then raises
---@param late string that error
---@return kubelua.Coverage
function coverage.start(is_own, till, late)
    local self = setmetatable({ is_own = is_own, files = {}, by_short = {}, count = 0,
        till = till, late = late, of_function = setmetatable({}, { __mode = "k" }) }, Coverage)
    if jit then
        self.was_compiling = jit.status()
        jit.off()
        jit.flush()
    end
    self.hook = make_hook(self)
    self.unhook = hook_coroutines(self)
    debug.sethook(self.hook, "l")
    return self
end

---Ends it: removes the hook, and lets LuaJIT compile again.
function Coverage:stop()
    debug.sethook()
    self.unhook()
    self.hook = nil
    if self.was_compiling then
        jit.on()
    end
end

local function add_range(ranges, path, first, last, method)
    local where = path .. ":" .. first .. (last > first and "-" .. last or "")
        .. (method and " (" .. method .. ")" or "")
    ranges[#ranges + 1] = { file = path, first = first, last = last,
        text = where .. " was not reached: what it needs is not in the role" }
end

local function is_within(ranges, line)
    for _, range in ipairs(ranges) do
        if range.first <= line and line <= range.last then
            return true
        end
    end
    return false
end

-- The ranges of functions that have never run, and that contain a call.
local function list_functions(file)
    local ranges = {}
    for _, each in ipairs(file.source.functions) do
        local last = each.last or each.first
        if each.calls and not file.reached[each.first .. "-" .. last]
            and not is_within(ranges, each.first) then
            add_range(ranges, file.path, each.first, last)
        end
    end
    return ranges
end

-- Adds the lines that have not run, of functions that have run, if a call there sends a request.
local function add_lines(file, ranges)
    local first, last
    local function finish()
        if first and file.source:asks(first, last) and not is_within(ranges, first) then
            add_range(ranges, file.path, first, last)
        end
        first = nil
    end
    for _, line in ipairs(sorted_keys(file.active)) do
        if file.hits[line] then
            finish()
        elseif not file.source:only_ends(line) then
            first, last = first or line, line
        end
    end
    finish()
end

-- The verb of the request that a method sends. A method that is missing here is called as its verb
-- (create, get), or is in SEND_ANY.
local SENDS = { apply = "patch", scale = "patch", status = "patch", evict = "create", logs = "get",
    wait = "watch", informer = "watch", controller = "watch" }
local SEND_ANY = { request = true, delete_all = true }

local function has_sent(branch, short, requests)
    for _, request in ipairs(requests) do
        if (branch.is_tail or request.lines[short .. ":" .. branch.line])
            and (SEND_ANY[branch.method]
                or request.verb == (SENDS[branch.method] or branch.method))
            or branch.method == "event" and request.resource == "events" then
            return true
        end
    end
    return false
end

-- Adds calls behind a branch, such as `x and client:get(...)`, whose line has run but which have
-- sent no request.
local function add_branches(file, short, ranges, requests)
    for _, branch in ipairs(file.source:branches()) do
        if file.hits[branch.line] and not is_within(ranges, branch.line)
            and not has_sent(branch, short, requests) then
            add_range(ranges, file.path, branch.line, branch.line, branch.method)
        end
    end
end

---What has not run and may send requests, in the order of files and lines.
---@param requests kubelua.AskedRequest[] what was sent
---@return kubelua.Unreached[]
function Coverage:unreached(requests)
    local all = {}
    for short, file in pairs(self.by_short) do
        local ranges = list_functions(file)
        add_lines(file, ranges)
        add_branches(file, short, ranges, requests)
        for _, range in ipairs(ranges) do
            all[#all + 1] = range
        end
    end
    table.sort(all, function(a, b)
        if a.file ~= b.file then
            return a.file < b.file
        end
        return a.first < b.first
    end)
    return all
end

---The file of a line as errors name it: long paths are shortened there.
---@param short string
---@return kubelua.CoveredFile?
function Coverage:file_of_line(short)
    return self.by_short[short]
end

---The files that have run: the script and its modules, sorted.
---@return string[]
function Coverage:paths()
    return sorted_keys(self.files)
end

return coverage
