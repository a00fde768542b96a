-- What the owner tells of objects that are not served as they are written, and why: the table
-- gateway.refused of the map, so that every worker can show it. An object's key is "HTTPRoute
-- web/shop", its value a list of { reason, message }. The table is bounded, and so is the part of
-- each namespace, since tenants make what is refused.
local publish = require "resty.kubelua.gateway.publish"

local refused = {}

local MOST, MOST_OF_NAMESPACE = 1000, 50 -- objects
local MOST_REASONS, MOST_BYTES = 4, 240 -- of an object; of a message

local SOURCES = { "objects", "compiler", "ingresses", "secrets", "scripts" }

-- kubelua.gateway.Problem.kind of an Ingress.
local WORDS = { unsupported = "Unsupported", wrong = "Invalid", differs = "Differs",
    conflict = "Conflict", missing = "NotFound" }

---@class resty.kubelua.gateway.Refused
---@field lists table<string, table<string, table>> by source ("compiler" ...) and key
---@field touched table<string, true> keys of which something has changed
---@field published table<string, true>
---@field waiting table<string, true> keys that found no place
---@field count integer of the published ones
---@field counts table<string, integer> of each namespace
local Refused = {}
Refused.__index = Refused

---@return resty.kubelua.gateway.Refused
function refused.new()
    local lists = {}
    for _, source in ipairs(SOURCES) do
        lists[source] = {}
    end
    return setmetatable({ lists = lists, touched = {}, published = {}, waiting = {}, count = 0,
        counts = {} }, Refused)
end

local function is_same(a, b)
    for i = 1, math.max(#a, #b) do
        if not a[i] or not b[i] or a[i].reason ~= b[i].reason or a[i].message ~= b[i].message then
            return false
        end
    end
    return true
end

local function set(self, source, key, list)
    local lists = self.lists[source]
    list = list[1] and list or nil
    if not is_same(list or {}, lists[key] or {}) then
        lists[key] = list
        self.touched[key] = true
    end
end

-- A tenant may write anything there: an API server without the CRDs' schema takes it.
local function parents_of(object)
    local spec = type(object.spec) == "table" and object.spec or {}
    return type(spec.parentRefs) == "table" and spec.parentRefs or nil
end

-- Why a route that no Gateway of ours takes is not attached. A Gateway of another controller is no
-- reason: that one serves the route.
local function explain_absence(compiler, key)
    local route = compiler.routes.records[key]
    local list = {}
    for _, ref in ipairs(route and #route.found == 0 and parents_of(route.object) or {}) do
        ref = type(ref) == "table" and ref or {}
        local name = ("%s/%s"):format(tostring(ref.namespace or route.origin.namespace),
            tostring(ref.name))
        local is_there = compiler.gateways.objects["Gateway " .. name] ~= nil
        if (ref.kind or "Gateway") == "Gateway" and not is_there then
            list[#list + 1] = { reason = "NoMatchingParent",
                message = "there is no Gateway " .. name }
        end
    end
    return list
end

---Takes what the compiler says of the objects that it has looked at.
---@param compiler table
---@param pace fun()
function Refused:read_compiler(compiler, pace)
    for key in pairs(compiler.reporting:take_touched()) do
        local list = {}
        for _, problem in pairs(compiler.reporting.standing[key] or {}) do
            list[#list + 1] = problem
        end
        table.sort(list, function(a, b) return a.message < b.message end)
        set(self, "compiler", key, list[1] and list or explain_absence(compiler, key))
        pace()
    end
end

---Takes what is said of the Ingresses that were compiled.
---@param reported table<string, kubelua.gateway.Problem[]> by "namespace/name"
---@param pace fun()
function Refused:read_ingresses(reported, pace)
    for name, problems in pairs(reported) do
        local list = {}
        for _, problem in ipairs(problems) do
            local reason = WORDS[problem.kind]
            list[#list + 1] = reason and { reason = reason, message = problem.annotation
                and problem.annotation .. ": " .. problem.message or problem.message }
        end
        set(self, "ingresses", "Ingress " .. name, list)
        pace()
    end
end

-- Takes what is wrong with the objects that `known` has by name, where `is_named` is true.
local function read_known(self, source, known, make, is_named)
    local lists = {}
    for key in pairs(self.lists[source]) do
        lists[key] = {}
    end
    for name, item in pairs(known) do
        if item.why and is_named(name) then
            local key, problem = make(name, item.why)
            lists[key] = { problem }
        end
    end
    for key, list in pairs(lists) do
        set(self, source, key, list)
    end
end

---Takes what is wrong with the Secrets that are named.
---@param secrets resty.kubelua.gateway.Secrets
function Refused:read_secrets(secrets)
    read_known(self, "secrets", secrets.known, function(name, why)
        return "Secret " .. name, { reason = "BadCertificate", message = why }
    end, function(name) return secrets.uses[name] ~= nil end)
end

---Takes what is wrong with scripts of routes.
---@param scripts resty.kubelua.gateway.Scripts
function Refused:read_scripts(scripts)
    read_known(self, "scripts", scripts.known, function(name, why)
        return "ConfigMap " .. name, { reason = "BadScript", message = why }
    end, function() return true end)
end

---Takes what is said of one object before it is compiled.
---@param key string "HTTPRoute web/shop"
---@param problem { reason: string, message: string }? nil: nothing
function Refused:tell(key, problem)
    set(self, "objects", key, { problem })
end

local function value_of(self, key)
    local value = {}
    for _, source in ipairs(SOURCES) do
        for _, item in ipairs(self.lists[source][key] or {}) do
            if #value < MOST_REASONS then
                local message = item.message
                value[#value + 1] = { item.reason, #message > MOST_BYTES
                    and message:sub(1, MOST_BYTES) .. "..." or message }
            end
        end
    end
    return value[1] and value or nil
end

local function namespace_of(key)
    return key:match("^%S+ ([^/]+)/") or ""
end

local function place(self, key, step)
    local namespace = namespace_of(key)
    local count = (self.counts[namespace] or 0) + step
    self.count = self.count + step
    self.counts[namespace] = count > 0 and count or nil
    self.published[key] = step > 0 or nil
end

local function has_place(self, key)
    return self.published[key] or self.count < MOST
        and (self.counts[namespace_of(key)] or 0) < MOST_OF_NAMESPACE
end

local function publish_one(self, writing, key, value)
    if value and not has_place(self, key) then
        self.waiting[key] = true
        return
    end
    self.waiting[key] = nil
    if (value ~= nil) ~= (self.published[key] == true) then
        place(self, key, value and 1 or -1)
    end
    if #key <= 511 then
        writing.batch:put(publish.REFUSED, key, value)
    end
end

---Makes what has changed ready.
---@param writing resty.kubelua.gateway.Writing
function Refused:publish(writing)
    local touched, had = self.touched, self.count
    self.touched = {}
    for key in pairs(touched) do
        if self.published[key] or value_of(self, key) then
            publish_one(self, writing, key, value_of(self, key))
        else
            self.waiting[key] = nil
        end
        writing.pace()
    end
    for key in pairs(self.count < had and self.waiting or {}) do
        publish_one(self, writing, key, value_of(self, key))
        writing.pace()
    end
end

return refused
