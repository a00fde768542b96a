-- The machine: a folder, files, and an nginx with the Lua module, which the script `run` has found.
local machine = {
    folder = assert(os.getenv("EXAMPLE_FOLDER"), "start this with examples/nginx/run"),
}

---Writes a file to the folder: a text in which @names@ are replaced. Returns its path.
---@param name string
---@param text string
---@param values table<string, any>
---@return string
function machine.write(name, text, values)
    local path = machine.folder .. "/" .. name
    local file = assert(io.open(path, "w"))
    values.folder = machine.folder
    file:write((text:gsub("@([%w_]+)@", function(word)
        return tostring(values[word] or os.getenv("EXAMPLE_" .. word:upper()) or "")
    end)))
    file:close()
    return path
end

---The command line of nginx.
---@param arguments string[]
---@return string[]
function machine.nginx(arguments)
    local command = { "env", "LD_LIBRARY_PATH=" .. (os.getenv("EXAMPLE_LIBRARIES") or ""),
        os.getenv("EXAMPLE_NGINX") or "nginx" }
    for _, argument in ipairs(arguments) do
        command[#command + 1] = argument
    end
    return command
end

---The text of a file beside this one.
---@param name string
---@return string
function machine.read(name)
    local file = assert(io.open(os.getenv("EXAMPLE_SOURCE") .. "/" .. name))
    local text = file:read("*a")
    file:close()
    return text
end

return machine
