-- Raises what a script did wrong, at the script's own line.
local core = require "kubelua.core"

-- Chunks of these folders are KubeLua's own: those beside this file, and in a source tree the
-- simulator's and the command's.
local root = debug.getinfo(1, "S").source:match("^(.*)kubelua/misuse%.lua$")
if root then
    for _, folder in ipairs { "kubelua/", "sim/kubelua/", "cli/kubelua/" } do
        core.own_source(root .. folder)
    end
end

---@param message string with string.format's directives, if values follow
---@param ... any
return function(message, ...)
    if select("#", ...) > 0 then
        message = string.format(message, ...)
    end
    core.misuse(message)
end
