-- The Secret that holds the certificates of a server that answers webhooks, so that all
-- replicas serve the same. Any replica renews it; a conflict means that another one has.
local core = require "kubelua.core"
local identity = require "kubelua.admission.identity"
local values = require "kubelua.values"

local TRIES = 5

---@class kubelua.AdmitSecret
---@field client kubelua.Client
---@field namespace string
---@field name string
---@field names string[] of the server
local Secret = {}
Secret.__index = Secret

local IS_PEM = { ["ca.crt"] = true, ["ca.key"] = true, ["tls.crt"] = true, ["tls.key"] = true }

-- No PEM has a NUL: such a value is as if it were missing.
local function decode(object)
    local data = {}
    for name, text in pairs(values.table(object.data or {})) do
        local value = core.unbase64(text)
        if value and not (IS_PEM[name] and value:find("\0", 1, true)) then
            data[name] = value
        end
    end
    return data
end

local function encode(data)
    local encoded = {}
    for name, text in pairs(data) do
        encoded[name] = core.base64(text)
    end
    return encoded
end

local function create(self, data)
    return self.client:create { apiVersion = "v1", kind = "Secret", type = "Opaque",
        metadata = { name = self.name, namespace = self.namespace,
            labels = { ["app.kubernetes.io/managed-by"] = "kubelua" } }, data = encode(data) }
end

local function update(self, object, data)
    local new = values.table(object)
    new.data = encode(data)
    return self.client:update(new)
end

-- One try; nil, message, code: also "conflict", "already_exists".
local function try(self, is_trusted)
    local object, message, code = self.client:get("secrets", self.namespace .. "/" .. self.name)
    if not object and code ~= "not_found" then
        return nil, message, code
    end
    local data = object and decode(object) or {}
    local new = identity.renew(data, self.names, core.unix(), is_trusted(data))
    if not new then
        return data
    end
    local written
    if object then
        written, message, code = update(self, object, new)
    else
        written, message, code = create(self, new)
    end
    return written and new or nil, message, code
end

---What the Secret holds; it is made or renewed first, if that is due.
---@param is_trusted fun(data: table): boolean
---@return kubelua.AdmitIdentity?, string?, string?
function Secret:read(is_trusted)
    local data, message, code
    for _ = 1, TRIES do
        data, message, code = try(self, is_trusted)
        if data or (code ~= "conflict" and code ~= "already_exists" and code ~= "not_found") then
            break
        end
    end
    return data, message, code
end

---@param client kubelua.Client
---@param namespace string
---@param name string
---@param names string[]
---@return kubelua.AdmitSecret
return function(client, namespace, name, names)
    return setmetatable({ client = client, namespace = namespace, name = name, names = names },
        Secret)
end
