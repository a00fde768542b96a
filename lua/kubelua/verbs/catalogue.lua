-- The catalogue of the kinds that a server serves, in its order of preference. It finds a kind by a
-- name as people type it, with kubectl's rules. discovery.lua fills it.
local options = require "kubelua.options"

---@class kubelua.Catalogue
---@field kinds kubelua.Kind[]
---@field unreachable string[] groups and versions about which the server knew nothing
---@field till number? while it is filled: the time of core.now at which that ends
---@field found table<string, kubelua.Kind> by name, of earlier calls
local Catalogue = {}
Catalogue.__index = Catalogue

---@return kubelua.Catalogue
function Catalogue.new()
    return setmetatable({ kinds = {}, unreachable = {}, found = {} }, Catalogue)
end

---Adds a kind. Call it in the server's order.
---@param kind kubelua.Kind
---@param short_names string[]?
---@param verbs string[]?
function Catalogue:add(kind, short_names, verbs)
    kind.api_version = kind.group == "" and kind.version or kind.group .. "/" .. kind.version
    kind.names = { [kind.plural:lower()] = true, [kind.kind:lower()] = true,
        [(kind.singular or ""):lower()] = true }
    kind.short_names = {}
    for _, name in ipairs(short_names or {}) do
        kind.short_names[name:lower()] = true
    end
    for _, verb in ipairs(verbs or {}) do
        kind.can_watch = kind.can_watch or verb == "watch"
    end
    self.kinds[#self.kinds + 1] = kind
end

-- All meanings that a name may have, the likelier first: { word =, group =, version =, prefix = };
-- an absent field matches anything.
local function list_readings(name)
    local group, version, word = name:match("^([^/]+)/([^/]+)/([^/]+)$")
    if group then
        return { { word = word, group = group, version = version } }
    end
    group, word = name:match("^([^/]+)/([^/]+)$")
    if group then
        return { group == "v1" and { word = word, group = "", version = "v1" }
            or { word = word, group = group } }
    elseif name:find("/", 1, true) then
        return {}
    end
    local first, rest = name:match("^([^.]+)%.(.+)$")
    if not first then
        return { { word = name } }
    end
    local as_group = { word = first, group = rest, prefix = true }
    local middle, last = rest:match("^([^.]+)%.(.*)$") -- last == "": the core group
    if middle then
        return { { word = first, version = middle, group = last }, as_group }
    end
    return { as_group, { word = first, version = rest, group = "" } }
end

local function matches_reading(kind, wanted, by_prefix, short, stale)
    local group = kind.group:lower()
    return (kind.is_stale or false) == stale
        and (not wanted.version or kind.version:lower() == wanted.version)
        and (not wanted.group or group == wanted.group
            or by_prefix and group:sub(1, #wanted.group) == wanted.group)
        and (short and kind.short_names or kind.names)[wanted.word] ~= nil
end

-- The first match; a kind that can be watched comes before one that cannot.
local function run_pass(self, ...)
    local found
    for _, kind in ipairs(self.kinds) do
        if matches_reading(kind, ...) then
            if kind.can_watch then
                return kind
            end
            found = found or kind
        end
    end
    return found
end

-- Full names come before short ones, exact groups before beginnings of groups, and kinds that the
-- server is sure of before stale ones.
local function find_kind(self, name)
    for _, wanted in ipairs(list_readings(name:lower())) do
        for _, by_prefix in ipairs { false, wanted.prefix } do
            for _, short in ipairs { false, true } do
                local found = run_pass(self, wanted, by_prefix, short, false)
                    or run_pass(self, wanted, by_prefix, short, true)
                if found then
                    return found
                end
            end
        end
    end
    return nil
end

---Finds the kind that a name means.
---@param name string
---@return kubelua.Kind?
function Catalogue:find(name)
    local found = self.found[name] or find_kind(self, name)
    self.found[name] = found
    return found
end

---The message for an unknown name: with the nearest name, or the remedy.
---@param name string
---@return nil, string, string
function Catalogue:refuse(name)
    -- In "foos.example.com", example.com is not a version.
    local wanted = table.remove(list_readings(name))
    if not wanted or wanted.word == "" then
        return nil, "\"" .. name:sub(1, 100) .. "\" names no resource; write it as \"pods\", "
            .. "\"deployments.apps\" or \"apps/v1/Deployment\"", "unknown_kind"
    end
    local field = wanted.word:find("^%u") and "kind" or "plural"
    local words, served_as, has_group = {}, nil, not (wanted.group or ""):find(".", 1, true)
    for _, kind in ipairs(self.kinds) do
        words[#words + 1] = kind[field]
        served_as = served_as or kind.names[wanted.word:lower()] and kind.api_version
        has_group = has_group or kind.group == wanted.group
    end
    local hint
    local nearest = not served_as and options.nearest(wanted.word, words)
    if not served_as and not has_group then
        hint = ", and nothing of the group " .. wanted.group .. ": install its CRD "
            .. "(CustomResourceDefinition) or API server"
    elseif served_as and wanted.version then
        local api_version = wanted.group == "" and wanted.version
            or wanted.group .. "/" .. wanted.version
        return nil, api_version .. " has no " .. wanted.word .. "; it is served as " .. served_as,
            "unknown_kind"
    elseif served_as then
        hint = "; it is served as " .. served_as
    elseif nearest then
        hint = "; do you mean \"" .. nearest .. "\"?"
    else
        hint = "; if it is a custom one, its CustomResourceDefinition is not installed yet"
    end
    if #self.unreachable > 0 then
        hint = hint .. "; it does not know " .. table.concat(self.unreachable, ", ")
            .. ", whose API server does not answer (kubectl get apiservices)"
    end
    return nil, "the server serves no resource \"" .. name .. "\"" .. hint, "unknown_kind"
end

return Catalogue
