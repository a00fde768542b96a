-- A controller under test in a process of its own, which ends after some minutes at the latest.
local process = {}

local SECONDS = 300

---@param command string with KUBECONFIG for the path of a kubeconfig
---@param log string a file, to which its output is appended
---@return string pid
function process.start(command, kubeconfig, log)
    local pipe = assert(io.popen(("timeout -k 2 %d %s >>'%s' 2>&1 & echo $!"):format(SECONDS,
        command:gsub("KUBECONFIG", kubeconfig), log)))
    local pid = pipe:read("*l")
    pipe:close()
    return pid
end

---Sends SIGTERM, and waits until the process has ended; false after ten seconds.
function process.stop(pid)
    local ok = os.execute(("kill %s; tries=0; while kill -0 %s 2>/dev/null; do "
        .. "tries=$((tries + 1)); [ $tries -lt 200 ] || exit 1; sleep 0.05; done"):format(pid, pid))
    return ok == true or ok == 0 -- LuaJIT returns the status
end

return process
