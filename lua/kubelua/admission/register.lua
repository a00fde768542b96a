-- Keeps the configurations of the script's webhooks in the cluster: server-side apply, once a
-- webhook's caches are known, when the CAs have changed, and now and then.
local core = require "kubelua.core"
local deadlock = require "kubelua.admission.deadlock"
local log = require "kubelua.log"

local AGAIN = 60 -- seconds until a configuration is applied again, as it may have been changed

---@alias kubelua.ListReady fun(): kubelua.ReadyHook[]

---@class kubelua.AdmitRegister
---@field list_ready kubelua.ListReady
---@field client kubelua.Client
---@field address kubelua.AdmitAddress
---@field namespace string of the replicas
---@field labels table<string, string> of the objects, to delete them by
---@field prefix string of the objects' names, which are cluster-scoped
---@field applied table<string, { ca: string, at: number }> by the name of the webhook
---@field problem string? the last one
local Register = {}
Register.__index = Register

local function apply_one(self, hook, ca)
    local address = { service = self.address.service, url = self.address.url, ca = ca,
        name = self.prefix .. hook.name }
    for _, object in ipairs(hook:configuration(address)) do
        object.metadata.labels = self.labels
        if not self.applied[hook.name] then
            deadlock.warn(hook.name, object, self.namespace)
        end
        local ok, message = self.client:apply(object, { force = true })
        if not ok then
            return nil, message
        end
    end
    return true
end

local function tell(self, hook, message)
    if message ~= self.problem then
        log("error", "admit %s is not registered: %s", hook.name, message)
    end
    self.problem = message
end

---Applies what is due.
---@param ca string PEM
function Register:look(ca)
    for _, hook in ipairs(self.list_ready()) do
        local last = self.applied[hook.name]
        if not last or last.ca ~= ca or last.at + AGAIN <= core.now() then
            local called, ok, message = pcall(apply_one, self, hook, ca)
            if called and ok then
                self.applied[hook.name] = { ca = ca, at = core.now() }
                self.problem = nil
                if not last then
                    log("info", "admit %s is registered as %s%s", hook.name, self.prefix,
                        hook.name)
                end
            else
                tell(self, hook, tostring(called and message or ok))
            end
        end
    end
end

---True if every webhook that is ready has these CAs, and there is one.
---@param ca string?
---@return boolean
function Register:is_trusted(ca)
    local hooks = self.list_ready()
    for _, hook in ipairs(hooks) do
        local last = self.applied[hook.name]
        if not last or last.ca ~= ca then
            return false
        end
    end
    return #hooks > 0
end

-- A value of a label: at most 63 letters, digits, '-', '_' and '.', with a letter at each end.
local function make_label(text)
    return (text:gsub("[^%w.]", "-"):sub(1, 63):gsub("^%W+", ""):gsub("%W+$", ""))
end

---@param client kubelua.Client
---@param told { address: kubelua.AdmitAddress, namespace: string, label: string }
---@param prefix string
---@param list_ready kubelua.ListReady
---@return kubelua.AdmitRegister
return function(client, told, prefix, list_ready)
    return setmetatable({ client = client, address = told.address, namespace = told.namespace,
        prefix = prefix, list_ready = list_ready, applied = {}, labels = {
            ["app.kubernetes.io/managed-by"] = "kubelua",
            ["kubelua.dev/admit-namespace"] = make_label(told.namespace),
            ["kubelua.dev/admit"] = make_label(told.label) } }, Register)
end
