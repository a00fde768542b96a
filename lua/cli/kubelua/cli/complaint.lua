-- Writes what the command complains of to standard error. A further line is indented; what a
-- terminal would obey is escaped.
local core = require "kubelua.core"

---@param message any
return function(message)
    io.stderr:write("kubelua: ", core.escape(tostring(message), "indented"), "\n")
end
