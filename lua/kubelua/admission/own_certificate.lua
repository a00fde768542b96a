-- The certificate of a server that answers webhooks, for a Service or a URL: it comes from a Secret
-- that the replicas make and renew themselves, and the webhooks are registered with its CA. For
-- kubelua run --admit, and kube.admit_certificate in nginx.
local core = require "kubelua.core"
local log = require "kubelua.log"
local new_register = require "kubelua.admission.register"
local new_secret = require "kubelua.admission.secret"

local LOOK = 10 -- seconds between two looks at the Secret

---@class kubelua.AdmitCertificate
---@field client kubelua.Client
---@field secret kubelua.AdmitSecret
---@field register kubelua.AdmitRegister
---@field data kubelua.AdmitIdentity? what is served
---@field read_at number
---@field problem string?
---@field pause number seconds until the next look
---@field what string begins the lines of the log
local OwnCertificate = {}
OwnCertificate.__index = OwnCertificate

---How the API server reaches the server: one of them.
---@class kubelua.AdmitReached
---@field service string? "NAME", "NAMESPACE/NAME" or "NAMESPACE/NAME:PORT"
---@field url string? "https://HOST:PORT"

-- The address of the configurations, the names of the server, and a word for the names of objects.
local function read_address(reached, default_namespace)
    if reached.url then
        local host = reached.url:match("^https://%[?([^%[%]/]-)%]?:?%d*/*$")
        if not host or host == "" then
            return nil, "the URL " .. reached.url .. ": write https://HOST:PORT"
        end
        return { address = { url = reached.url }, names = { host },
            namespace = default_namespace, label = host,
            word = "admit-" .. host:lower():gsub("[^%w]+", "-") }
    end
    local namespace, name, port = reached.service:match("^([^/]-)/?([^/:]+):?(%d*)$")
    if not name then
        return nil, "the Service " .. reached.service
            .. ": write NAME, NAMESPACE/NAME or NAMESPACE/NAME:PORT"
    end
    namespace = namespace ~= "" and namespace or default_namespace
    local host = name .. "." .. namespace .. ".svc"
    return { address = { service = { namespace = namespace, name = name, port = tonumber(port) } },
        names = { host, host .. ".cluster.local", name .. "." .. namespace },
        namespace = namespace, label = name, word = name .. "-admit" }
end

local function take(self, use)
    local data, message = self.secret:read(function(data)
        return self.register:is_trusted(data["ca.crt"])
    end)
    if not data then
        return nil, message
    end
    local old, ok = self.data, true
    if not old or old["tls.crt"] ~= data["tls.crt"] then
        ok, message = use(data["tls.crt"], data["tls.key"])
    end
    if not ok then
        return nil, message
    elseif old and old["tls.crt"] ~= data["tls.crt"] then
        log("info", "%s: has taken the new certificate of the Secret %s/%s", self.what,
            self.secret.namespace, self.secret.name)
    end
    self.data = data
    return true
end

---Reads or makes the Secret. It waits.
---@param client kubelua.Client closed with the certificate
---@param reached kubelua.AdmitReached
---@param list_ready kubelua.ListReady
---@param use fun(cert: string, key: string): any, string?
---@param what string begins the lines of the log
---@return kubelua.AdmitCertificate?, string?
local function open(client, reached, list_ready, use, what)
    local told, message = read_address(reached, client:namespace() or "default")
    if not told then
        return nil, message
    end
    local prefix = told.namespace .. "-" .. told.word .. "-"
    local self = setmetatable({ read_at = core.now(), pause = 1, client = client, what = what,
        secret = new_secret(client, told.namespace, told.word, told.names),
        register = new_register(client, told, prefix, list_ready) }, OwnCertificate)
    local ok
    ok, message = take(self, use)
    return ok and self or nil, message
end

---Looks at the Secret again, and registers what is due. It waits.
---@param use fun(cert: string, key: string): any, string?
function OwnCertificate:look(use)
    self.register:look(self.data["ca.crt"])
    if core.now() < self.read_at + LOOK then
        return
    end
    self.read_at = core.now()
    local ok, message = take(self, use)
    if not ok and message ~= self.problem then
        log("error", "%s: the certificate before stays in use: %s", self.what, message)
    end
    self.problem = not ok and message or nil
end

function OwnCertificate:close()
    self.client:close()
end

return open
