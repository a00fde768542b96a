-- cluster:requests and cluster:asked: the requests that a simulated cluster has received, for
-- tests.
local core = require "kubelua.core"
local conditions = require "kubelua.verbs.conditions"
local options = require "kubelua.options"
local simcore = require "kubelua.simcore"

---A request. Fields that it does not have are nil, such as the name in a list, or the body of a
---read.
---@class kubelua.sim.Request
---@field method string "GET"
---@field target string path and parameters as they were sent, percent-encoded
---@field path string
---@field query table<string, string> the parameters, decoded
---@field verb string "list", "watch", "get", "create", "update", "patch", "delete", ...
---@field group string?
---@field version string?
---@field resource string? "pods"
---@field subresource string?
---@field namespace string?
---@field name string?
---@field status integer the HTTP status of the answer
---@field user_agent string?
---@field controller string? the controller that sent it, if its client is in this process
---@field key string? the key of the controller's run
---@field attempt integer? the attempt of that run
---@field at number the cluster's Unix time
---@field content_type string? of the body
---@field body any decoded, if it is JSON of up to 64 KB

local FILTER = {
    method = "string", path = "string", verb = "string", group = "string", version = "string",
    resource = "string", subresource = "string", namespace = "string", name = "string",
    status = "number", user_agent = "string", body = "table", query = "table",
    controller = "string", key = "string", attempt = "number",
}

local VERBS = { "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection" }

-- A verb that does not exist would match no request, so a test for its absence would always pass:
-- it raises.
local function check_filter(call, filter)
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

local function matches_filter(request, filter)
    for name, value in pairs(filter) do
        if name == "user_agent" then
            if not tostring(request.user_agent):find(value, 1, true) then
                return false
            end
        elseif not conditions.covers(request[name], value) then
            return false
        end
    end
    return true
end

-- All remembered requests, with the controller's run that sent them.
local function read_all(self)
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

---The requests so far, the oldest first; at most the last 1,000. A filter names fields that must be
---equal; its user_agent must be a part of the request's; its body and query are fields that must be
---there.
---@param filter table? any of method, path, verb, group, version, resource, subresource,
---namespace, name, status, user_agent, body, query; and of a run: controller, key, attempt
---@return kubelua.sim.Request[]
function requests:requests(filter)
    filter = check_filter("requests", filter)
    local found = {}
    for _, request in ipairs(read_all(self)) do
        if matches_filter(request, filter) then
            found[#found + 1] = request
        end
    end
    return found
end

local function describe_request(request)
    return request.method .. " " .. request.target .. " " .. request.status
end

---True if there were requests for each of the filters, in that order; others may be in between.
---@param filters table[] filters of cluster:requests
---@return true?, string? nil and a message: the filter without a request, and all requests
function requests:asked(filters)
    if type(filters) ~= "table" or #filters == 0 then
        error("asked: an array of filters expected, such as { { verb = \"list\" } }", 2)
    end
    local next_one, lines = 1, {}
    for _, filter in ipairs(filters) do
        check_filter("asked", filter)
    end
    for _, request in ipairs(read_all(self)) do
        if filters[next_one] and matches_filter(request, filters[next_one]) then
            next_one = next_one + 1
        end
        lines[#lines + 1] = describe_request(request)
    end
    if next_one > #filters then
        return true
    end
    return nil, "asked: filter " .. next_one .. ", " .. core.encode(filters[next_one])
        .. ": no such request came after those for the filters before it; requests:"
        .. (#lines > 0 and "\n" .. table.concat(lines, "\n") or " none")
end

---Forgets the requests so far.
function requests:clear_requests()
    simcore.requests_clear(self)
end

requests.requests_clear = requests.clear_requests -- its old name

return requests
