-- The kinds that a server says it serves: its discovery, in the aggregated form, and in the old one
-- that takes a request for each group and version.
local answers = require "kubelua.verbs.answers"
local Catalogue = require "kubelua.verbs.catalogue"

local discovery = {}

-- The newest form first; a server takes the first that it has.
local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    .. "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    .. "application/json"

-- A list of a document that a server made: what is none has no items.
local function items(value, name)
    local list = type(value) == "table" and value[name]
    return ipairs(type(list) == "table" and list or {})
end

-- The same of a text.
local function text(value, name)
    local member = type(value) == "table" and value[name]
    return type(member) == "string" and member or ""
end

-- The texts of a list, or of a member of each of its tables.
local function texts(value, name, member)
    local list = {}
    for _, item in items(value, name) do
        local word = member and text(item, member) or item
        if type(word) == "string" and word ~= "" then
            list[#list + 1] = word
        end
    end
    return list
end

local function set_of(list)
    local set = {}
    for _, name in ipairs(list) do
        set[name] = true
    end
    return set
end

-- Adds a kind, unless it lacks a name. `below`: its subresources.
local function add(self, kind, resource, below)
    if kind.kind ~= "" and kind.plural ~= "" and kind.version ~= "" then
        kind.subresources, kind.has_status = below, below.status or false
        self:add(kind, texts(resource, "shortNames"), texts(resource, "verbs"))
    end
end

-- A version of a group in the aggregated form; a stale one has what its API server said when it
-- last answered, or nothing.
local function add_aggregated(self, group, served)
    local version = text(served, "version")
    local is_stale = text(served, "freshness") == "Stale"
    if is_stale then
        self.unreachable[#self.unreachable + 1] = group .. "/" .. version
    end
    for _, resource in items(served, "resources") do
        add(self, {
            group = group, version = version, is_stale = is_stale,
            kind = type(resource) == "table" and text(resource.responseKind, "kind") or "",
            plural = text(resource, "resource"), singular = text(resource, "singularResource"),
            namespaced = text(resource, "scope") == "Namespaced",
        }, resource, set_of(texts(resource, "subresources", "subresource")))
    end
end

-- What a group and version answers with, in the old form: subresources stand among the resources.
local function add_resources(self, group, version, list)
    local below = {}
    for _, name in ipairs(texts(list, "resources", "name")) do
        local plural, subresource = name:match("^(.-)/(.+)$")
        if plural then
            below[plural] = below[plural] or {}
            below[plural][subresource] = true
        end
    end
    for _, resource in items(list, "resources") do
        local plural = text(resource, "name")
        if not plural:find("/", 1, true) then
            add(self, {
                group = group, version = version, kind = text(resource, "kind"), plural = plural,
                singular = text(resource, "singularName"),
                namespaced = type(resource) == "table" and resource.namespaced == true,
            }, resource, below[plural] or {})
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

-- A group of the old form: its preferred version, then the others.
local function add_group(self, send, name, versions, preferred)
    local order = { preferred ~= "" and preferred or nil }
    for _, version in ipairs(versions) do
        order[#order + 1] = version ~= preferred and version or nil
    end
    for _, version in ipairs(order) do
        local ok, message, code = add_version(self, send, name, version)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

local function add_old_groups(self, send, answer)
    for _, group in items(answer, "groups") do
        local preferred = type(group) == "table" and text(group.preferredVersion, "version") or ""
        local ok, message, code = add_group(self, send, text(group, "name"),
            texts(group, "versions", "version"), preferred)
        if not ok then
            return nil, message, code
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
        for _, group in items(answer, "items") do
            local name = type(group) == "table" and text(group.metadata, "name") or ""
            for _, served in items(group, "versions") do
                add_aggregated(self, name, served)
            end
        end
        return true
    elseif answer.kind == "APIVersions" then
        return add_group(self, send, "", texts(answer, "versions"), "v1")
    elseif answer.kind == "APIGroupList" then
        return add_old_groups(self, send, answer)
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
