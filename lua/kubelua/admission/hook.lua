-- A webhook: asks the functions of a script about an AdmissionReview, and makes the answer. It
-- knows nothing of servers: kubelua run and nginx both call Hook:answer (docs/ADMISSION.md).
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local patch = require "kubelua.admission.patch"
local review = require "kubelua.admission.review"
local rules = require "kubelua.admission.rule"
local trace = require "kubelua.trace"

---What kubelua.admit takes. The resources come first, in any of their names.
---@class kubelua.AdmitOptions
---@field [integer] string "ingresses", "foos.example.com", "pods/exec", "*"
---@field name? string # in the path /admit/NAME, and in messages; default: the first resource
---@field operations? string[] of CREATE, UPDATE, DELETE, CONNECT; default: CREATE and UPDATE
---@field validate? kubelua.Validate
---@field mutate? kubelua.Mutate
---@field reads? (string|kubelua.SourceOptions)[] caches that the functions get as `cluster`
---@field unsynced? "deny"|"allow" the answer before the caches are known; default: deny
---@field failure_policy? "Fail"|"Ignore" # in the configuration; default: Fail
---@field timeout? integer seconds in the configuration, 1 to 30; default: 10
---@field namespaces? string[] # in the configuration: only these
---@field namespace_selector? table # in the configuration: a LabelSelector, as a webhook has it
---@field object_selector? table the same for the object's labels
---@field match_conditions? table[] # in the configuration: { name =, expression = CEL } each
---@field reinvocation_policy? "Never"|"IfNeeded" # in that of mutate; default: Never
---@field client? kubelua.Client for the caches; default: kubelua.connect()

---Nothing, nil alone or true: allowed. false, message[, code]: denied, by default with 403. nil,
---message, or an error: the webhook has failed, and the failure policy decides.
---@alias kubelua.Validate fun(object: table?, old: table?, request: table, cluster: any): ...
---The same, but it changes the object, or returns another table for it.
---@alias kubelua.Mutate fun(object: table, old: table?, request: table, cluster: any): ...

---@class kubelua.admission.Hook
---@field name string
---@field rule kubelua.admission.Rule
---@field given kubelua.AdmitOptions
---@field timeout integer seconds
local Hook = {}
Hook.__index = Hook
Hook.__name = "kubelua.admit"

local hooks = {}

local TYPES = { name = "string", operations = "table", validate = "function", mutate = "function",
    reads = "table", unsynced = "string", failure_policy = "string", timeout = "number",
    namespaces = "table", namespace_selector = "table", object_selector = "table",
    match_conditions = "table", reinvocation_policy = "string", client = "userdata" }

local TEXT, JSON = "text/plain; charset=utf-8", "application/json"

-- What the longest message to a user may have: the API server puts it into its own answer.
local LONGEST_MESSAGE = 4096

local function check_name(name)
    if #name > 63 or not name:find("^[a-z0-9][a-z0-9.-]*$") or name:find("[.-]$") then
        misuse("admit: the name \"%s\" must have small letters, digits, '-' and '.' only: "
            .. "write name = \"...\"", name:sub(1, 100))
    end
    return name
end

local function check_timeout(timeout)
    if timeout < 1 or timeout > 30 or timeout % 1 ~= 0 then
        misuse("admit: 'timeout' is a whole number of seconds from 1 to 30, as a webhook has it")
    end
    return math.floor(timeout)
end

---Checks the options of a webhook.
---@param given kubelua.AdmitOptions
---@return kubelua.admission.Hook
function hooks.new(given)
    if type(given) ~= "table" then
        misuse("admit: a table of options expected, such as { \"ingresses\", validate = f }")
    end
    local names, named = {}, {}
    for key, value in pairs(given) do
        (type(key) == "number" and names or named)[key] = value
    end
    options.check("admit", named, TYPES)
    options.choice("admit", "unsynced", given.unsynced, { deny = true, allow = true })
    options.choice("admit", "failure_policy", given.failure_policy, { Fail = true, Ignore = true })
    options.choice("admit", "reinvocation_policy", given.reinvocation_policy,
        { Never = true, IfNeeded = true })
    if not given.validate and not given.mutate then
        misuse("admit: no function: give validate, mutate or both")
    end
    return setmetatable({
        rule = rules.new(names, given.operations), given = given,
        name = check_name(given.name or names[1]:lower():gsub("[*/]+", "-"):gsub("^-+", "")),
        timeout = check_timeout(given.timeout or 10),
    }, Hook)
end

function Hook:__tostring()
    return "kubelua.admit: " .. self.name
end

---The path at which it is served. If it has both functions, each is a webhook of its own.
---@param phase "validate"|"mutate"
---@return string
function Hook:path(phase)
    local both = self.given.validate and self.given.mutate
    return "/admit/" .. self.name .. (both and "/" .. phase or "")
