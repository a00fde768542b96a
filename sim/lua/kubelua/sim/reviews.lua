-- Asks the webhooks of a simulated cluster about a write, one after the other, as kube-apiserver
-- does: which are concerned, the review that each gets, and what its answer means.
local admission = require "kubelua.admission"
local configuration = require "kubelua.admission.configuration"
local core = require "kubelua.core"
local log = require "kubelua.log"
local patch = require "kubelua.sim.json_patch"
local review = require "kubelua.admission.review"
local simcore = require "kubelua.simcore"
local tasks = require "kubelua.tasks"

local reviews = {}

-- A function of a webhook may write, which asks webhooks too; a real server ends a circle by its
-- timeouts. How many are asked in one another, by coroutine.
local DEEPEST = 4
local depths = setmetatable({}, { __mode = "k" })

---What the cluster answers to a request of the administrator, which is not recorded; nil: it
---refuses it.
---@param sim kubelua.Sim
---@param given table method, body, type
---@param target string
---@return table?
function reviews.ask_cluster(sim, given, target)
    local status, body = simcore.call(sim, { method = given.method, target = target,
        body = given.body, type = given.type })
    return status and status < 300 and review.drop_nulls(core.decode(body)) or nil
end

local function is_selected(selector, labels)
    for name, value in pairs(selector.matchLabels or {}) do
        if labels[name] ~= value then
            return false
        end
    end
    for _, one in ipairs(selector.matchExpressions or {}) do
        local label, is_in = labels[one.key], false
        for _, value in ipairs(one.values or {}) do
            is_in = is_in or label == value
        end
        local is_met = { In = is_in, NotIn = not is_in, Exists = label ~= nil,
            DoesNotExist = label == nil }
        if not is_met[one.operator] then
            return false
        end
    end
    return true
end

local function labels_of(object)
    return object and object.metadata and object.metadata.labels or {}
end

local function is_concerned(sim, hook, request)
    local of_object, of_namespace = hook.given.object_selector,
        configuration.namespace_selector(hook.given)
    if of_object and not is_selected(of_object, labels_of(request.object))
        and not is_selected(of_object, labels_of(request.oldObject)) then
        return false
    elseif of_namespace and request.namespace then
        local namespace = request.resource.resource == "namespaces" and request.object
            or reviews.ask_cluster(sim, { method = "GET" },
                "/api/v1/namespaces/" .. request.namespace)
        return is_selected(of_namespace, labels_of(namespace))
    end
    return hook.rule:matches(request)
end

local function make_reply(status)
    status.kind, status.apiVersion, status.metadata = "Status", "v1", {}
    return { status = status.code, body = core.encode(status),
        headers = { ["content-type"] = "application/json" } }
end

-- The functions run with the clock of the cluster, so kubelua.connect finds it there.
---@return integer status
---@return string body
local function call_hook(sim, entry, request, phase)
    local co, before = coroutine.running() or depths, tasks.clock
    local depth, is_main = depths[co] or 0, not tasks.task_here()
    if depth >= DEEPEST then
        return 500, "functions of webhooks write what webhooks are asked about, without end"
    end
    depths[co] = depth + 1
    tasks.clock = is_main and simcore.state(sim).clock or before
    local ok, status, body = pcall(admission.answer_entry, entry, core.encode {
        apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview", request = request }, phase)
    depths[co] = depth > 0 and depth or nil
    if is_main then
        tasks.clock = before
    end
    if not ok then
        error(status, 0)
    end
    return status, body
end

-- Asks one webhook: its response; or nil and the reply, if the write ends here.
local function ask(sim, entry, request, phase)
    local hook = entry.hook
    local name = configuration.webhook_name(hook.name)
    local status, body = call_hook(sim, entry, request, phase)
    if status ~= 200 then
        local message = ("failed calling webhook \"%s\": failed to call webhook: an error on the "
            .. "server (%q) has prevented the request from succeeding"):format(name,
            (body:gsub("\n$", "")))
        if hook.given.failure_policy == "Ignore" then
            log("warn", "%s", message)
            return {}
        end
        return nil, make_reply { status = "Failure", code = 500, reason = "InternalError",
            message = "Internal error occurred: " .. message }
    end
    local response = core.decode(body).response
    for _, warning in ipairs(response.warnings or {}) do
        log("warn", "%s of %s: %s", request.operation, request.resource.resource, warning)
    end
    if response.allowed then
        return response
    end
    response.status.message = ("admission webhook \"%s\" denied the request: %s"):format(name,
        response.status.message)
    return nil, make_reply(response.status)
end

---Asks all webhooks of a phase that are concerned. Returns the object with their changes, and if
---there are any; or nil, false and the reply that ends the write.
---@param sim kubelua.Sim
---@param write table
---@param phase "validate"|"mutate"
---@param object table?
---@param old table?
---@return table?, boolean, kubelua.Reply?
function reviews.ask_all(sim, write, phase, object, old)
    local is_changed, described = false, object or old
    local group, version = described.apiVersion:match("^(.+)/(.+)$")
    for _, entry in ipairs(admission.entries_of(sim)) do
        local request = { uid = core.random(16), operation = write.operation, name = write.name,
            namespace = write.namespace, subResource = write.subResource, object = object,
            resource = write.resource, dryRun = write.is_dry, options = write.options,
            oldObject = old, kind = { group = group or "", kind = described.kind,
                version = version or described.apiVersion },
            userInfo = { username = write.user.name, groups = write.user.groups } }
        if entry.hook.given[phase] and is_concerned(sim, entry.hook, request) then
            local response, reply = ask(sim, entry, request, phase)
            if not response then
                return nil, false, reply
            elseif response.patch then
                object, is_changed = patch.apply(core.decode(core.encode(object)),
                    core.decode(core.unbase64(response.patch))), true
            end
        end
    end
    return object, is_changed
end

return reviews
