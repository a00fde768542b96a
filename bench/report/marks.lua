-- Reads files, and replaces what stands between two marks of one.
local marks = {}

function marks.read(path)
    local file = assert(io.open(path))
    local content = file:read("a")
    file:close()
    return content
end

function marks.write(path, content)
    local file = assert(io.open(path, "w"))
    assert(file:write(content))
    assert(file:close())
end

-- A file's text with `content` between its two marks.
function marks.between(path, first, last, content)
    local text = marks.read(path)
    local _, from = text:find(first, 1, true)
    local to = from and text:find(last, from, true)
    assert(to, path .. " lacks the marks of bench/run")
    return text:sub(1, from) .. content .. text:sub(to)
end

return marks
