-- A real kube-apiserver as a cluster for conformance specs (spec/cluster/README.md). Clients reach
-- it over HTTP/2 through a proxy that can refuse and cut; the specs' own requests bypass the proxy.
-- The whole process uses one cluster: the running one whose folder KUBELUA_CLUSTER names; otherwise
-- the first spec starts one, which ends with this process.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local backend = {
    name = "real",
    over_network = true,
    is_real = true,
}

local function quote(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Runs a shell command; returns its output, and fails if it fails.
local function shell(command)
    local pipe = assert(io.popen(command .. " 2>&1; echo \"status=$?\""))
    local said = pipe:read("*a")
    pipe:close()
    local text, status = said:match("^(.-)status=(%d+)\n$")
    if status ~= "0" then
        error(command .. ": " .. said, 0)
    end
    return text
end

---Runs a command of spec/cluster/cluster.sh on the cluster; returns its output.
function backend:control(command, ...)
    local words = { "spec/cluster/cluster.sh", command }
    for _, option in ipairs(self.start_options or {}) do
        words[#words + 1] = option
    end
    words[#words + 1] = quote(self.folder)
    for _, argument in ipairs { ... } do
        words[#words + 1] = quote(argument)
    end
    return shell(table.concat(words, " "))
end

local function read_environment(self)
    self.env = {}
    for line in io.lines(self.folder .. "/env") do
        local name, value = line:match("^([%w_]+)=(.*)$")
        self.env[name] = value
    end
end

local function start_cluster(self)
    self.folder = os.getenv("KUBELUA_CLUSTER")
    if not self.folder then
        local pid = shell("echo $PPID"):match("%d+")
        self.folder = (os.getenv("KUBELUA_BUILD") or "build") .. "/conformance-cluster-" .. pid
        if not io.open(self.folder .. "/env") then -- no earlier spec file has started it
            self.start_options = { "--owner", pid }
            self:control("start")
            self.start_options = nil
        end
    end
    read_environment(self)
end

-- Connects the client of the specs' own requests; the old connection may have been cut.
local function join_hands(self)
    if self.hands then
        self.hands:close()
    end
    self.hands = assert(kubelua.connect { kubeconfig = self.folder .. "/kubeconfig" })
end

function backend.call(request)
    local reply, message, code, refusal = backend.hands:request {
        method = request.method, path = request.target, body = request.body,
        headers = { ["Content-Type"] = request.type, Accept = request.accept },
    }
    reply = reply or refusal
    if not reply then
        return nil, message, code
    end
    return reply.status, reply.body, reply.headers["content-type"]
end

function backend:start()
    if not self.folder then
        start_cluster(self)
    end
    if not self.hands then
        join_hands(self)
    end
    return self
end

---Ends this backend; the cluster itself goes on running.
function backend:stop()
    if self.flagged then
        self:serve("--watch-cache=true")
        self.flagged = false
    end
    if self.hands then
        self.hands:close()
        self.hands = nil
    end
end

function backend:connect(options)
    local merged = { kubeconfig = self.folder .. "/kubeconfig-proxy" }
    for name, option in pairs(options or {}) do
        merged[name] = option
    end
    return kubelua.connect(merged)
end

function backend:refuse(on)
    self.troubled = true
    self:control("proxy", on and "refuse" or "accept")
    if on then
        self:cut()
    end
end

---Makes the proxy drop all bytes silently: nothing arrives, and neither end learns of it.
function backend:freeze()
    self.troubled = true
    self:control("proxy", "freeze")
end

function backend:thaw()
    self:control("proxy", "thaw")
end

function backend:cut()
    self:control("proxy", "cut")
end

---Kills kube-apiserver and starts it again: its watch cache starts empty.
---@param ... string other flags for kube-apiserver
function backend:crash(...)
    self:control("kill-apiserver")
    self:control("start-apiserver", ...)
    join_hands(self)
end

---Makes kube-apiserver end its watches and connections gracefully, and starts it again.
function backend:restart()
    self:control("restart-apiserver")
    join_hands(self)
end

---Restarts kube-apiserver with other flags; `stop` restores the default flags.
function backend:serve(...)
    self:crash(...)
    self.flagged = true
end

---Gives the administrator another token; kube-apiserver restarts for that.
function backend:rotate(token)
    self:control("set-token", token)
    join_hands(self)
end

---Makes the cluster forget the history of changes. After a compaction of etcd, kube-apiserver still
---answers from its watch cache, so it first restarts without one.
function backend:compact()
    if self.flagged ~= "no watch cache" then
        self:serve("--watch-cache-sizes=configmaps#0,pods#0")
        self.flagged = "no watch cache"
    end
    self:control("compact")
end

function backend:requests()
    return {}
end

function backend:forget_requests() end

function backend:heal()
    if self.troubled then
        self:control("proxy", "accept")
        self:control("proxy", "thaw")
        self.troubled = false
    end
end

function backend:crowd(count)
    if not self.crowded then
        self.crowded = "crowd-" .. os.time()
        local path = "/api/v1/namespaces"
        local function create(where, object)
            local status, body = self.call { method = "POST", target = where,
                body = core.encode(object) }
            assert(status == 201, tostring(status) .. ": " .. tostring(body))
        end
        create(path, { apiVersion = "v1", kind = "Namespace", metadata = { name = self.crowded } })
        for i = 1, count do
            create(path .. "/" .. self.crowded .. "/configmaps", {
                apiVersion = "v1",
                kind = "ConfigMap",
                metadata = { name = string.format("c-%04d", i) },
                data = { v = "1" },
            })
        end
    end
    return self.crowded
end

return backend
