-- kubelua run --admit-service and --admit-url: the certificate of the server comes from a Secret
-- that the replicas make and renew themselves, and the webhooks are registered with its CA.
local clients = require "kubelua.client"
local core = require "kubelua.core"
local log = require "kubelua.log"
local new_register = require "kubelua.cli.admit.register"
local new_secret = require "kubelua.cli.admit.secret"

local LOOK = 10 -- seconds between two looks at the Secret

---@class kubelua.cli.OwnCertificate
---@field client kubelua.Client
---@field secret kubelua.cli.AdmitSecret
---@field register kubelua.cli.Register
---@field data kubelua.cli.Identity? what is served
---@field read_at number
---@field problem string?
---@field pause number seconds until the next look
local OwnCertificate = {}
OwnCertificate.__index = OwnCertificate

-- What the options say: the address of the configurations, the names of the server, and a word for
-- the names of objects.
local function read_address(options, default_namespace)
    if options.admit_url then
        local host = options.admit_url:match("^https://%[?([^%[%]/]-)%]?:?%d*/*$")
        if not host or host == "" then
            return nil, "--admit-url " .. options.admit_url .. ": write https://HOST:PORT"
        end
        return { address = { url = options.admit_url }, names = { host },
            namespace = default_namespace, label = host,
            word = "admit-" .. host:lower():gsub("[^%w]+", "-") }
    end
    local namespace, name, port = options.admit_service:match("^([^/]-)/?([^/:]+):?(%d*)$")
    if not name then
        return nil, "--admit-service " .. options.admit_service .. ": write NAME, NAMESPACE/NAME "
            .. "or NAMESPACE/NAME:PORT"
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
        log("info", "--admit: has taken the new certificate of the Secret %s/%s",
            self.secret.namespace, self.secret.name)
    end
    self.data = data
    return true
end

---Reads or makes the Secret.
---@param options table of the command line
---@param use fun(cert: string, key: string): any, string?
---@return kubelua.cli.OwnCertificate?, string?
local function open(options, use)
    local client, message = clients.connect()
    if not client then
        return nil, message
    end
    local told
    told, message = read_address(options, client:namespace() or "default")
    if not told then
        client:close()
        return nil, message
    end
    local prefix = told.namespace .. "-" .. told.word .. "-"
    local self = setmetatable({ read_at = core.now(), pause = 1, client = client,
        secret = new_secret(client, told.namespace, told.word, told.names),
        register = new_register(client, told, prefix) }, OwnCertificate)
    local ok
    ok, message = take(self, use)
    if not ok then
        client:close()
        return nil, message
    end
    return self
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
        log("error", "--admit: the certificate before stays in use: %s", message)
    end
    self.problem = not ok and message or nil
end

function OwnCertificate:close()
    self.client:close()
end

return open
