-- What a simulated cluster was asked, for tests to assert on.
local core = require "kubelua.core"
local matching = require "kubelua.verbs.matching"
local options = require "kubelua.options"
local simcore = require "kubelua.simcore"

---One request. What there is not is nil: the name of a list, the body of a read.
---@class kubelua.sim.Request
---@field method string "GET"
---@field target string as it was sent, percent-encoded: path and parameters
---@field path string
---@field query table<string, string> the parameters, decoded
---@field verb string "list", "watch", "get", "create", "update", "patch", "delete", ...
---@field group string?
---@field version string?
---@field resource string? "pods"
---@field subresource string?
---@field namespace string?
---@field name string?
---@field status integer of the answer
---@field user_agent string?
---@field controller string? whose run asked, of a client in this process
---@field key string? of that run
---@field attempt integer? of it
---@field at number the cluster's Unix time
---@field content_type string? of the body
---@field body any of JSON up to 64 KB, decoded

local FILTER = {
    method = "string", path = "string", verb = "string", group = "string", version = "string",
    resource = "string", subresource = "string", namespace = "string", name = "string",
    status = "number", user_agent = "string", body = "table", query = "table",
    controller = "string", key = "string", attempt = "number",
}

local VERBS = { "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection" }

-- A verb that no request has would be found missing for ever, and a test none the wiser.
local function check(call, filter)
    filter = options.optional(call, filter, FILTER)
    local verb = filter.verb
    for _, known in ipairs(VERBS) do
        if verb == nil or verb == known then
            return filter
        end
    end
    error(call .. ": no request has the verb \"" .. verb .. "\"; there are "
        .. table.concat(VERBS, ", "), 3)
end

---@class kubelua.Sim
local requests = {}

local function matches(request, filter)
    for name, value in pairs(filter) do
        if name == "user_agent" then
            if not tostring(request.user_agent):find(value, 1, true) then
                return false
            end
        elseif not matching.covers(request[name], value) then
            return false
        end
    end
    return true
end

-- All that is remembered; of a controller's run, which one.
local function all(self)
    local found = core.decode(simcore.requests(self))
    local runs = simcore.state(self).runs
    for _, request in ipairs(found) do
        local run = runs and runs.by_number[request.run]
        if run then
            request.controller, request.key, request.attempt = run.controller, run.key, run.attempt
        end
    end
    return found
end

---What was asked so far, oldest first; the last 1,000. The filter's fields must be equal, its
---user_agent a part of the request's, the fields of its body and query there.
---@param filter table? any of method, path, verb, group, version, resource, subresource,
---namespace, name, status, user_agent, body, query; of the run that asked: controller, key, attempt
---@return kubelua.sim.Request[]
function requests:requests(filter)
    filter = check("requests", filter)
    local found = {}
    for _, request in ipairs(all(self)) do
        if matches(request, filter) then
            found[#found + 1] = request
        end
    end
    return found
end

local function tell(request)
    return request.method .. " " .. request.target .. " " .. request.status
end

---Whether there were requests for each of the filters, in that order; others may be in between.
---@param filters table[] as of cluster:requests
---@return true?, string? which one was not, and what was asked
function requests:asked(filters)
    if type(filters) ~= "table" or #filters == 0 then
        error("asked: an array of filters expected, such as { { verb = \"list\" } }", 2)
    end
    local next_one, lines = 1, {}
    for _, filter in ipairs(filters) do
        check("asked", filter)
    end
    for _, request in ipairs(all(self)) do
        if filters[next_one] and matches(request, filters[next_one]) then
            next_one = next_one + 1
        end
        lines[#lines + 1] = tell(request)
    end
    if next_one > #filters then
        return true
    end
    return nil, "asked: number " .. next_one .. ", " .. core.encode(filters[next_one])
        .. ", was not asked after those before it; there was"
        .. (#lines > 0 and ":\n" .. table.concat(lines, "\n") or " no request at all")
end

---Forgets what was asked.
function requests:clear_requests()
    simcore.requests_clear(self)
end

requests.requests_clear = requests.clear_requests -- its first name

return requests
