-- Log lines on standard error. The level comes from KUBELUA_LOG, and is "info" without it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

local LEVELS = { debug = true, info = true, warn = true, error = true }

local wanted = os.getenv("KUBELUA_LOG")
core.set_log_level((LEVELS[wanted] or wanted == "off") and wanted or "info")
if wanted and wanted ~= "" and wanted ~= "off" and not LEVELS[wanted] then
    core.log("warn", "KUBELUA_LOG=" .. wanted .. ": use debug, info, warn, error or off")
end

---Writes one line to standard error.
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
    core.log(level, (tostring(message):gsub("%z", "\\0")))
end

return log
