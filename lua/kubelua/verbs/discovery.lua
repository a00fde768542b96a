-- Asks a server which groups and versions it serves (the roots of discovery), and for the kinds of
-- one of them. Newer servers answer the roots in the aggregated form, with all kinds; older ones
-- need a request for each group and version, which survey.lua sends.
local replies = require "kubelua.verbs.replies"

local discovery = {}

-- The newest form first; a server answers with the first one that it knows.
local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    .. "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    .. "application/json"

-- Bytes of a reply, and versions of groups in the old form: reading more would block the loop for
-- seconds, or be thousands of requests.
local MOST_BYTES, MOST_VERSIONS = 32 * 1024 * 1024, 5000

---A version of a group that a server serves.
---@class kubelua.ServedVersion
---@field group string
---@field version string
---@field kinds kubelua.Kind[]? nil: they must be asked for
---@field is_stale boolean? its API server does not answer now

---Iterates over a list in a server's reply. A missing or wrong list is empty.
---@param value any
---@param name string
local function each_in(value, name)
    local list = type(value) == "table" and value[name]
    return ipairs(type(list) == "table" and list or {})
end

---A string in a server's reply; "" if it is missing.
---@param value any
---@param name string
---@return string
local function text_of(value, name)
    local member = type(value) == "table" and value[name]
    return type(member) == "string" and member or ""
end

---The strings of a list; or of one field of each table in a list.
---@param value any
---@param name string
---@param member string?
---@return string[]
local function texts_of(value, name, member)
    local list = {}
    for _, item in each_in(value, name) do
        local word = member and text_of(item, member) or item
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

