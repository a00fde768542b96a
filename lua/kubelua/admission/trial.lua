-- Asks a webhook in a test, as an API server would: makes the AdmissionReview, reads the answer.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local review = require "kubelua.admission.review"

local trial = {}

---What a test asks. The object, or the old one, has apiVersion, kind and metadata.
---@class kubelua.AdmissionTrial
---@field object? table
---@field old? table
---@field operation? "CREATE"|"UPDATE"|"DELETE"|"CONNECT" default: CREATE; with old, UPDATE; with
---old alone, DELETE
---@field resource? string the plural of a kind that is not built in; default: kind and "s"
---@field subresource? string
---@field user? string default: "kubernetes-admin"
---@field groups? string[]
---@field dry_run? boolean
---@field phase? "validate"|"mutate" default: both

---@class kubelua.AdmissionAnswer
---@field allowed boolean
---@field message string? why not
---@field code integer? the HTTP status of the denial
---@field warnings string[]
---@field object table? as mutate left it
---@field patch kubelua.admission.Operation[] empty: nothing was changed

local TYPES = { object = "table|userdata", old = "table|userdata", operation = "string",
    resource = "string", subresource = "string", user = "string", groups = "table",
    dry_run = "boolean", phase = "string" }

local function guess_operation(given)
    if given.operation then
        return given.operation
    elseif given.old then
        return given.object and "UPDATE" or "DELETE"
    end
    return "CREATE"
end

---The text of an AdmissionReview.
---@param given kubelua.AdmissionTrial
---@return string
function trial.review(given)
    options.check("admission.ask", given, TYPES)
    options.choice("admission.ask", "operation", given.operation, review.OPERATIONS)
    local object = given.object or given.old
    if not object or type(object.kind) ~= "string" or type(object.apiVersion) ~= "string" then
        misuse("admission.ask: an object with apiVersion and kind expected, as `object` or `old`")
    end
    local group, version = object.apiVersion:match("^(.+)/(.+)$")
    local kind = core.builtin_kind(object.apiVersion .. "/" .. object.kind)
    local metadata = object.metadata or {}
    group, version = group or "", version or object.apiVersion
    return core.encode { apiVersion = "admission.k8s.io/v1", kind = "AdmissionReview", request = {
        uid = "trial", operation = guess_operation(given), name = metadata.name,
        namespace = metadata.namespace, object = given.object, oldObject = given.old,
        dryRun = given.dry_run or false, subResource = given.subresource,
        kind = { group = group, version = version, kind = object.kind },
        resource = { group = group, version = version, resource = given.resource
            or kind and kind.plural or object.kind:lower() .. "s" },
        userInfo = { username = given.user or "kubernetes-admin", groups = given.groups },
    } }
end

---What a webhook has answered; nil, message: it has failed.
---@param status integer
---@param body string
---@param request kubelua.AdmissionRequest?
---@return kubelua.AdmissionAnswer?, string?
function trial.answer(status, body, request)
    if status ~= 200 then
        return nil, (body:gsub("\n$", ""))
    end
    local response = core.decode(body).response
    local denial = response.status or {}
    return { allowed = response.allowed, message = denial.message, code = denial.code,
        warnings = response.warnings or {}, object = request and request.object,
        patch = response.patch and core.decode(core.unbase64(response.patch)) or {} }
end

return trial
