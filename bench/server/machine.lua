-- The machine on which the benchmark runs, and the load of other processes on it.
local machine = {}

---A file's text, or nil.
---@param path string
---@return string?
function machine.read(path)
    local file = io.open(path)
    local text = file and file:read("a")
    if file then
        file:close()
    end
    return text
end

---What a command prints.
---@param command string
---@return string
function machine.run(command)
    local pipe = assert(io.popen(command))
    local text = pipe:read("a")
    assert(pipe:close(), "failed: " .. command)
    return text
end

---@return integer
function machine.cores()
    return tonumber(machine.run("nproc")) // 1
end

---@param root string of the source tree
---@return string
function machine.describe(root)
    local model = (machine.read("/proc/cpuinfo") or ""):match("model name%s*:%s*([^\n]+)")
    local commit = machine.run("git -C '" .. root .. "' rev-parse --short HEAD 2>/dev/null || true")
    return string.format("%s, %d cores, commit %s", model or "unknown", machine.cores(),
        commit:match("%w+") or "unknown")
end

---The load average of the last minute.
---@return number
function machine.load()
    return tonumber((machine.read("/proc/loadavg") or "0"):match("^[%d.]+"))
end

---The share of the CPU time since `before` that the hypervisor kept; without `before`, the
---counters.
---@param before { all: number, stolen: number }?
---@return { all: number, stolen: number, share: number? }
function machine.stolen(before)
    local all, at, stolen = 0, 0, 0
    for ticks in (machine.read("/proc/stat") or ""):match("^cpu ([^\n]+)"):gmatch("%d+") do
        at = at + 1
        all = all + (at <= 8 and tonumber(ticks) or 0)
        stolen = at == 8 and tonumber(ticks) or stolen
    end
    local now = { all = all, stolen = stolen }
    if before then
        now.share = (now.stolen - before.stolen) / math.max(1, now.all - before.all)
    end
    return now
end

return machine
