-- Writes what the command complains of to standard error: in the log's format, if that is JSON.
-- Else a further line is indented; what a terminal would obey is escaped.
local core = require "kubelua.core"

---@param message any
return function(message)
    local lines = package.loaded["kubelua.log_lines"]
    if lines and lines.is_json then
        return lines.complain(tostring(message))
    end
    io.stderr:write("kubelua: ", core.escape(tostring(message), "indented"), "\n")
end
