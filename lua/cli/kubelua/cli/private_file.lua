-- Makes the files of the command: recordings and kubeconfigs contain secrets. Each is made anew,
-- only its owner can read it, and a symbolic link is refused.
local core = require "kubelua.core"

---@param path string
---@return file*?, string?
return function(path)
    local fd, message = core.private_file(path)
    if not fd then
        return nil, message
    end
    -- Opens the descriptor, and not the path, which may lead to another file by now.
    local file, problem = io.open("/proc/self/fd/" .. math.floor(fd), "wb")
    core.close_file(fd)
    return file, problem
end
