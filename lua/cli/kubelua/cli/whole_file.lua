-- Reads and writes files as a whole, for the command.
local whole_file = {}

---@param path string
---@return string? text, string? message it names the path
function whole_file.read(path)
    local file, message = io.open(path, "rb")
    if not file then
        return nil, message
    end
    local text, problem = file:read("*a")
    file:close()
    return text, not text and path .. ": " .. tostring(problem) or nil
end

---@param path string
---@param text string
---@param open (fun(path: string): file*?, string?)? default: io.open, for writing
---@return true?, string? message it names the path
function whole_file.write(path, text, open)
    local file, message
    if open then
        file, message = open(path)
    else
        file, message = io.open(path, "wb")
    end
    if not file then
        return nil, message
    end
    local written, problem = file:write(text)
    local closed, last_problem = file:close()
    if not (written and closed) then
        return nil, path .. ": " .. tostring(problem or last_problem)
    end
    return true
end

return whole_file
