-- The kinds that a server says it serves: its discovery, in the aggregated form, and in the old one
-- that takes a request for each group and version.
local answers = require "kubelua.verbs.answers"
local Catalogue = require "kubelua.verbs.catalogue"

local discovery = {}

-- The newest form first; a server takes the first that it has.
local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    .. "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    .. "application/json"

-- A version of a group in the aggregated form; a stale one has what its API server said when it
-- last answered, or nothing.
local function add_aggregated(self, group, served)
    local is_stale = served.freshness == "Stale"
    if is_stale then
        self.unreachable[#self.unreachable + 1] = group .. "/" .. served.version
    end
    for _, resource in ipairs(served.resources or {}) do
        local kind = resource.responseKind and resource.responseKind.kind
        local below = {}
        for _, subresource in ipairs(resource.subresources or {}) do
            below[subresource.subresource] = true
        end
        if kind and kind ~= "" then
            self:add({ group = group, version = served.version, kind = kind,
                plural = resource.resource, singular = resource.singularResource,
                namespaced = resource.scope == "Namespaced", has_status = below.status or false,
                subresources = below, is_stale = is_stale }, resource.shortNames, resource.verbs)
        end
    end
end

-- What a group and version answers with, in the old form: subresources stand among the resources.
local function add_resources(self, group, version, list)
    local below = {}
    for _, resource in ipairs(list.resources or {}) do
        local plural, subresource = resource.name:match("^(.-)/(.+)$")
        if plural then
            below[plural] = below[plural] or {}
            below[plural][subresource] = true
        end
    end
    for _, resource in ipairs(list.resources or {}) do
        if not resource.name:find("/", 1, true) then
            local own = below[resource.name] or {}
            self:add({ group = group, version = version, kind = resource.kind,
                plural = resource.name, singular = resource.singularName,
                namespaced = resource.namespaced, has_status = own.status or false,
                subresources = own }, resource.shortNames, resource.verbs)
        end
    end
end

local function get(send, path, accept)
    local reply, message, code = send { method = "GET", path = path, headers = { Accept = accept } }
    if not reply then
        return nil, message, code
    end
    local answer
    answer, message, code = answers.json(reply, path)
    return answer, message, code, reply.status
end

-- Groups whose API server does not answer must not keep us from the others.
local function add_version(self, send, group, version)
    local prefix = group == "" and "/api/" or "/apis/" .. group .. "/"
    local list, message, code, status = get(send, prefix .. version, "application/json")
    if list then
        add_resources(self, group, version, list)
    elseif status then
        self.unreachable[#self.unreachable + 1] = group .. "/" .. version
    else
        return nil, message, code
    end
    return true
end

local function add_old_groups(self, send, groups)
    for _, group in ipairs(groups) do
        local preferred = group.preferredVersion and group.preferredVersion.version
        local versions = { preferred }
        for _, version in ipairs(group.versions or {}) do
            if version.version ~= preferred then
                versions[#versions + 1] = version.version
            end
        end
        for _, version in ipairs(versions) do
            local ok, message, code = add_version(self, send, group.name, version)
            if not ok then
                return nil, message, code
            end
        end
    end
    return true
end

-- One of the two roots: "/api" with the core group, "/apis" with the others. The answer's kind
-- tells its form.
local function add_root(self, send, root)
    local answer, message, code, status = get(send, root, AGGREGATED)
    if status == 406 then
        answer, message, code, status = get(send, root, "application/json")
    end
    if not answer then
        return nil, message, code, status
    elseif answer.kind == "APIGroupDiscoveryList" then
        for _, group in ipairs(answer.items or {}) do
            for _, served in ipairs(group.versions or {}) do
                add_aggregated(self, group.metadata.name or "", served)
            end
        end
        return true
    elseif answer.kind == "APIVersions" then
        return add_old_groups(self, send, { { name = "", versions = { { version = "v1" } } } })
    elseif answer.kind == "APIGroupList" then
        return add_old_groups(self, send, answer.groups or {})
    end
    return nil, root .. " answered with kind \"" .. tostring(answer.kind)
        .. "\": is this a Kubernetes API server?", "parse"
end

---Asks a server for all that it serves.
---@param send fun(call: table): table?, string?, string?
---@return kubelua.Catalogue?, string?, string?
function discovery.read(send)
    local self = Catalogue.new()
    local refused, message, code = 0, nil, nil
    -- A server may have one of them only, and a user may see one of them only.
    for _, root in ipairs { "/api", "/apis" } do
        local ok, status
        ok, message, code, status = add_root(self, send, root)
        if not ok and status ~= 403 and status ~= 404 then
            return nil, message, code
        end
        refused = refused + (ok and 0 or 1)
    end
    if refused == 2 then
        return nil, message, code
    end
    return self
end

return discovery
