-- AdmissionReview of admission.k8s.io/v1: reads what an API server sends to a webhook, and writes
-- the answer (docs/ADMISSION.md).
local core = require "kubelua.core"

local review = {}

---The request of a review, as the API server sends it: a table of kubelua.decode.
---@class kubelua.AdmissionRequest
---@field uid string
---@field kind { group: string, version: string, kind: string }
---@field resource { group: string, version: string, resource: string }
---@field subResource string? "status", "scale", "exec"; nil: the object itself
---@field requestKind table? what the user asked for, if the server has converted it
---@field requestResource table?
---@field name string? nil or "": the server makes one up (generateName)
---@field namespace string? nil: the kind has no namespaces
---@field operation "CREATE"|"UPDATE"|"DELETE"|"CONNECT"
---@field userInfo { username: string, uid: string?, groups: string[]?, extra: table? }
---@field object table? nil at DELETE
---@field oldObject table? nil at CREATE and CONNECT
---@field dryRun boolean? true: nothing will be written
---@field options table?
---@field warn fun(self, message: string, ...: any) shows a warning to the user

local VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"

review.OPERATIONS = { CREATE = true, UPDATE = true, DELETE = true, CONNECT = true }

-- The name of a field that has a wrong type; nil: all are right.
local function find_wrong(request)
    local kind, resource = request.kind, request.resource
    if type(request.uid) ~= "string" or request.uid == "" then
        return "request.uid"
    elseif not review.OPERATIONS[request.operation] then
        return "request.operation"
    elseif type(kind) ~= "table" or type(kind.kind) ~= "string" then
        return "request.kind"
    elseif type(resource) ~= "table" or type(resource.resource) ~= "string" then
        return "request.resource"
    end
    for _, name in ipairs { "name", "namespace", "subResource" } do
        if request[name] ~= nil and type(request[name]) ~= "string" then
            return "request." .. name
        end
    end
    for _, name in ipairs { "object", "oldObject", "userInfo", "options" } do
        if request[name] ~= nil and type(request[name]) ~= "table" then
            return "request." .. name
        end
    end
    if (request.operation == "CREATE" or request.operation == "UPDATE") and not request.object then
        return "request.object"
    end
end

---Removes members that are null, in all levels: a script then reads nil, as in an object of a
---cache. Elements of arrays stay, as their places are those of a JSON patch.
---@param value any
---@return any value
function review.drop_nulls(value)
    local left = { type(value) == "table" and value or nil }
    while #left > 0 do
        local one = table.remove(left)
        for key, item in pairs(one) do
            if item == core.null and type(key) == "string" then
                one[key] = nil
            elseif type(item) == "table" then
                left[#left + 1] = item
            end
        end
    end
    return value
end

---The request of a review; nil, message: the text is no review of version v1.
---@param text string
---@return kubelua.AdmissionRequest?, string?
function review.read(text)
    local whole, message = core.decode(text)
    if message then
        return nil, "the body is not JSON: " .. message
    elseif type(whole) ~= "table" or whole.kind ~= KIND then
        return nil, "the body is not an AdmissionReview"
    elseif whole.apiVersion ~= VERSION then
        return nil, "the body is an AdmissionReview of another version than " .. VERSION
            .. ": write admissionReviewVersions: [v1]"
    end
    local request = review.drop_nulls(whole).request
    if type(request) ~= "table" then
        return nil, "the AdmissionReview has no request"
    end
    local wrong = find_wrong(request)
    if wrong then
        return nil, "the AdmissionReview has no valid " .. wrong
    end
    return request
end

---What a webhook decides.
---@class kubelua.admission.Verdict
---@field allowed boolean
---@field message string? why not
---@field code integer? the HTTP status of a denial; default 403
---@field reason string? of metav1.Status; default: that of the code
---@field retry_after integer? seconds
---@field warnings string[]? for the user
---@field patch kubelua.admission.Operation[]? nil or empty: the object stays as it is

local REASONS = { [400] = "BadRequest", [401] = "Unauthorized", [403] = "Forbidden",
    [404] = "NotFound", [409] = "Conflict", [422] = "Invalid", [429] = "TooManyRequests",
    [500] = "InternalError", [503] = "ServiceUnavailable", [504] = "Timeout" }

local function write_status(verdict)
    local code = verdict.code or 403
    return { status = "Failure", message = verdict.message, code = code,
        reason = verdict.reason or REASONS[code],
        details = verdict.retry_after and { retryAfterSeconds = verdict.retry_after } or nil }
end

---The text of the answer.
---@param uid string of the request
---@param verdict kubelua.admission.Verdict
---@return string
function review.write(uid, verdict)
    local response = { uid = uid, allowed = verdict.allowed }
    if not verdict.allowed then
        response.status = write_status(verdict)
    elseif verdict.patch and #verdict.patch > 0 then
        response.patchType = "JSONPatch"
        response.patch = core.base64(core.encode(verdict.patch))
    end
    if verdict.warnings and #verdict.warnings > 0 then
        response.warnings = verdict.warnings
    end
    return core.encode { apiVersion = VERSION, kind = KIND, response = response }
end

return review
