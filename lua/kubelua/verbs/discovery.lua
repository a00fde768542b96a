-- Asks a server which groups and versions it serves (the roots of discovery), and for the kinds of
-- one of them. Newer servers answer the roots in the aggregated form, with all kinds; older ones
-- need a request for each group and version, which survey.lua sends.
local answers = require "kubelua.verbs.answers"
local lists = require "kubelua.verbs.resource_lists"

local discovery = {}

-- The newest form first; a server answers with the first one that it knows.
local AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    .. "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    .. "application/json"

-- Bytes of an answer, and versions of groups in the old form: reading more would block the loop for
-- seconds, or be thousands of requests.
local MOST_BYTES, MOST_VERSIONS = 32 * 1024 * 1024, 5000

---A version of a group that a server serves.
---@class kubelua.ServedVersion
---@field group string
---@field version string
---@field kinds kubelua.Kind[]? nil: they must be asked for
---@field is_stale boolean? its API server does not answer now

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
    answer, message, code = answers.json(reply, path)
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
    return lists.of_version(group, version, list)
end

local function add_aggregated(served, answer, rest)
    for i, group in lists.each(answer, "items") do
        local name = type(group) == "table" and lists.text(group.metadata, "name") or ""
        for _, each in lists.each(group, "versions") do
            local kinds, is_stale = lists.of_aggregated(name, each)
            served[#served + 1] = { group = name, version = lists.text(each, "version"),
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

local function add_old_groups(served, answer)
    for _, group in lists.each(answer, "groups") do
        local preferred = type(group) == "table"
            and lists.text(group.preferredVersion, "version") or ""
        add_group(served, lists.text(group, "name"), lists.texts(group, "versions", "version"),
            preferred)
        if #served > MOST_VERSIONS then
            return nil, ("discovery: the server has more than %d groups and versions")
                :format(MOST_VERSIONS), "too_large"
        end
    end
    return true
end

-- Reads one of the two roots: "/api" has the core group, "/apis" the others. The kind of the answer
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
        add_group(served, "", lists.texts(answer, "versions"), "v1")
        return true
    elseif answer.kind == "APIGroupList" then
        return add_old_groups(served, answer)
    end
    return nil, root .. " answered with kind \"" .. tostring(answer.kind)
        .. "\": is this a Kubernetes API server?", "parse"
end

---Asks a server for its groups and versions, in its order of preference.
---@param send fun(call: table): table?, string?, string?
---@param rest fun() called now and then while a long answer is read: lets others have their turn
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
