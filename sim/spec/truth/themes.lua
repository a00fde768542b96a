-- The requests of sim/spec/truth/themes: one file for each theme, which returns an array of them.
local themes = {}

local FOLDER = "sim/spec/truth/themes/"

---Sorted.
function themes.names()
    local names = {}
    local pipe = assert(io.popen("ls " .. FOLDER))
    for file in pipe:lines() do
        names[#names + 1] = file:match("^(.*)%.lua$")
    end
    pipe:close()
    table.sort(names)
    return names
end

---Its requests; each has a sentence of its own.
function themes.load(name)
    local requests, seen = assert(loadfile(FOLDER .. name .. ".lua"))(), {}
    for _, request in ipairs(requests) do
        local sentence = request[1]
        assert(not seen[sentence], name .. ": two requests are called " .. sentence)
        seen[sentence] = true
    end
    return requests
end

return themes