end

-- Of an error of the script the user sees the first line; the log has the traceback.
local function tell_failure(self, phase, problem)
    log("error", "admit %s: %s failed: %s", self.name, phase, problem)
    return "admit " .. self.name .. ": " .. phase .. " failed: "
        .. problem:match("^[^\n]*"):sub(1, LONGEST_MESSAGE)
end

local function make_denial(self, message, code)
    if message == nil then
        message = "admit " .. self.name .. " denies it"
    end
    local is_status = type(code) == "number" and code >= 400 and code <= 599 and code % 1 == 0
    return { allowed = false, message = tostring(message):sub(1, LONGEST_MESSAGE),
        code = is_status and math.floor(code) or nil }
end

-- What a function returned: a verdict, nil: go on; false, message: it has failed.
local function read_result(self, phase, ok, ...)
    local result, message, code = ...
    if not ok then
        local problem = result == trace.CANCELED and "its time is over" or result
        return false, tell_failure(self, phase, problem)
    elseif result == false then
        return make_denial(self, message, code)
    elseif result == nil and message ~= nil then
        return false, tell_failure(self, phase, tostring(message))
    elseif result == nil or result == true then
        return nil
    elseif phase == "mutate" and (type(result) == "table" or core.is_view(result)) then
        return nil, result
    end
    return false, tell_failure(self, phase, "it returned a " .. type(result)
        .. "; nothing allows, false and a message deny")
end

local function call(self, phase, request, cluster)
    return read_result(self, phase,
        trace.call(self.given[phase], request.object, request.oldObject, request, cluster))
end

local function copy(object)
    return core.decode(core.encode(object))
end

-- The patch that mutate causes; request.object is then as it left it.
local function mutate(self, request, cluster)
    local before = copy(request.object)
    local verdict, result = call(self, "mutate", request, cluster)
    if verdict ~= nil then
        return verdict, result
    end
    local ok, after = pcall(copy, result or request.object)
    if not ok then
        return false, tell_failure(self, "mutate", "what it leaves is not JSON: " .. after)
    end
    local operations = patch.diff(before, after)
    request.object = review.drop_nulls(after)
    return { allowed = true, patch = operations }
end

-- Without `phase`: first mutate, then validate of what that left. false, message: it has failed.
local function decide(self, request, phase, cluster)
    local verdict, message ---@type kubelua.admission.Verdict|false, string?
    verdict = { allowed = true }
    if phase ~= "validate" and self.given.mutate and request.object then
        verdict, message = mutate(self, request, cluster)
        if not verdict or not verdict.allowed then
            return verdict, message
        end
    end
    if phase ~= "mutate" and self.given.validate then
        local denial
        denial, message = call(self, "validate", request, cluster)
        if denial ~= nil then
            return denial, message
        end
    end
    return verdict
end

-- The answer while a cache has no first list: a denial that a client may try again.
local function answer_unsynced(self, missing)
    local message = "admit " .. self.name .. " does not know the cluster yet: " .. missing
    if self.given.unsynced == "allow" then
        return { allowed = true, warnings = { message } }
    end
    return { allowed = false, message = message, code = 503, retry_after = 1 }
end

-- request:warn(...). The API server cuts what is longer than 256 bytes.
local function add_warn(request)
    local warnings = {}
    setmetatable(request, { __index = { warn = function(_, message, ...)
        warnings[#warnings + 1] = select("#", ...) > 0 and message:format(...) or tostring(message)
    end } })
    return warnings
end

---The answer to an AdmissionReview.
---@param text string the body of the request
---@param phase "validate"|"mutate"|nil nil: what there is
---@param cluster any the fourth argument of the functions
---@param missing string? what is not synced yet; nil: all is
---@return integer status of HTTP: 200, 400 (no review) or 500 (a function failed)
---@return string body
---@return string content_type
---@return kubelua.AdmissionRequest? request its object is as mutate left it
function Hook:answer(text, phase, cluster, missing)
    local request, message = review.read(text)
    if not request then
        return 400, message .. "\n", TEXT
    elseif not self.rule:matches(request) then
        return 200, review.write(request.uid, { allowed = true, warnings = { "admit " .. self.name
            .. " is not for " .. request.operation .. " of " .. request.resource.resource } }), JSON
    elseif missing then
        return 200, review.write(request.uid, answer_unsynced(self, missing)), JSON
    end
    local uid, warnings = request.uid, add_warn(request)
    local verdict, problem = decide(self, request, phase, cluster)
    if not verdict then
        return 500, problem .. "\n", TEXT
    end
    verdict.warnings = warnings
    return 200, review.write(uid, verdict), JSON, request
end

return hooks
