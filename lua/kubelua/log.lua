-- kubelua.log: writes a line to standard error if its level is at least KUBELUA_LOG ("info" by
-- default). Inside nginx: to the error log, by the level of that log.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"

local LEVELS = { debug = true, info = true, warn = true, error = true }

local wanted = os.getenv("KUBELUA_LOG")
if not nginx.is_inside then
    core.set_log_level((LEVELS[wanted] or wanted == "off") and wanted or "info")
end
if wanted and wanted ~= "" and wanted ~= "off" and not LEVELS[wanted] then
    nginx.log("warn", core.escape("KUBELUA_LOG=" .. wanted)
        .. ": use debug, info, warn, error or off")
end

---Writes one line, whatever the values contain: what a log or a terminal would obey is escaped.
---@param level "debug"|"info"|"warn"|"error"
---@param message string with string.format's directives, if values follow
---@param ... any
local function log(level, message, ...)
    if not LEVELS[level] then
        misuse("kubelua.log: level '%s': use debug, info, warn or error", tostring(level))
    end
    if select("#", ...) > 0 then
        message = string.format(message, ...)
    end
    nginx.log(level, core.escape(tostring(message)))
end

return log
