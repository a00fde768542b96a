-- Finds the API server in the master process. nginx removes the environment from its workers, so
-- the variables that kubelua.connect reads are read in init_by_lua, and passed to the workers as
-- options.
local connection = {}

local SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"

local NOTHING = "; nginx's master process had neither KUBECONFIG nor KUBERNETES_SERVICE_HOST in "
    .. "its environment: set one of them, or give kube.init a kubeconfig or a server"

-- The first word of a file; nil: there is no such file.
local function read_word(path)
    local file = io.open(path, "rb")
    if not file then
        return nil
    end
    local word = (file:read("*a") or ""):match("%S+") or ""
    file:close()
    return word
end

local function read_variable(name)
    local value = os.getenv(name)
    return value ~= "" and value or nil
end

-- What the pod's service account gives.
local function read_service_account(host)
    local ca_file = SERVICE_ACCOUNT .. "ca.crt"
    return {
        server = "https://" .. (host:find("^[^%[].*:") and "[" .. host .. "]" or host) .. ":"
            .. (read_variable("KUBERNETES_SERVICE_PORT") or "443"),
        token_file = SERVICE_ACCOUNT .. "token",
        ca_file = read_word(ca_file) and ca_file, -- without it: the CAs of the system
        namespace = read_variable("POD_NAMESPACE") or read_word(SERVICE_ACCOUNT .. "namespace"),
    }
end

-- The options by the environment, looked for in the order of kubelua.connect; and why they are only
-- a guess.
local function read_environment()
    local path, home = read_variable("KUBECONFIG"), read_variable("HOME")
    if path then
        return { kubeconfig = path }
    end
    if home and read_word(home .. "/.kube/config") then
        return { kubeconfig = home .. "/.kube/config" }
    end
    local host = read_variable("KUBERNETES_SERVICE_HOST")
    if host then
        return read_service_account(host)
    end
    -- Nothing is there yet. The kubeconfig may come later.
    return { kubeconfig = (home or "/root") .. "/.kube/config" }, NOTHING
end

---The options of kubelua.connect for the workers. The second result says that the environment of
---the master process named no API server, for the messages of the workers.
---@param given kubelua.ConnectOptions?
---@return kubelua.ConnectOptions
---@return string?
function connection.resolve(given)
    local resolved, why = {}, nil
    if not (given and (given.server or given.kubeconfig or given.kubeconfig_text)) then
        resolved, why = read_environment()
    end
    for name, value in pairs(given or {}) do
        resolved[name] = value
    end
    return resolved, why
end

return connection
