-- The files of the folder differences: what the simulator answers otherwise than kube-apiserver,
-- and why that stays so. Each returns `what` and `why` for the table of the docs, then arrays: a
-- request and the parts of its answer that differ; or `anywhere`, a pattern of parts in any answer.
local differences = {}

local FOLDER = "sim/spec/truth/differences/"

---All of them, sorted by file; `file` is its name.
function differences.load()
    local all = {}
    local pipe = assert(io.popen("ls " .. FOLDER))
    for name in pipe:lines() do
        local difference = assert(loadfile(FOLDER .. name))()
        difference.file = name
        all[#all + 1] = difference
    end
    pipe:close()
    return all
end

local function quoted(text)
    return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

-- One entry, on as many lines as it needs.
local function write_entry(file, entry)
    local words = {}
    for i, word in ipairs(entry) do
        words[i] = quoted(word)
    end
    local line = "    { " .. table.concat(words, ", ") .. " },\n"
    if #line > 100 then
        line = "    {\n        " .. table.concat(words, ",\n        ") .. ",\n    },\n"
    end
    file:write(line)
end

---Writes one back; removes the file of one that is empty.
function differences.save(difference)
    local path = FOLDER .. difference.file
    if not difference.anywhere and #difference == 0 then
        os.remove(path)
        return
    end
    local file = assert(io.open(path, "w"))
    file:write("-- Known differences with one reason (sim/spec/truth/README.md).\nreturn {\n")
    for _, key in ipairs { "what", "why", "anywhere" } do
        if difference[key] then
            file:write("    ", key, " = ", quoted(difference[key]), ",\n")
        end
    end
    for _, entry in ipairs(difference) do
        write_entry(file, entry)
    end
    file:write("}\n")
    file:close()
end

return differences
