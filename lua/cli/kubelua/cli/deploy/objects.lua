-- Makes the objects that kubelua deploy prints, as Lua tables: ServiceAccount, roles, ConfigMap,
-- Deployment. For a Helm chart, deploy/chart.lua passes template expressions, such as
-- {{ .Values.image }}, instead of some values: tables of yaml.raw, which are printed as they are.
local core = require "kubelua.core"

local objects = {}

local PORT = 8080
local ADMIT_PORT = 8443
local USER = 65532 -- of the image: scripts/image
local FOLDER = "/script"

-- Seconds that a pod still has after --grace: for answers to its writes, and to release its Lease.
local AFTER_GRACE = 5

---All that the objects of one script are made from. A table instead of a string or an integer is a
---template expression (yaml.raw).
---@class kubelua.Deployed
---@field name string of the Deployment, and of its ServiceAccount, roles and ConfigMap
---@field namespace string|table
---@field image string|table
---@field replicas integer|table
---@field resources table
---@field config string|table the name of the ConfigMap
---@field files kubelua.DeployedFile[]
---@field roles table[] Roles and ClusterRoles, without bindings
---@field has_leader boolean every controller of the script has `leader`
---@field comment string? why there is one replica only
---@field grace number? seconds of --grace
---@field log string the format
---@field args string[] of the script
---@field arguments (string|table)[] of the command
---@field pod_monitor boolean?
---@field admits boolean? the script has webhooks (kubelua.admit)

objects.RESOURCES = {
    requests = { cpu = "10m", memory = "64Mi" },
    limits = { memory = "256Mi" }, -- a limit of CPU would only stop the loop now and then
}

local function labels_of(app)
    return { ["app.kubernetes.io/name"] = app.name }
end

local function metadata_of(app, name)
    return { name = name or app.name, namespace = app.namespace, labels = labels_of(app) }
end

---The name of the ConfigMap. It contains a hash of the files: when a file changes, the name
---changes, and so the Deployment rolls out.
---@param name string
---@param files kubelua.DeployedFile[]
---@return string
function objects.config_name(name, files)
    local content = {}
    for i, file in ipairs(files) do
        content[i] = { file.name, file.is_text and file.text or core.base64(file.text) }
    end
    return name .. "-" .. core.hash(content)
end

---@param namespace string
---@return table
function objects.namespace(namespace)
    return { apiVersion = "v1", kind = "Namespace", metadata = { name = namespace } }
end

function objects.service_account(app)
    return { apiVersion = "v1", kind = "ServiceAccount", metadata = metadata_of(app),
        automountServiceAccountToken = false }
end

-- A role with its labels, and the binding that gives it to the script's account.
local function bind_role(app, role)
    local is_of_cluster = role.kind == "ClusterRole"
    local copy = { apiVersion = role.apiVersion, kind = role.kind, rules = role.rules,
        metadata = { name = role.metadata.name, namespace = role.metadata.namespace,
            labels = labels_of(app) } }
    return copy, {
        apiVersion = "rbac.authorization.k8s.io/v1",
        kind = is_of_cluster and "ClusterRoleBinding" or "RoleBinding",
        metadata = { name = role.metadata.name, namespace = role.metadata.namespace,
            labels = labels_of(app) },
        roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = role.kind,
            name = role.metadata.name },
        subjects = { { kind = "ServiceAccount", name = app.name, namespace = app.namespace } },
    }
end