-- Adds a kind to a list of kinds, unless a name is missing. `below`: its subresources.
local function add_kind(found, kind, resource, below)
    if kind.kind == "" or kind.plural == "" or kind.version == "" then
        return
    end
    kind.subresources, kind.has_status = below, below.status or false
    kind.api_version = kind.group == "" and kind.version or kind.group .. "/" .. kind.version
    kind.names = { [kind.plural:lower()] = true, [kind.kind:lower()] = true,
        [kind.singular:lower()] = true }
    kind.short_names = {}
    for _, name in ipairs(texts_of(resource, "shortNames")) do
        kind.short_names[name:lower()] = true
    end
    for _, verb in ipairs(texts_of(resource, "verbs")) do
        kind.can_watch = kind.can_watch or verb == "watch"
    end
    found[#found + 1] = kind
end

---The kinds of a version of a group in the aggregated form. The second result is true if they are
---stale: the last reply of their API server, or nothing.
---@param group string
---@param served any
---@return kubelua.Kind[], boolean
local function read_aggregated(group, served)
    local found, version = {}, text_of(served, "version")
    local is_stale = text_of(served, "freshness") == "Stale"
    for _, resource in each_in(served, "resources") do
        add_kind(found, {
            group = group, version = version, is_stale = is_stale,
            kind = type(resource) == "table" and text_of(resource.responseKind, "kind") or "",
            plural = text_of(resource, "resource"),
            singular = text_of(resource, "singularResource"),
            namespaced = text_of(resource, "scope") == "Namespaced",
        }, resource, make_set(texts_of(resource, "subresources", "subresource")))
    end
    return found, is_stale
end

---The kinds of a group and version in the old form, where subresources are among the resources.
---@param group string
---@param version string
---@param list any
---@return kubelua.Kind[]
local function read_version(group, version, list)
    local found, below = {}, {}
    for _, name in ipairs(texts_of(list, "resources", "name")) do
        local plural, subresource = name:match("^(.-)/(.+)$")
        if plural then
            below[plural] = below[plural] or {}
            below[plural][subresource] = true
        end
    end
    for _, resource in each_in(list, "resources") do
        local plural = text_of(resource, "name")
        if not plural:find("/", 1, true) then
            add_kind(found, {
                group = group, version = version, plural = plural,
                kind = text_of(resource, "kind"),
                singular = text_of(resource, "singularName"),
                namespaced = type(resource) == "table" and resource.namespaced == true,
            }, resource, below[plural] or {})
        end
    end
    return found
end

local function get_json(send, path, accept, timeout)
    local reply, message, code = send { method = "GET", path = path, timeout = timeout,
        headers = { Accept = accept } }
    if not reply then
        return nil, message, code
    elseif #reply.body > MOST_BYTES then
        return nil, ("discovery: %s answered with more than %d MB"):format(path,
            MOST_BYTES / 1024 / 1024), "too_large"
    end
    local answer
    answer, message, code = replies.json(reply, path)
    return answer, message, code, reply.status
end

---Asks for the kinds of a group and version in the old form. The fourth result is the HTTP status,
---if the server has answered.
---@param send fun(call: table): table?, string?, string?
---@param group string
---@param version string
---@param timeout number?
---@return kubelua.Kind[]?, string?, string?, integer?
function discovery.version(send, group, version, timeout)
    local prefix = group == "" and "/api/" or "/apis/" .. group .. "/"
    local list, message, code, status = get_json(send, prefix .. version, "application/json",
        timeout)
    if not list then
        return nil, message, code, status
    end
    return read_version(group, version, list)
end

local function add_aggregated(served, answer, rest)
    for i, group in each_in(answer, "items") do
        local name = type(group) == "table" and text_of(group.metadata, "name") or ""
        for _, each in each_in(group, "versions") do
            local kinds, is_stale = read_aggregated(name, each)
            served[#served + 1] = { group = name, version = text_of(each, "version"),
                kinds = kinds, is_stale = is_stale }
        end
        if i % 500 == 0 then
            rest()
        end
    end
end

-- Adds a group in the old form: its preferred version, then the others.
local function add_group(served, name, versions, preferred)
    if preferred ~= "" then
        served[#served + 1] = { group = name, version = preferred }
    end
    for _, version in ipairs(versions) do
        if version ~= preferred then
            served[#served + 1] = { group = name, version = version }
        end
    end
end

-- The same of an APIGroup.
local function add_old_group(served, name, group)
    local preferred = type(group) == "table" and text_of(group.preferredVersion, "version") or ""
    add_group(served, name, texts_of(group, "versions", "version"), preferred)
    if #served > MOST_VERSIONS then
        return nil, ("discovery: the server has more than %d groups and versions")
            :format(MOST_VERSIONS), "too_large"
    end
    return true
end

local function add_old_groups(served, answer)
    for _, group in each_in(answer, "groups") do
        local ok, message, code = add_old_group(served, text_of(group, "name"), group)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

-- Reads one of the two roots: "/api" has the core group, "/apis" the others. The kind of the reply
-- tells its form.
local function add_root(served, send, root, rest)
    local answer, message, code, status = get_json(send, root, AGGREGATED)
    if status == 406 then
        answer, message, code, status = get_json(send, root, "application/json")
    end
    if not answer then
        return nil, message, code, status
    elseif answer.kind == "APIGroupDiscoveryList" then
        add_aggregated(served, answer, rest)
        return true
    elseif answer.kind == "APIVersions" then
        add_group(served, "", texts_of(answer, "versions"), "v1")
        return true
    elseif answer.kind == "APIGroupList" then
        return add_old_groups(served, answer)
    end
    return nil, root .. " answered with kind \"" .. tostring(answer.kind)
        .. "\": is this a Kubernetes API server?", "parse"
end

---Asks for the versions of one group by its name, in the server's order of preference. None: there
---is no such group, or it may not be seen. The fourth result is the HTTP status of a failure, if
---the server has answered.
---@param send fun(call: table): table?, string?, string?
---@param group string a DNS name
---@param timeout number
---@return kubelua.ServedVersion[]?, string?, string?, integer?
function discovery.group(send, group, timeout)
    local answer, message, code, status = get_json(send, "/apis/" .. group, "application/json",
        timeout)
    local served = {}
    if status == 403 or status == 404 then
        return served
    elseif not answer then
        return nil, message, code, status
    elseif answer.kind ~= "APIGroup" then
        return served -- it is no group
    end
    local ok
    ok, message, code = add_old_group(served, group, answer)
    if not ok then
        return nil, message, code
    end
    return served
end

---Asks a server for its groups and versions, in its order of preference.
---@param send fun(call: table): table?, string?, string?
---@param rest fun() called now and then while a long reply is read: lets others have their turn
---@return kubelua.ServedVersion[]?, string?, string?
function discovery.roots(send, rest)
    local served = {}
    local refused, message, code = 0, nil, nil
    -- A server may have only one of the roots, and a user may be allowed to read only one.
    for _, root in ipairs { "/api", "/apis" } do
        local ok, status
        ok, message, code, status = add_root(served, send, root, rest)
        if not ok and status ~= 403 and status ~= 404 then
            return nil, message, code
        end
        refused = refused + (ok and 0 or 1)
    end
    if refused == 2 then
        return nil, message, code
    end
    return served
end

return discovery
