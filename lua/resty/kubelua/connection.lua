-- Finds the API server in the master process. nginx removes the environment from its workers, so
-- the variables that kubelua.connect reads are read in init_by_lua, and passed to the workers as
-- options.
local connection = {}

local SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"

local function exists(path)
    local file = io.open(path, "rb")
    if file then
        file:close()
    end
    return file ~= nil
end

-- The options by the environment, looked for in the order of kubelua.connect.
local function read_environment()
    local path, home = os.getenv("KUBECONFIG"), os.getenv("HOME")
    if path and path ~= "" then
        return { kubeconfig = path }
    end
    if home and exists(home .. "/.kube/config") then
        return { kubeconfig = home .. "/.kube/config" }
    end
    local host, port = os.getenv("KUBERNETES_SERVICE_HOST"), os.getenv("KUBERNETES_SERVICE_PORT")
    if host and host ~= "" then
        host = host:find(":", 1, true) and "[" .. host .. "]" or host
        return { server = "https://" .. host .. ":" .. (port or "443"),
            token_file = SERVICE_ACCOUNT .. "token", ca_file = SERVICE_ACCOUNT .. "ca.crt" }
    end
    return {}
end

---The options of kubelua.connect for the workers.
---@param given kubelua.ConnectOptions?
---@return kubelua.ConnectOptions
function connection.resolve(given)
    local resolved = {}
    if not (given and (given.server or given.kubeconfig)) then
        resolved = read_environment()
    end
    for name, value in pairs(given or {}) do
        resolved[name] = value
    end
    return resolved
end

return connection
