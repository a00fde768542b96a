-- Knows which requests kube-apiserver passes on to other API servers: those for the groups of
-- APIServices that name a Service (kube-aggregator). Such a server may ignore dryRun, and write, so
-- a dry run sends it no write. Also tells from a reply that a server has written in spite of
-- dryRun.
local core = require "kubelua.core"
local Unwritten = require "kubelua.cli.dry_run.unwritten"

local SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"

-- Groups that kube-apiserver serves itself: for these no APIService has to be read. The groups of
-- the second list end in ".k8s.io".
local OWN = { [""] = true, apps = true, autoscaling = true, batch = true, extensions = true,
    policy = true }
for _, group in ipairs { "admissionregistration", "apiextensions", "apiregistration",
    "authentication", "authorization", "certificates", "coordination", "discovery", "events",
    "flowcontrol.apiserver", "internal.apiserver", "networking", "node", "rbac.authorization",
    "resource", "scheduling", "storage", "storagemigration" } do
    OWN[group .. ".k8s.io"] = true
end

---@class kubelua.Aggregated
---@field clusters table<string, table<string, string>> Services by cluster and "version.group"
---@field unsure table<string, boolean> clusters whose APIServices must not be read
---@field warn fun(text: string)
local Aggregated = {}
Aggregated.__index = Aggregated

---@param warn fun(text: string)
---@return kubelua.Aggregated
function Aggregated.new(warn)
    return setmetatable({ clusters = {}, unsure = {}, warn = warn }, Aggregated)
end

-- The Services by "version.group".
local function read_services(body)
    local list, services = core.decode(body), {}
    local items = type(list) == "table" and list.items
    for _, item in ipairs(type(items) == "table" and items or {}) do
        local spec = type(item) == "table" and item.spec
        local service = type(spec) == "table" and spec.service
        if type(service) == "table" then
            services[tostring(spec.version) .. "." .. tostring(spec.group)] =
                tostring(service.namespace) .. "/" .. tostring(service.name)
        end
    end
    return services
end

local function note_reply(self, cluster, reply)
    self.unsure[cluster] = reply.status == 401 or reply.status == 403
    self.clusters[cluster] = reply.status == 200 and read_services(reply.body) or {}
    if self.unsure[cluster] then
        self.warn("--dry-run cannot read which API servers stand behind this one (allow the verb "
            .. "list for apiservices.apiregistration.k8s.io): a server of its own behind a group "
            .. "may ignore dryRun, and write")
    end
end

---The Service that serves what a path is for, if it was read; nil: the API server itself.
---@param client kubelua.Client
---@param path kubelua.ApiPath
---@return string?
function Aggregated:known(client, path)
    local services = not OWN[path.group] and self.clusters[Unwritten.cluster(client)]
    return services and services[path.version .. "." .. path.group] or nil
end

---The same; the APIServices are read first, once for each cluster, unless kube-apiserver serves the
---group itself. false, message, code: they could not be read.
---@param trial kubelua.DryRun.Trial
---@param read fun(trial, target: string): kubelua.Reply?, string?, string? sends a GET
---@return string|false|nil, string?, string?
function Aggregated:service(trial, read)
    local path, cluster = trial.path, Unwritten.cluster(trial.client)
    if OWN[path.group] then
        return nil
    elseif not self.clusters[cluster] then
        local reply, message, code = read(trial, SERVICES)
        if reply and reply.status >= 300 and reply.status ~= 401 and reply.status ~= 403
            and reply.status ~= 404 then
            message, code = core.status_error(reply.status, reply.body)
            reply = nil
        end
        if not reply then
            return false, message, code
        end
        note_reply(self, cluster, reply)
    end
    return self:known(trial.client, path)
end

local function version_of(object)
    local metadata = type(object) == "table" and object.metadata
    local version = type(metadata) == "table" and metadata.resourceVersion
    return type(version) == "string" and version ~= "" and version or nil
end

---Says which sign of a write a reply has; nil: none. What a dry run creates has no resourceVersion,
---and what it changes keeps the one that it had. Another client may write between the read and the
---write, so the second counts only where the APIServices must not be read. kube-apiserver honours
---dryRun in its own groups, though its reply to the apply of a new Service has a resourceVersion.
---@param trial kubelua.DryRun.Trial
---@param is_new boolean the object did not exist before
---@param before table?
---@param after table
---@return string?
function Aggregated:betrayal(trial, is_new, before, after)
    local was, is = version_of(before), version_of(after)
    if OWN[trial.path.group] then
        return nil
    elseif is_new and is then
        return "the object has a resourceVersion"
    elseif self.unsure[Unwritten.cluster(trial.client)] and was and is and was ~= is then
        return "the resourceVersion has changed"
    end
    return nil
end

return Aggregated
