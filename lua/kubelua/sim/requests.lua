-- What a simulated cluster was asked, for tests to assert on.
local core = require "kubelua.core"
local options = require "kubelua.sim.options"

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
---@field at number the cluster's Unix time
---@field content_type string? of the body
---@field body any of JSON up to 64 KB, decoded

local FILTER = {
    method = "string", path = "string", verb = "string", group = "string", version = "string",
    resource = "string", subresource = "string", namespace = "string", name = "string",
    status = "number", user_agent = "string",
}

local requests = {}

local function matches(request, filter)
    for name, value in pairs(filter) do
        if name == "user_agent" then
            if not tostring(request.user_agent):find(value, 1, true) then
                return false
            end
        elseif request[name] ~= value then
            return false
        end
    end
    return true
end

---What was asked so far, oldest first; the last 1,000. The filter's fields must be equal, its
---user_agent a part of the request's.
---@param filter table? any of method, path, verb, group, version, resource, subresource,
---namespace, name, status, user_agent
---@return kubelua.sim.Request[]
function requests:requests(filter)
    filter = options.check("requests", filter, FILTER)
    local found = {}
    for _, request in ipairs(core.decode(self.box:requests())) do
        if matches(request, filter) then
            found[#found + 1] = request
        end
    end
    return found
end

---Forgets what was asked.
function requests:clear_requests()
    self.box:requests_clear()
end

requests.requests_clear = requests.clear_requests -- its first name

return requests
