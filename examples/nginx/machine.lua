-- The machine: a folder, files, and an nginx with the Lua module, which the script `run` has found.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local machine = {
    folder = assert(os.getenv("EXAMPLE_FOLDER"), "start this with examples/nginx/run"),
    LIMIT = 120, -- seconds: a wait that takes longer, also on a busy machine, is in vain
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

---Waits until the test returns true. The test returns false and a reason until then; raises that
---reason if it takes too long.
---@param what string
---@param test fun(): boolean, string?
function machine.wait_for(what, test)
    local till = core.now() + machine.LIMIT
    while true do
        local is_so, why = test()
        if is_so then
            return
        elseif core.now() > till then
            error(("%s: not within %d s: %s"):format(what, machine.LIMIT, why), 0)
        end
        kubelua.sleep(0.05)
    end
end

---Waits until a server answers a GET with a status of success.
---@param what string
---@param url string
function machine.wait_for_answer(what, url)
    machine.wait_for(what, function()
        local reply, message = kubelua.http(url)
        return reply ~= nil, message
    end)
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
