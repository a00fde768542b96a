-- Reads a server's discovery: the kinds that it serves. Newer servers answer in the aggregated
-- form; older ones need a request for each group and version.
local answers = require "kubelua.verbs.answers"
local Catalogue = require "kubelua.verbs.catalogue"
local core = require "kubelua.core"

local discovery = {}

-- The newest form first; a server answers with the first one that it knows.
local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    .. "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    .. "application/json"

-- Iterates over a list in a server's answer. A missing or wrong list is empty.
local function each_item(value, name)
    local list = type(value) == "table" and value[name]
    return ipairs(type(list) == "table" and list or {})
end

-- A string in a server's answer; "" if it is missing.
local function read_text(value, name)
    local member = type(value) == "table" and value[name]
    return type(member) == "string" and member or ""
end

-- The strings of a list; or of one field of each table in a list.
local function read_texts(value, name, member)
    local list = {}
    for _, item in each_item(value, name) do
        local word = member and read_text(item, member) or item
        if type(word) == "string" and word ~= "" then
            list[#list + 1] = word
        end
    end
    return list
end

local function make_set(list)
    local set = {}
    for _, name in ipairs(list) do
        set[name] = true
    end
    return set
end

-- Adds a kind, unless a name is missing. `below`: its subresources.
local function add_kind(self, kind, resource, below)
    if kind.kind ~= "" and kind.plural ~= "" and kind.version ~= "" then
        kind.subresources, kind.has_status = below, below.status or false
        self:add(kind, read_texts(resource, "shortNames"), read_texts(resource, "verbs"))
    end
end

-- Adds a version of a group in the aggregated form. A stale version has the last answer of its API
-- server, or nothing.
local function add_aggregated(self, group, served)
    local version = read_text(served, "version")
    local is_stale = read_text(served, "freshness") == "Stale"
    if is_stale then
        self.unreachable[#self.unreachable + 1] = group .. "/" .. version
    end
    for _, resource in each_item(served, "resources") do
        add_kind(self, {
            group = group, version = version, is_stale = is_stale,
            kind = type(resource) == "table" and read_text(resource.responseKind, "kind") or "",
            plural = read_text(resource, "resource"),
            singular = read_text(resource, "singularResource"),
            namespaced = read_text(resource, "scope") == "Namespaced",
        }, resource, make_set(read_texts(resource, "subresources", "subresource")))
    end
end

-- Adds a group and version in the old form, where subresources are among the resources.
local function add_resources(self, group, version, list)
    local below = {}
    for _, name in ipairs(read_texts(list, "resources", "name")) do
        local plural, subresource = name:match("^(.-)/(.+)$")
        if plural then
            below[plural] = below[plural] or {}
            below[plural][subresource] = true
        end
    end
    for _, resource in each_item(list, "resources") do
        local plural = read_text(resource, "name")
        if not plural:find("/", 1, true) then
            add_kind(self, {
                group = group, version = version, plural = plural,
                kind = read_text(resource, "kind"), singular = read_text(resource, "singularName"),
                namespaced = type(resource) == "table" and resource.namespaced == true,
            }, resource, below[plural] or {})
        end
    end
end

local function get_json(send, path, accept)
    local reply, message, code = send { method = "GET", path = path, headers = { Accept = accept } }
    if not reply then
        return nil, message, code
    end
    local answer
    answer, message, code = answers.json(reply, path)
    return answer, message, code, reply.status
end

-- A group whose API server does not answer is noted; the others are still read.
local function add_version(self, send, group, version)
    local prefix = group == "" and "/api/" or "/apis/" .. group .. "/"
    local list, message, code, status = get_json(send, prefix .. version, "application/json")
    if list then
        add_resources(self, group, version, list)
    elseif status then
        self.unreachable[#self.unreachable + 1] = group .. "/" .. version
    else
        return nil, message, code
    end
    return true
end

-- Adds a group in the old form: its preferred version, then the others.
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
    for _, group in each_item(answer, "groups") do
        local preferred = type(group) == "table"
            and read_text(group.preferredVersion, "version") or ""
        local ok, message, code = add_group(self, send, read_text(group, "name"),
            read_texts(group, "versions", "version"), preferred)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

-- Reads one of the two roots: "/api" has the core group, "/apis" the others. The kind of the answer
-- tells its form.
local function add_root(self, send, root)
    local answer, message, code, status = get_json(send, root, AGGREGATED)
    if status == 406 then
        answer, message, code, status = get_json(send, root, "application/json")
    end
    if not answer then
        return nil, message, code, status
    elseif answer.kind == "APIGroupDiscoveryList" then
        for _, group in each_item(answer, "items") do
            local name = type(group) == "table" and read_text(group.metadata, "name") or ""
            for _, served in each_item(group, "versions") do
                add_aggregated(self, name, served)
            end
            if self.till and core.now() > self.till then
                return nil, "discovery: it was not complete in time", "timeout"
            end
        end
        return true
    elseif answer.kind == "APIVersions" then
        return add_group(self, send, "", read_texts(answer, "versions"), "v1")
    elseif answer.kind == "APIGroupList" then
        return add_old_groups(self, send, answer)
    end
    return nil, root .. " answered with kind \"" .. tostring(answer.kind)
        .. "\": is this a Kubernetes API server?", "parse"
end

---Asks a server for all kinds that it serves.
---@param send fun(call: table): table?, string?, string?
---@param till number? a time of core.now
---@return kubelua.Catalogue?, string?, string?
function discovery.read(send, till)
    local self = Catalogue.new()
    self.till = till
    local refused, message, code = 0, nil, nil
    -- A server may have only one of the roots, and a user may be allowed to read only one.
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
