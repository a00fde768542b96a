-- A real kube-apiserver as the cluster of spec/nginx/chaos_spec.lua: KUBELUA_CHAOS_CLUSTER=real.
-- The spec's own changes go to it directly, nginx's requests through the proxy that can cut them.
local backend = require "backend_real"
local copies = require "nginx_copies"
local kubelua = require "kubelua"

local chaos_real = {}

---@class spec.ChaosRealCluster : spec.ChaosCluster
local Cluster = {}
Cluster.__index = Cluster

---Starts the API server, or takes the one that runs.
---@return spec.ChaosRealCluster
function chaos_real.start()
    local self = setmetatable({ backend = backend:start() }, Cluster)
    for _, name in ipairs { "web", "bad" } do
        assert(self:load("{apiVersion: v1, kind: Namespace, metadata: {name: " .. name .. "}}"))
    end
    return self
end

---Fields of gateway.init's connect.
---@return string
function Cluster:connect_text()
    return ("kubeconfig = %q"):format(copies.shell("cd '" .. self.backend.folder .. "' && pwd")
        .. "/kubeconfig-proxy")
end

local function kubectl(self, words, text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text or "")
    file:close()
    local said, status = copies.shell(("spec/cluster/cluster.sh kubectl '%s' %s <%s"):format(
        self.backend.folder, words, path))
    os.remove(path)
    if status ~= 0 then
        return nil, said
    end
    return said
end

local PATHS = {
    Service = "/api/v1/%s/services", Secret = "/api/v1/%s/secrets",
    EndpointSlice = "/apis/discovery.k8s.io/v1/%s/endpointslices",
    Ingress = "/apis/networking.k8s.io/v1/%s/ingresses",
    Gateway = "/apis/gateway.networking.k8s.io/v1/%s/gateways",
    HTTPRoute = "/apis/gateway.networking.k8s.io/v1/%s/httproutes",
}

local function path_of(kind, namespace, name)
    return PATHS[kind]:format("namespaces/" .. namespace) .. "/" .. name
end

-- One request, again and again while the API server is away.
local function ask(request)
    local deadline, is_repeated = kubelua.now() + 30, false
    while true do
        local status, body, code = backend.call(request)
        if status == 404 and is_repeated and request.method == "DELETE" then
            return body -- the one before was carried out, and its answer lost
        end
        if status or kubelua.now() > deadline then
            if status and status < 300 then
                return body
            end
            return nil, tostring(body), code
        end
        is_repeated = true
        kubelua.sleep(0.1)
    end
end

local function apply(kind, namespace, name, text)
    return ask { method = "PATCH", body = text, type = "application/apply-patch+yaml",
        target = path_of(kind, namespace, name) .. "?fieldManager=chaos&force=true" }
end

---Creates or replaces the objects of a text.
---@param text string
---@return string?, string?
function Cluster:load(text)
    local kind = text:match('"?kind"?:%s*"?(%u%a+)')
    local name = text:match('metadata"?:%s*{?%s*"?name"?:%s*"?([%w-]+)')
    local namespace = text:match('"?namespace"?:%s*"?([%w-]+)')
    if PATHS[kind] and not text:find("\n---", 1, true) then
        return apply(kind, namespace, name, text)
    end
    local said, message = kubectl(self, "apply --server-side --field-manager=chaos "
        .. "--force-conflicts -f -", text)
    if said and text:find("CustomResourceDefinition", 1, true) then
        return kubectl(self, "wait crd --all --for condition=established --timeout 30s")
    end
    return said, message
end

---@param object table
---@return string?, string?
function Cluster.apply(_, object)
    return apply(object.kind, object.metadata.namespace, object.metadata.name,
        kubelua.json(object))
end

local KINDS = { services = "Service", secrets = "Secret",
    ["endpointslices.discovery.k8s.io"] = "EndpointSlice" }

---@param kind string
---@param key string
---@return string?, string?
function Cluster.delete(_, kind, key)
    return ask { method = "DELETE", target = path_of(KINDS[kind], key:match("^(.-)/(.*)$")) }
end

function Cluster:close()
    self.backend:heal()
    self.backend:stop()
end

---What the trouble of chaos_trouble.lua is with this cluster. While a shell runs, no other task
---does: so only nginx finds the API server away.
---@param trouble table
---@return table
function chaos_real.trouble(trouble)
    function trouble:away()
        backend:refuse(true)
        kubelua.sleep(0.3 + self.random(10) / 10)
        backend:refuse(false)
    end

    function trouble.silent()
        backend:freeze()
        kubelua.sleep(1)
        backend:thaw()
    end

    function trouble.cut()
        backend:cut()
    end

    function trouble.compact() -- the watch cache is empty then: 410 for what is older
        backend:crash()
    end

    function trouble.cut_lists() -- the server stands still
        copies.shell(("pid=$(cut -d ' ' -f 1 '%s/apiserver.pid'); kill -STOP $pid; sleep 1.5; "
            .. "kill -CONT $pid"):format(backend.folder))
    end

    trouble.late_list = trouble.kill_owner
    return trouble
end

return chaos_real