---@param app kubelua.Deployed
---@return table[]
function objects.rbac(app)
    local all = {}
    for _, role in ipairs(app.roles) do
        all[#all + 1], all[#all + 2] = bind_role(app, role)
    end
    return all
end

---@param app kubelua.Deployed
---@return table
function objects.config_map(app)
    local map = { apiVersion = "v1", kind = "ConfigMap", metadata = metadata_of(app, app.config),
        immutable = true }
    for _, file in ipairs(app.files) do
        local field = file.is_text and "data" or "binaryData"
        map[field] = map[field] or {}
        map[field][file.key] = file.value or file.is_text and file.text or core.base64(file.text)
    end
    return map
end

-- A key contains no "/". So if a file lies in a sub-folder, the volume lists the path of each key.
local function volume_of(app)
    local items, is_flat = {}, true
    for i, file in ipairs(app.files) do
        items[i] = { key = file.key, path = file.name }
        is_flat = is_flat and file.key == file.name
    end
    return { name = "script",
        configMap = { name = app.config, items = not is_flat and items or nil } }
end

---The arguments of the command. The kubelet takes $(NAME) for a variable, and $$ for one $.
---@param app kubelua.Deployed
---@return string[]
function objects.arguments(app)
    local args = { "run", "--serve", ":" .. PORT, "--log", app.log }
    for _, argument in ipairs(app.admits and { "--admit", ":" .. ADMIT_PORT, "--admit-service",
        app.name } or {}) do
        args[#args + 1] = argument
    end
    if app.grace then
        args[#args + 1] = "--grace"
        args[#args + 1] = ("%.14g"):format(app.grace)
    end
    args[#args + 1] = FOLDER .. "/" .. app.files[1].name
    if #app.args > 0 then
        args[#args + 1] = "--"
        for _, argument in ipairs(app.args) do
            args[#args + 1] = argument
        end
    end
    for i, argument in ipairs(args) do
        args[i] = argument:gsub("%$", "$$")
    end
    return args
end

local function probe_of(path, period, failures)
    return { httpGet = { path = path, port = "http" }, periodSeconds = period,
        failureThreshold = failures, timeoutSeconds = 2 }
end

local function container_of(app)
    return {
        name = "kubelua",
        image = app.image,
        command = { "kubelua" },
        args = app.arguments,
        workingDir = FOLDER, -- a relative path is one beside the script
        env = { { name = "POD_NAMESPACE",
            valueFrom = { fieldRef = { fieldPath = "metadata.namespace" } } } },
        ports = { { name = "http", containerPort = PORT },
            app.admits and { name = "admit", containerPort = ADMIT_PORT } or nil },
        startupProbe = probe_of("/healthz", 2, 30),
        livenessProbe = probe_of("/healthz", 10, 3),
        readinessProbe = probe_of("/readyz", 5, 1),
        resources = app.resources,
        securityContext = { allowPrivilegeEscalation = false, readOnlyRootFilesystem = true,
            capabilities = { drop = { "ALL" } } },
        volumeMounts = { { name = "script", mountPath = FOLDER, readOnly = true } },
    }
end

-- Asks for pods on different nodes: if all were on one node, they would all end with that node.
local function spread_of(app)
    return app.has_leader and { { maxSkew = 1, topologyKey = "kubernetes.io/hostname",
        whenUnsatisfiable = "ScheduleAnyway",
        labelSelector = { matchLabels = labels_of(app) } } } or nil
end

---@param app kubelua.Deployed
---@return table
function objects.deployment(app)
    return {
        apiVersion = "apps/v1", kind = "Deployment", metadata = metadata_of(app),
        spec = {
            replicas = app.replicas,
            selector = { matchLabels = labels_of(app) },
            -- Without a leader, the old pod must have ended before the new pod starts to work.
            strategy = not app.has_leader and { type = "Recreate" } or nil,
            template = {
                metadata = { labels = labels_of(app) },
                spec = {
                    serviceAccountName = app.name,
                    automountServiceAccountToken = true,
                    enableServiceLinks = false,
                    terminationGracePeriodSeconds = math.ceil(app.grace or 25) + AFTER_GRACE,
                    securityContext = { runAsNonRoot = true, runAsUser = USER, runAsGroup = USER,
                        seccompProfile = { type = "RuntimeDefault" } },
                    containers = { container_of(app) },
                    topologySpreadConstraints = spread_of(app),
                    volumes = { volume_of(app) },
                },
            },
        },
    }
end

---What leads API servers to the webhooks.
---@param app kubelua.Deployed
---@return table
function objects.service(app)
    return { apiVersion = "v1", kind = "Service", metadata = metadata_of(app),
        spec = { selector = labels_of(app),
            ports = { { name = "admit", port = 443, targetPort = "admit" } } } }
end

local RBAC = "rbac.authorization.k8s.io/v1"

---The rights that --admit-service needs: its Secret, and the webhooks' configurations.
---@param name string of the Deployment
---@param namespace string
---@return table[]
function objects.admit_roles(name, namespace)
    local of_secrets = { apiGroups = { "" }, resources = { "secrets" } }
    return {
        { apiVersion = RBAC, kind = "ClusterRole",
            metadata = { name = namespace .. ":" .. name .. "-admit" },
            rules = { { apiGroups = { "admissionregistration.k8s.io" },
                resources = { "mutatingwebhookconfigurations",
                    "validatingwebhookconfigurations" }, verbs = { "create", "patch" } } } },
        { apiVersion = RBAC, kind = "Role",
            metadata = { name = name .. "-admit", namespace = namespace },
            rules = {
                { apiGroups = of_secrets.apiGroups, resources = of_secrets.resources,
                    resourceNames = { name .. "-admit" }, verbs = { "get", "update" } },
                { apiGroups = of_secrets.apiGroups, resources = of_secrets.resources,
                    verbs = { "create" } } } },
    }
end

---For the operator of Prometheus.
---@param app kubelua.Deployed
---@return table
function objects.pod_monitor(app)
    return {
        apiVersion = "monitoring.coreos.com/v1", kind = "PodMonitor", metadata = metadata_of(app),
        spec = { selector = { matchLabels = labels_of(app) },
            podMetricsEndpoints = { { port = "http", path = "/metrics" } } },
    }
end

---All objects of a script, by the name of the file that they go to.
---@param app kubelua.Deployed
---@return { file: string, objects: table[], comment: string? }[]
function objects.of(app)
    local parts = { { file = "serviceaccount", objects = { objects.service_account(app) } } }
    if #app.roles > 0 then
        parts[#parts + 1] = { file = "rbac", objects = objects.rbac(app) }
    end
    parts[#parts + 1] = { file = "configmap", objects = { objects.config_map(app) } }
    parts[#parts + 1] = { file = "deployment", objects = { objects.deployment(app) },
        comment = app.comment }
    if app.admits then
        parts[#parts + 1] = { file = "service", objects = { objects.service(app) } }
    end
    if app.pod_monitor then
        parts[#parts + 1] = { file = "podmonitor", objects = { objects.pod_monitor(app) } }
    end
    return parts
end

return objects
