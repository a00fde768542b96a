-- Raises a mistake of the script, with the line of the script.
local core = require "kubelua.core"
local scopes = require "kubelua.scope"

-- Chunks in these folders are KubeLua's own: the folder of this file; in a source tree also those
-- of the simulator and the command.
local root = debug.getinfo(1, "S").source:match("^(.*)kubelua/misuse%.lua$")
if root then
    for _, folder in ipairs { root .. "kubelua/", root .. "cli/kubelua/",
        root:gsub("lua/$", "") .. "sim/lua/kubelua/" } do
        core.own_source(folder)
    end
end

---@param message string with string.format's directives, if values follow
---@param ... any
return function(message, ...)
    if select("#", ...) > 0 then
        message = string.format(message, ...)
    end
    if core.script_line() == "" then -- a tail call: see kubelua.Scope.line
        message = scopes.script_line() .. message
    end
    core.misuse(message)
end
