-- The servers that bench/server compares: started, asked for their CPU time, stopped.
local json = require "cjson"

local server = {}

local Server = {}
Server.__index = Server

local function read(path)
    local file = io.open(path)
    local text = file and file:read("a")
    if file then
        file:close()
    end
    return text
end

local function run(command)
    local pipe = assert(io.popen(command))
    local text = pipe:read("a")
    assert(pipe:close(), "failed: " .. command)
    return text
end

---Seconds of CPU that its process has used.
function Server:cpu()
    local stat = assert(read("/proc/" .. self.pid .. "/stat"), "the server is gone")
    local after = stat:match("%) (.*)$")
    local fields = {}
    for field in after:gmatch("%S+") do
        fields[#fields + 1] = field
    end
    return (tonumber(fields[12]) + tonumber(fields[13])) / 100
end

function Server:stop()
    os.execute("kill " .. self.pid)
end

---A simulated cluster of so many pods on a port, over plain HTTP.
function server.simulated(root, pods)
    local log = os.tmpname()
    local pid = run(string.format(
        "'%s/bin/kubelua' run '%s/bench/server/serve.lua' %d >%s 2>&1 & echo $!", root, root, pods,
        log)):match("%d+")
    local self = setmetatable({ pid = pid, token = "" }, Server)
    repeat
        os.execute("sleep 0.2")
        self.said = (read(log) or ""):match("{.-}\n")
    until self.said or not read("/proc/" .. pid .. "/stat")
    assert(self.said, "it did not start; see " .. log)
    os.remove(log)
    self.said = json.decode(self.said)
    self.url = self.said.url
    self.resident = tonumber(read("/proc/" .. pid .. "/status"):match("VmRSS:%s*(%d+)")) * 1024
    return self
end

---kube-apiserver with etcd, as spec/cluster starts them, over TLS.
function server.real(root, folder)
    local script = "'" .. root .. "/spec/cluster/cluster.sh'"
    local times = run(string.format("begun=$(date +%%s%%N); %s start %s >&2; echo $begun "
        .. "$(date +%%s%%N)", script, folder))
    local begun, ended = times:match("(%d+) (%d+)")
    local env = read(folder .. "/env")
    local self = setmetatable({
        url = env:match("SERVER=(%S+)"), token = env:match("\nTOKEN=(%S+)"),
        pid = read(folder .. "/apiserver.pid"):match("%d+"), root = root, folder = folder,
        started = (ended - begun) / 1e9,
    }, Server)
    return self
end

---Creates ConfigMaps of 7 KB to list; returns how many.
function Server:fill()
    local count, items = 1000, {}
    for number = 1, count do
        items[number] = json.encode {
            apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "listed-" .. number, namespace = "default" },
            data = { text = ("0123456789"):rep(700) },
        }
    end
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('{"apiVersion":"v1","kind":"List","items":[', table.concat(items, ","), "]}")
    file:close()
    run(string.format("'%s/spec/cluster/cluster.sh' kubectl %s create -f %s", self.root,
        self.folder, path))
    os.remove(path)
    return count
end

---What this machine is.
function server.machine()
    local model = (read("/proc/cpuinfo") or ""):match("model name%s*:%s*([^\n]+)")
    return string.format("%s, %s cores", model or "unknown", run("nproc"):match("%d+"))
end

return server
