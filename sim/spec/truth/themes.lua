-- The requests of sim/spec/truth/themes: a file for each theme, which is a text (lines.lua), or in
-- Lua where requests are made by loops.
local lines = require "lines"

local themes = {}

local FOLDER = "sim/spec/truth/themes/"

---Sorted.
function themes.names()
    local names = {}
    local pipe = assert(io.popen("ls " .. FOLDER))
    for file in pipe:lines() do
        names[#names + 1] = file:match("^(.*)%.%l+$")
    end
    pipe:close()
    table.sort(names)
    return names
end

---Its requests; each has a sentence of its own.
function themes.load(name)
    local made_by = loadfile(FOLDER .. name .. ".lua")
    local requests, seen = made_by and made_by() or lines.read(FOLDER .. name .. ".txt"), {}
    for _, request in ipairs(requests) do
        local sentence = request[1]
        assert(not seen[sentence], name .. ": two requests are called " .. sentence)
        seen[sentence] = true
    end
    return requests
end

return themes
