-- Reads the resources of a group and version out of an answer of discovery, in either form: newer
-- servers answer for all groups at once (aggregated), older ones for each group and version.
local lists = {}

---Iterates over a list in a server's answer. A missing or wrong list is empty.
---@param value any
---@param name string
function lists.each(value, name)
    local list = type(value) == "table" and value[name]
    return ipairs(type(list) == "table" and list or {})
end

---A string in a server's answer; "" if it is missing.
---@param value any
---@param name string
---@return string
function lists.text(value, name)
    local member = type(value) == "table" and value[name]
    return type(member) == "string" and member or ""
end

---The strings of a list; or of one field of each table in a list.
---@param value any
---@param name string
---@param member string?
---@return string[]
function lists.texts(value, name, member)
    local list = {}
    for _, item in lists.each(value, name) do
        local word = member and lists.text(item, member) or item
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
    for _, name in ipairs(lists.texts(resource, "shortNames")) do
        kind.short_names[name:lower()] = true
    end
    for _, verb in ipairs(lists.texts(resource, "verbs")) do
        kind.can_watch = kind.can_watch or verb == "watch"
    end
    found[#found + 1] = kind
end

---The kinds of a version of a group in the aggregated form. The second result is true if they are
---stale: the last answer of their API server, or nothing.
---@param group string
---@param served any
---@return kubelua.Kind[], boolean
function lists.of_aggregated(group, served)
    local found, version = {}, lists.text(served, "version")
    local is_stale = lists.text(served, "freshness") == "Stale"
    for _, resource in lists.each(served, "resources") do
        add_kind(found, {
            group = group, version = version, is_stale = is_stale,
            kind = type(resource) == "table" and lists.text(resource.responseKind, "kind") or "",
            plural = lists.text(resource, "resource"),
            singular = lists.text(resource, "singularResource"),
            namespaced = lists.text(resource, "scope") == "Namespaced",
        }, resource, make_set(lists.texts(resource, "subresources", "subresource")))
    end
    return found, is_stale
end

---The kinds of a group and version in the old form, where subresources are among the resources.
---@param group string
---@param version string
---@param list any
---@return kubelua.Kind[]
function lists.of_version(group, version, list)
    local found, below = {}, {}
    for _, name in ipairs(lists.texts(list, "resources", "name")) do
        local plural, subresource = name:match("^(.-)/(.+)$")
        if plural then
            below[plural] = below[plural] or {}
            below[plural][subresource] = true
        end
    end
    for _, resource in lists.each(list, "resources") do
        local plural = lists.text(resource, "name")
        if not plural:find("/", 1, true) then
            add_kind(found, {
                group = group, version = version, plural = plural,
                kind = lists.text(resource, "kind"),
                singular = lists.text(resource, "singularName"),
                namespaced = type(resource) == "table" and resource.namespaced == true,
            }, resource, below[plural] or {})
        end
    end
    return found
end

return lists
