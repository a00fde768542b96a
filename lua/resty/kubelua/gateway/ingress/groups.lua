-- Which Ingresses have to do with one another, because they share a host: after a change only the
-- group of the changed one is compiled anew. An Ingress is known by the names that it gives (hosts
-- of rules and of TLS, aliases, what a redirect to www means) and that it looks at. Pure.
local Groups = {}
Groups.__index = Groups

local groups = {}

---@class kubelua.gateway.IngressGroups
---@field names table<string, table<string, true>> by Ingress: the names that it gives
---@field looks table<string, table<string, true>> by Ingress: those that it only looks at
---@field givers table<string, table<string, true>> Ingresses by a name
---@field lookers table<string, table<string, true>>

---@return kubelua.gateway.IngressGroups
function groups.new()
    return setmetatable({ names = {}, looks = {}, givers = {}, lookers = {} }, Groups)
end

local function parent_of(host)
    return (host:gsub("^[^.]+", "*", 1))
end

local function is_list(value)
    return type(value) == "table" and value or {}
end

local function add_host(names, looks, host)
    host = host:lower()
    names[host] = true
    looks[parent_of(host)] = true -- where the certificate may be
    local bare = host:match("^www%.(.+)$")
    looks[bare or "www." .. host] = true
end

local function add_tls(names, spec)
    for _, entry in ipairs(is_list(spec.tls)) do
        for _, host in ipairs(type(entry) == "table" and is_list(entry.hosts) or {}) do
            if type(host) == "string" then
                names[host:lower()] = true
            end
        end
    end
end

-- The names that an Ingress gives, and those that it looks at.
local function names_of(object, parsed)
    local spec, names, looks = is_list(object.spec), {}, {}
    for _, rule in ipairs(is_list(spec.rules)) do
        local host = type(rule) == "table" and rule.host
        add_host(names, looks, type(host) == "string" and host ~= "" and host or "*")
    end
    if not next(names) then
        names["*"] = true
    end
    for _, alias in ipairs(parsed.aliases or {}) do
        add_host(names, looks, alias)
    end
    add_tls(names, spec)
    if parsed.www_redirect then -- it gives the other name, if it is no host
        for name in pairs(looks) do
            names[name] = true
        end
    end
    return names, looks
end

local function index(self, field, map, key, names)
    for name in pairs(self[field][key] or {}) do
        map[name][key] = nil
        if not next(map[name]) then
            map[name] = nil
        end
    end
    self[field][key] = names
    for name in pairs(names or {}) do
        map[name] = map[name] or {}
        map[name][key] = true
    end
end

local function add_all(list, seen, keys)
    for key in pairs(keys or {}) do
        if not seen[key] then
            seen[key] = true
            list[#list + 1] = key
        end
    end
end

-- Adds the Ingresses that have one of an Ingress's names, or look at it; and those whose names it
-- looks at.
local function add_neighbours(self, list, seen, key)
    for name in pairs(self.names[key] or {}) do
        add_all(list, seen, self.givers[name])
        add_all(list, seen, self.lookers[name])
    end
    for name in pairs(self.looks[key] or {}) do
        add_all(list, seen, self.givers[name])
    end
end

---Takes new versions of Ingresses, and finds all that they have to do with, or had.
---@param changed table<string, { object: table, parsed: table }|false> by key; false: deleted
---@param pace fun() called between two pieces of work
---@return string[] keys of the Ingresses to compile anew, and of those that are gone
function Groups:change(changed, pace)
    local list, seen = {}, {}
    for key, version in pairs(changed) do
        add_all(list, seen, { [key] = true })
        add_neighbours(self, list, seen, key)
        local names, looks
        if version then
            names, looks = names_of(version.object, version.parsed)
        end
        index(self, "names", self.givers, key, names)
        index(self, "looks", self.lookers, key, looks)
        pace()
    end
    local at = 1
    while list[at] do
        add_neighbours(self, list, seen, list[at])
        at = at + 1
        pace()
    end
    return list
end

return groups
