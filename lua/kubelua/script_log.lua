-- The lines that a script logs: kubelua.log, and run.log in a controller's run.
local lines = require "kubelua.log_lines"
local misuse = require "kubelua.misuse"
local scopes = require "kubelua.scope"

local LEVELS = { debug = true, info = true, warn = true, error = true }

-- The message, formatted by string.format with the values; and the table of fields that may follow
-- them. A table with a metatable is a value.
local function format_message(message, ...)
    local count = select("#", ...)
    local fields = count > 0 and select(count, ...) or nil
    if type(fields) ~= "table" or getmetatable(fields) ~= nil then
        return tostring(count > 0 and string.format(message, ...) or message), nil
    elseif count == 1 then
        return tostring(message), fields
    end
    local values = { ... }
    return string.format(message, (table.unpack or unpack)(values, 1, count - 1)), fields
end

local script_log = {}

---@param call string for messages of a misuse
---@param subject kubelua.LogSubject
---@param prefix string of the line as text
---@param level "debug"|"info"|"warn"|"error"
---@param message string
---@param ... any
function script_log.write(call, subject, prefix, level, message, ...)
    if not LEVELS[level] then
        misuse("%s: level '%s': use debug, info, warn or error", call, tostring(level))
    end
    local text, fields = format_message(message, ...)
    if lines.is_json then
        subject.logger, subject.msg, subject.fields = "script", text, fields
        subject.line = scopes.script_line():match("^(.*): $")
    end
    lines.write(level, prefix .. text .. (fields and lines.plain(fields) or ""), subject)
end

---Writes one line, whatever the values contain: what a log or a terminal would obey is escaped.
---@param level "debug"|"info"|"warn"|"error"
---@param message string with string.format's directives, if values follow
---@param ... any the values; then a table of fields by name, or nothing
function script_log.log(level, message, ...)
    script_log.write("kubelua.log", {}, "", level, message, ...)
end

return script_log
