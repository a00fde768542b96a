-- The one road of the log's lines: those of scripts, controllers, tasks and of the command. As text
-- they are what they always were; as JSON each is one record (docs/LUA.md, Messages). Lines of the
-- core's threads are written in the same format by lua/src/log.c.
local core = require "kubelua.core"
local here = require "kubelua.fleet.here"
local log_json = require "kubelua.log_json"
local nginx = require "kubelua.nginx"
local scopes = require "kubelua.scope"

local lines = {
    is_json = false,
    LEVELS = { debug = 1, info = 2, warn = 3, error = 4, off = 5 },
    FORMATS = { text = true, json = true },
}

-- The value of a variable of the environment; nil: it is not set, or wrong, which is told.
local function read_variable(name, choices, remedy)
    local value = os.getenv(name)
    if value and value ~= "" and not choices[value] then
        nginx.log("warn", core.escape(name .. "=" .. value) .. ": use " .. remedy)
    end
    return choices[value or ""] and value or nil
end

---What a line is about. Names that are not here are those of the script.
---@class kubelua.LogSubject
---@field msg string? the message of the record, if it is not the text
---@field logger string? default: "kubelua"
---@field cluster string? of a fleet; default: that for which the present code works
---@field controller string?
---@field key string? "namespace/name", or "name"
---@field attempt integer?
---@field error string? may have a traceback
---@field line string? the line of the script
---@field fields table? the script's own

-- Container runtimes cut a line at 16 KB. The message, the error and the traceback have a quarter
-- of it each.
local MOST, PART = 16000, 3900

local level_now = "info"

---Sets the lowest level that is written, and the format; nil: as before.
---@param level string?
---@param format string?
function lines.set(level, format)
    level_now = level or level_now
    if format then
        lines.is_json = format == "json"
    end
    if not nginx.is_inside then
        core.set_log_level(level_now, lines.is_json and "json" or "text")
    end
end

-- The line of a script that a text names first: "shop.lua:7". Patterns that begin anywhere would
-- take a time that grows with the square of a long text.
local function find_line(text)
    local from, last = text:find("%.lua:%d+: ")
    local path = from and text:sub(math.max(from - 300, 1), from - 1):match("[^%s:]*$")
    return path and path .. text:sub(from, last - 2)
end

-- "shop.lua:7: oops\nstack traceback:\n\t..." in three: the text, the line of the script, and the
-- traceback.
local function split_error(text)
    local from, last = text:find("\nstack traceback:\n", 1, true)
    local trace = from and text:sub(last + 1):gsub("^\t", ""):gsub("\n\t", "\n")
    -- A script may have any name; without a traceback, "10.0.0.1:6443: " begins a text, too.
    local line = from and text:match("^([^%s:]+:%d+): ") or find_line(text)
    return from and text:sub(1, from - 1) or text, line, trace
end

local RESERVED = { ts = true, level = true, logger = true, msg = true, controller = true,
    namespace = true, name = true, attempt = true, error = true, line = true, traceback = true,
    truncated = true }

---@class kubelua.log_lines.Record
---@field parts string[]
---@field length integer
---@field is_cut boolean
local Record = {}
Record.__index = Record

function Record:add(name, value)
    if value == nil then
        return
    end
    local part = log_json.quote(name, 200) .. ":" .. log_json.write(value, PART)
    if self.length + #part > MOST - 100 then
        self.is_cut = true
        return
    end
    self.parts[#self.parts + 1] = part
    self.length = self.length + #part + 1
end

-- The script's own fields, sorted. One with a name of the record's own gets a "_" behind it.
function Record:add_fields(fields, cluster)
    local names, keys = {}, {}
    for key in next, fields do
        local ok, name = pcall(tostring, key)
        if ok and type(name) == "string" and keys[name] == nil then
            names[#names + 1], keys[name] = name, key
        end
    end
    table.sort(names)
    for _, name in ipairs(names) do
        if self.is_cut then
            return
        end
        local is_taken = RESERVED[name] or (name == "cluster" and cluster)
        self:add(is_taken and name .. "_" or name, rawget(fields, keys[name]))
    end
end

-- The members of a record behind its time and level.
local function make_record(text, subject)
    local run = scopes.here() and scopes.here().run
    if run and not subject.controller then
        subject.controller, subject.key, subject.attempt = run.controller, run.key, run.attempt
    end
    local message, line, trace = split_error(subject.msg or text)
    local problem
    if subject.error then
        problem, line, trace = split_error(subject.error)
    end
    local namespace, name = (subject.key or ""):match("^([^/]*)/(.*)$")
    local record = setmetatable({ parts = {}, length = 0, is_cut = false }, Record)
    record:add("logger", subject.logger or "kubelua")
    record:add("msg", message)
    record:add("cluster", subject.cluster)
    record:add("controller", subject.controller)
    record:add("namespace", namespace)
    record:add("name", name or subject.key)
    record:add("attempt", subject.attempt)
    record:add("error", problem)
    record:add("line", subject.line or line)
    record:add("traceback", trace)
    record:add_fields(subject.fields or {}, subject.cluster)
    return table.concat(record.parts, ",") .. (record.is_cut and ',"truncated":true' or "")
end

---Writes one line.
---@param level "debug"|"info"|"warn"|"error"
---@param text string
---@param subject kubelua.LogSubject? of a record
function lines.write(level, text, subject)
    local cluster = subject and subject.cluster or here.name()
    if not lines.is_json or nginx.is_inside then
        nginx.log(level, core.escape(cluster and cluster .. ": " .. text or text))
    elseif lines.LEVELS[level] >= lines.LEVELS[level_now] then
        subject = subject or {}
        subject.cluster = cluster
        core.log_record(level, make_record(text, subject))
    end
end

---Writes one line of a controller.
---@param level "debug"|"info"|"warn"|"error"
---@param state { name: string, what: string, cluster: string? } of the controller
---@param key string? that it is about
---@param message string with string.format's directives
---@param ... any
function lines.of_controller(level, state, key, message, ...)
    local text = string.format(message, ...)
    lines.write(level, state.what .. ": " .. text,
        { cluster = state.cluster, controller = state.name, key = key, msg = text })
end

---Writes what ends the command, at any level.
---@param text string
function lines.complain(text)
    core.log_record("error", make_record(text, {}))
end

-- A value behind "name=" in a line of text, which has 2 KB.
local function write_plain(value)
    local text = log_json.write(value, 500)
    local bare = type(value) == "string" and text:match('^"([^%s"=\\]+)"$')
    return bare or text
end

---The script's fields as text: " a=1 b=\"two words\"".
---@param fields table
---@return string
function lines.plain(fields)
    local parts = {}
    for key, value in next, fields do
        local ok, name = pcall(tostring, key)
        parts[#parts + 1] = " " .. write_plain(ok and name or "?") .. "=" .. write_plain(value)
    end
    table.sort(parts)
    return table.concat(parts)
end

if not nginx.is_inside then
    core.set_log_level(level_now)
end
local LEVELS = "debug, info, warn, error or off"
local by_name = read_variable("KUBELUA_LOG", lines.LEVELS, LEVELS)
lines.set(read_variable("KUBELUA_LOG_LEVEL", lines.LEVELS, LEVELS) or by_name,
    read_variable("KUBELUA_LOG_FORMAT", lines.FORMATS, "text or json"))

return lines
