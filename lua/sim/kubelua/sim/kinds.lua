-- Which path a kind has: "pods", "Pod", "po", "deployments.apps", "apps/v1/Deployment", or what an
-- object says of itself. Asks the server's discovery, and keeps what it said.
local core = require "kubelua.core"
local options = require "kubelua.options"

---What a server serves.
---@class kubelua.sim.Kinds
local Kinds = {}
Kinds.__index = Kinds

---@class kubelua.sim.Kind
---@field api_version string "apps/v1"
---@field group string "" for the core group
---@field kind string
---@field plural string
---@field namespaced boolean
---@field has_status boolean
---@field names table<string, boolean> all that it is called, in lower case

---@param call fun(request: table): integer?, string?, string?
---@return kubelua.sim.Kinds
function Kinds.new(call)
    return setmetatable({ call = call, versions = {}, all = nil }, Kinds)
end

local function get(self, target)
    local status, body, code = self.call { target = target }
    if not status then
        return nil, body, code
    elseif status ~= 200 then
        return nil, target .. ": HTTP " .. status, "not_found"
    end
    return core.decode(body)
end

local function make(api_version, resource)
    local kind = {
        api_version = api_version,
        group = api_version:match("^(.*)/") or "",
        kind = resource.kind,
        plural = resource.name,
        namespaced = resource.namespaced,
        has_status = false,
        names = { [resource.name] = true, [resource.kind:lower()] = true },
    }
    for _, name in ipairs(resource.shortNames or {}) do
        kind.names[name] = true
    end
    return kind
end

-- The kinds of one group and version, in the server's order.
local function load_version(self, api_version)
    local prefix = api_version:find("/", 1, true) and "/apis/" or "/api/"
    local list, message, code = get(self, prefix .. api_version)
    if not list then
        return nil, message, code
    end
    local kinds, by_plural = {}, {}
    for _, resource in ipairs(list.resources) do
        if not resource.name:find("/", 1, true) then
            local kind = make(api_version, resource)
            kinds[#kinds + 1] = kind
            by_plural[kind.plural] = kind
        end
    end
    for _, resource in ipairs(list.resources) do
        local plural = resource.name:match("^(.*)/status$")
        if plural and by_plural[plural] then
            by_plural[plural].has_status = true
        end
    end
    self.versions[api_version] = kinds
    return kinds
end

-- Everything: the core group first, then each group with the version that it prefers first.
local function load_all(self)
    local groups, message, code = get(self, "/apis")
    if not groups then
        return nil, message, code
    end
    local order, known = { "v1" }, { v1 = true }
    for _, group in ipairs(groups.groups) do
        order[#order + 1] = group.preferredVersion.groupVersion
        known[group.preferredVersion.groupVersion] = true
    end
    for _, group in ipairs(groups.groups) do
        for _, version in ipairs(group.versions) do
            if not known[version.groupVersion] then
                order[#order + 1] = version.groupVersion
            end
        end
    end
    local all = {}
    for _, api_version in ipairs(order) do
        for _, kind in ipairs(load_version(self, api_version) or {}) do
            all[#all + 1] = kind
        end
    end
    self.all = all
    return all
end

local function find_in(kinds, name, group)
    for _, kind in ipairs(kinds or {}) do
        if kind.names[name] and (not group or kind.group == group) then
            return kind
        end
    end
    return nil
end

local function find_anywhere(kinds, name)
    local first, group = name:match("^([^.]+)%.(.+)$")
    return find_in(kinds, name) or (first and find_in(kinds, first, group))
end

local function refuse(self, name, field)
    local names = {}
    for _, kind in ipairs(self.all or {}) do
        names[#names + 1] = kind[field]
    end
    local nearest = options.nearest(name, names)
    return nil, "the server has no kind \"" .. name .. "\""
        .. (nearest and "; do you mean \"" .. nearest .. "\"?"
            or ": is its CustomResourceDefinition applied?"), "not_found"
end

---Finds a kind by any of its names.
---@param name string
---@return kubelua.sim.Kind?, string?, string?
function Kinds:find(name)
    if type(name) ~= "string" then
        error("a kind is a text, such as \"pods\", not a " .. type(name), 3)
    end
    local api_version, kind_name = name:match("^(.+)/([^/]+)$")
    if api_version then
        return self:of(api_version, kind_name)
    end
    local lower = name:lower()
    local kind = find_anywhere(self.all, lower)
    if kind then
        return kind
    end
    local all, message, code = load_all(self)
    if not all then
        return nil, message, code
    end
    kind = find_anywhere(all, lower)
    if kind then
        return kind
    end
    return refuse(self, name, "plural")
end

---Finds the kind of an object.
---@param api_version string
---@param name string its kind, or any other name
---@return kubelua.sim.Kind?, string?, string?
function Kinds:of(api_version, name)
    local lower = name:lower()
    local kind = find_in(self.versions[api_version], lower)
        or find_in(load_version(self, api_version), lower)
    if kind then
        return kind
    end
    kind = find_in(load_all(self), lower)
    if kind then
        return nil, api_version .. " has no " .. name .. "; it is served as " .. kind.api_version,
            "not_found"
    end
    return refuse(self, name, "kind")
end

---The path of a collection, or of an object in it.
---@param kind kubelua.sim.Kind
---@param namespace string?
---@param name string?
---@param subresource string?
---@return string
function Kinds.path(kind, namespace, name, subresource)
    local path = (kind.group == "" and "/api/" or "/apis/") .. kind.api_version
    if kind.namespaced and namespace then
        path = path .. "/namespaces/" .. namespace
    end
    path = path .. "/" .. kind.plural
    if name then
        path = path .. "/" .. name
    end
    return subresource and path .. "/" .. subresource or path
end

return Kinds
