-- Writes a message of the command to standard error: as JSON if the log is JSON. Else as text, with
-- further lines indented, and with control characters, which a terminal would obey, escaped.
local core = require "kubelua.core"

---@param message any
return function(message)
    local lines = package.loaded["kubelua.log_lines"]
    if lines and lines.is_json then
        return lines.complain(tostring(message))
    end
    io.stderr:write("kubelua: ", core.escape(tostring(message), "indented"), "\n")
end
