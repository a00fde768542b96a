-- Finds the private copies of nginx (spec/nginx/packages.sh) that fit this interpreter, and runs
-- shell commands for the specs with nginx.
local copies = {}

copies.build = os.getenv("KUBELUA_BUILD") or "build"

---The library of a sanitizer, to be preloaded. This interpreter and nginx need it; programs that a
---shell runs must not get it.
copies.preload = os.getenv("LD_PRELOAD") or ""

---Runs a command; returns its output and exit status.
---@param command string
---@return string, integer
function copies.shell(command)
    local pipe = assert(io.popen("unset LD_PRELOAD; { " .. command
        .. "\n} 2>&1; echo \"status=$?\""))
    local said = pipe:read("*a")
    pipe:close()
    local text, status = said:match("^(.-)\n?status=(%d+)\n$")
    return text, tonumber(status)
end

local function absolute(path)
    return (copies.shell("cd '" .. path .. "' && pwd"))
end

local found

---NGINX, MODULES, SHARE, LIBRARIES and VERSION of the copies; `root`, the folder of the tree; and
---`build`, the build folder. nil and the reason if there are none.
---@return table?, string?
function copies.find()
    if found then
        return found
    end
    local folder = os.getenv("KUBELUA_NGINX") or "build/nginx"
    local said, status = copies.shell("spec/nginx/packages.sh '" .. folder .. "'")
    if status == 77 then
        return nil, said:match("[^\n]*$")
    end
    assert(status == 0, said)
    found = { root = absolute("."), build = absolute(copies.build) }
    for line in io.lines(said:match("[^\n]*$") .. "/env") do
        local name, value = line:match("^([A-Z]+)=(.*)$")
        found[name] = value
    end
    return found
end

---Makes key.pem and crt.pem in a folder: a certificate that signs itself, for two days.
---@param folder string
---@param name string
---@param words string? more arguments of `openssl req`
function copies.certificate(folder, name, words)
    local said, status = copies.shell(("cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
        .. "-subj /CN=%s %s -keyout key.pem -out crt.pem"):format(folder, name, words or ""))
    assert(status == 0, said)
end

---Finds so many free ports of 127.0.0.1.
---@param count integer
---@return integer[]
function copies.free_ports(count)
    local ports = {}
    for port in copies.shell(copies.build .. "/spec/nginx_load free " .. count):gmatch("%d+") do
        ports[#ports + 1] = tonumber(port)
    end
    assert(#ports == count, "no free ports")
    return ports
end

return copies
