-- The Secrets with certificates, in the owner: checked when they change, and published while a
-- listener or an Ingress names them. A Secret that is broken keeps the pair that was last good.
local certificate = require "resty.kubelua.gateway.certificate"
local publish = require "resty.kubelua.gateway.publish"

local secrets = {}

---@class resty.kubelua.gateway.Secrets
---@field known table<string, { good: table?, why: string? }> by "namespace/name"
---@field referred table<string, string[]> Secrets by "ENTRY HOST"
---@field uses table<string, integer> how many of these name a Secret
---@field published table<string, table> what is in the map now
---@field fresh table[] problems that are new
local Secrets = {}
Secrets.__index = Secrets

---@param kube resty.kubelua.Instance
---@param kubelua table
---@param options resty.kubelua.GatewayOptions
---@return resty.kubelua.gateway.Secrets
function secrets.new(kube, kubelua, options)
    local self = setmetatable({ kube = kube, kubelua = kubelua, known = {}, referred = {},
        uses = {}, published = {}, fresh = {} }, Secrets)
    if options.certificate then
        self.uses[options.certificate] = 1
    end
    return self
end

-- The pair that an earlier owner has published.
local function inherited(self, key)
    local pair = self.kube.lookup(publish.SECRETS, key)
    local result = pair and certificate.check(pair.certificate, pair.key)
    return result and pair or nil, result and result.expired
end

local function is_expired(pair)
    local result = certificate.check(pair.certificate, pair.key)
    return not result or result.expired
end

-- The pair in a Secret; nil and why: there is none that can be used.
local function read_pair(self, view)
    local chain, key = view:get('data["tls.crt"]', 'data["tls.key"]')
    if certificate.is_too_long(chain, 4 / 3) or certificate.is_too_long(key, 4 / 3) then
        return nil, certificate.TOO_LONG
    end
    local pair = { certificate = chain and self.kubelua.unbase64(chain),
        key = key and self.kubelua.unbase64(key) }
    local result, why = certificate.check(pair.certificate, pair.key)
    return result and pair or nil, why, result and result.expired
end

---A Secret that is new or has changed.
---@param view table
function Secrets:set(view)
    local known = self.known[view.key] or { good = inherited(self, view.key) }
    self.known[view.key] = known
    local pair, why, expired = read_pair(self, view)
    if pair and expired and known.good and not is_expired(known.good) then
        pair, why = nil, "the certificate has expired"
    end
    if pair then
        known.good, known.why = pair, expired and "the certificate has expired" or nil
    else
        known.why = why
    end
    if known.why then
        local kept = not pair and known.good and "; the one before is still served" or ""
        table.insert(self.fresh, { kind = "Secret", namespace = view.namespace, name = view.name,
            reason = "BadCertificate", message = known.why .. kept })
    end
end

---@param view table
function Secrets:delete(view)
    self.known[view.key] = nil
end

---Says if listeners can use a Secret: for compile.lua.
---@param key string "namespace/name"
---@return true?, string?
function Secrets:check(key)
    local known = self.known[key]
    if not known then
        return nil, "there is no Secret " .. key .. " of the type kubernetes.io/tls"
    elseif not known.good then
        return nil, "the Secret " .. key .. ": " .. known.why
    end
    return true
end

local function count_uses(self, list, step)
    for _, key in ipairs(list or {}) do
        local uses = (self.uses[key] or 0) + step
        self.uses[key] = uses > 0 and uses or nil
    end
end

---Says which Secrets are named now.
---@param changes table<string, string[]|false> of compile.lua
---@param pace fun() called between two pieces of work
function Secrets:refer(changes, pace)
    for place, list in pairs(changes) do
        pace()
        count_uses(self, self.referred[place], -1)
        self.referred[place] = list or nil
        count_uses(self, self.referred[place], 1)
    end
end

---Makes the pairs ready that are named and have changed.
---@param writing resty.kubelua.gateway.Writing
function Secrets:publish(writing)
    for key in pairs(self.uses) do
        writing.pace()
        local good = (self.known[key] or {}).good
        if good and self.published[key] ~= good then
            local ok, message = writing.batch:put(publish.SECRETS, key, good)
            self.published[key] = ok and good or nil
            if not ok then
                writing.log("error", "gateway: the Secret %s: %s", key, message)
            end
        end
    end
    for key in pairs(self.published) do
        writing.pace()
        if not self.uses[key] or not self.known[key] then
            writing.batch:put(publish.SECRETS, key, nil)
            self.published[key] = nil
        end
    end
end

---The problems that are new since the last call, of Secrets that are named.
---@return resty.kubelua.gateway.Problem[]
function Secrets:problems()
    local list = {}
    for _, problem in ipairs(self.fresh) do
        if self.uses[problem.namespace .. "/" .. problem.name] then
            list[#list + 1] = problem
        end
    end
    self.fresh = {}
    return list
end

return secrets
