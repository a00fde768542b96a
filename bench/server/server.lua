-- The servers that bench/server compares: starts them, reads their CPU time, stops them.
local json = require "cjson"
local machine = require "machine"

local server = {}

---@class bench.Server
---@field url string
---@field token string
---@field pid string
local Server = {}
Server.__index = Server

---Seconds of CPU that its process has used.
---@return number
function Server:cpu()
    local stat = assert(machine.read("/proc/" .. self.pid .. "/stat"), "the server is gone")
    local fields = {}
    for field in stat:match("%) (.*)$"):gmatch("%S+") do
        fields[#fields + 1] = field
    end
    return (tonumber(fields[12]) + tonumber(fields[13])) / 100
end

---Bytes of memory that it has.
---@return integer
function Server:resident()
    local status = assert(machine.read("/proc/" .. self.pid .. "/status"), "the server is gone")
    return tonumber(status:match("VmRSS:%s*(%d+)")) * 1024
end

-- taskset fails if a thread ends while it lists them, as threads of connections do.
local KEEP = "tries=0; until taskset -a -c -p %s %s >/dev/null 2>&1; do tries=$((tries + 1)); "
    .. "[ $tries -lt 50 ] || exit 1; sleep 0.1; done"

---Keeps its threads, also later ones, on one core; nil: on any core.
---@param core integer?
function Server:keep_on_core(core)
    machine.run(KEEP:format(core or "0-" .. machine.cores() - 1, self.pid))
end

local started = {}

---Stops the simulated servers.
function server.stop_all()
    for _, pid in ipairs(started) do
        os.execute("kill " .. pid .. " 2>/dev/null")
    end
end

---A simulated cluster of so many pods on a port, over plain HTTP.
---@return bench.Server
function server.simulated(root, pods)
    local log = os.tmpname()
    local pid = machine.run(string.format(
        "'%s/bin/kubelua' run '%s/bench/server/serve.lua' %d >%s 2>&1 & echo $!", root, root, pods,
        log)):match("%d+")
    started[#started + 1] = pid
    local self = setmetatable({ pid = pid, token = "" }, Server)
    repeat
        os.execute("sleep 0.2")
        self.said = (machine.read(log) or ""):match("{.-}\n")
    until self.said or not machine.read("/proc/" .. pid .. "/stat")
    assert(self.said, "it did not start; see " .. log)
    os.remove(log)
    self.said = json.decode(self.said)
    self.url = self.said.url
    return self
end

---kube-apiserver with etcd, as spec/cluster starts them, over TLS.
---@return bench.Server
function server.real(root, folder)
    local script = "'" .. root .. "/spec/cluster/cluster.sh'"
    local times = machine.run(string.format("begun=$(date +%%s%%N); %s start %s >&2; echo $begun "
        .. "$(date +%%s%%N)", script, folder))
    local begun, ended = times:match("(%d+) (%d+)")
    local env = machine.read(folder .. "/env")
    return setmetatable({
        url = env:match("SERVER=(%S+)"), token = env:match("\nTOKEN=(%S+)"),
        pid = machine.read(folder .. "/apiserver.pid"):match("%d+"), root = root, folder = folder,
        started = (ended - begun) / 1e9,
    }, Server)
end

---Creates ConfigMaps of 7 KB to list.
function Server:fill(count)
    local items = {}
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
    machine.run(string.format("'%s/spec/cluster/cluster.sh' kubectl %s create -f %s", self.root,
        self.folder, path))
    os.remove(path)
end

return server
