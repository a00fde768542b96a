-- Writes a line of KubeLua's own. The lines of scripts: script_log.lua.
local lines = require "kubelua.log_lines"

---Writes one line, whatever the values contain: what a log or a terminal would obey is escaped.
---@param level "debug"|"info"|"warn"|"error"
---@param message string with string.format's directives, if values follow
---@param ... any
return function(level, message, ...)
    if select("#", ...) > 0 then
        message = string.format(message, ...)
    end
    lines.write(level, tostring(message))
end
