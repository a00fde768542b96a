-- The controllers that can never work, because their configuration or an option is wrong for good.
-- kubelua.run and the command end with a failure because of them; nothing else would tell.
local log = require "kubelua.log"

local hopeless = {}

local list = {} -- texts: "controller foo can never work: ..."

---Logs at once that a controller can never work, and remembers it.
---@param where string the line of the script: "foo.lua:5: ", or ""
---@param what string "controller foo"
---@param message string
function hopeless.add(where, what, message)
    local text = what .. " can never work: " .. message
    list[#list + 1] = text
    log("error", "%s", where .. text)
end

---Says which controllers can never work; nil: all can.
---@return string?
function hopeless.tell()
    return list[1] and table.concat(list, "; ")
end

return hopeless
