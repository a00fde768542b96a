-- The table gateway.entries: which listeners there are on an address and port, counted over the
-- Gateways and Ingresses that ask for them; and which certificates their hosts have. An entry's id
-- is its key, so that an owner that starts anew names the same hosts. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"

local Entries = {}
Entries.__index = Entries

local entries = {}

---@class resty.kubelua.gateway.Binding
---@field entry string "*:80"
---@field listener string "*", "*.example.com" ...
---@field host string? whose certificates these are; the listener's if nil
---@field tls boolean
---@field certificates string[]? "namespace/secret"

---@param options { pace: fun() }
function entries.new(options)
    return setmetatable({ pace = options.pace, bindings = {}, entries = {}, certificates = {},
        dirty = {},
        dirty_certificates = {}, values = {}, secrets = {} }, Entries)
end

local function at(map, key)
    local value = map[key]
    if not value then
        value = {}
        map[key] = value
    end
    return value
end

local function drop(map, key, source)
    map[key][source] = nil
    if not next(map[key]) then
        map[key] = nil
    end
end

local function certificate_key(binding)
    return binding.entry .. " " .. (binding.host or binding.listener)
end

function Entries:remove(source)
    for _, binding in ipairs(self.bindings[source] or {}) do
        local those = self.entries[binding.entry]
        if those[binding.listener] and those[binding.listener][source] ~= nil then
            drop(those, binding.listener, source)
        end
        self.dirty[binding.entry] = true
        local key = certificate_key(binding)
        if self.certificates[key] and self.certificates[key][source] then
            drop(self.certificates, key, source)
            self.dirty_certificates[key] = true
        end
    end
    self.bindings[source] = nil
end

---Says what a source asks for now, in place of what it asked for before.
---@param source string
---@param bindings resty.kubelua.gateway.Binding[]? nil: nothing
function Entries:set(source, bindings)
    self:remove(source)
    if not bindings or #bindings == 0 then
        return
    end
    self.bindings[source] = bindings
    for _, binding in ipairs(bindings) do
        local those = at(at(self.entries, binding.entry), binding.listener)
        those[source] = those[source] or binding.tls
        self.dirty[binding.entry] = true
        if binding.certificates and #binding.certificates > 0 then
            local key = certificate_key(binding)
            at(self.certificates, key)[source] = binding.certificates
            self.dirty_certificates[key] = true
        end
    end
end

-- "*:443" has every Ingress as a source.
local function entry_value(key, listeners, pace)
    local value = { id = key, listeners = {} }
    for host, sources in pairs(listeners) do
        local tls = false
        for _, encrypted in pairs(sources) do
            tls = tls or encrypted
            pace()
        end
        value.listeners[host] = { tls = tls }
    end
    return value
end

local function certificate_value(sources)
    local names, list, seen = {}, {}, {}
    for source in pairs(sources) do
        names[#names + 1] = source
    end
    table.sort(names)
    for _, source in ipairs(names) do
        for _, secret in ipairs(sources[source]) do
            if not seen[secret] then
                seen[secret] = true
                list[#list + 1] = secret
            end
        end
    end
    return list
end

---@return table<string, table|false> entries that changed
---@return table<string, string[]|false> certificates that changed, by "ENTRY HOST"
function Entries:run()
    local changed, certificates = {}, {}
    for key in pairs(self.dirty) do
        local listeners = self.entries[key]
        local value = listeners and next(listeners) and entry_value(key, listeners, self.pace)
            or false
        if not value then
            self.entries[key] = nil
        end
        if not conditions.same(value, self.values[key] or false) then
            changed[key], self.values[key] = value, value or nil
        end
        self.pace()
    end
    for key in pairs(self.dirty_certificates) do
        local sources = self.certificates[key]
        local value = sources and certificate_value(sources) or false
        if not conditions.same(value, self.secrets[key] or false) then
            certificates[key], self.secrets[key] = value, value or nil
        end
        self.pace()
    end
    self.dirty, self.dirty_certificates = {}, {}
    return changed, certificates
end

return entries
