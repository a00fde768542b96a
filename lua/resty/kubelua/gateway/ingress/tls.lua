-- Which Secret has the certificate of a host. The oldest Ingress wins a host, among those of the
-- namespace that has the host's rules: else a tenant could give another's host a certificate, with
-- which its requests are redirected to HTTPS.
local tls = {}

---@class kubelua.gateway.IngressCertificates
---@field of fun(host: string, namespace: string): string[]? the Secrets, "namespace/name"
---@field has fun(host: string, namespace: string): boolean one of them, or the default certificate

local function add(hosts, item, host, secret)
    local key = item.namespace .. " " .. host
    local other = hosts[key]
    if not other then
        hosts[key] = { secret = secret, object = item.object }
    elseif other.secret ~= secret and other.object ~= item.object then
        item.problems[#item.problems + 1] = { object = item.object, kind = "conflict",
            message = ("the certificate of %s comes from the Secret %s of %s, which is older")
                :format(host, other.secret, other.object) }
    end
end

-- The hosts of an entry; without a list, those of the rules.
local function hosts_of(item, entry)
    local list = {}
    for _, host in ipairs(type(entry.hosts) == "table" and entry.hosts or {}) do
        list[#list + 1] = type(host) == "string" and host:lower() or nil
    end
    if #list > 0 then
        return list
    end
    return #item.hosts > 0 and item.hosts or { "*" }
end

-- The hosts of an entry without a Secret have the certificate of the option `certificate`.
local function add_default(defaults, item, entry, certificate)
    if not certificate then
        item.problems[#item.problems + 1] = { object = item.object, kind = "differs",
            message = "tls names no Secret: the default certificate is the option `certificate` of "
                .. "gateway.init; without it HTTPS fails, and HTTP is not redirected" }
        return
    end
    for _, host in ipairs(hosts_of(item, entry)) do
        defaults[item.namespace .. " " .. host] = true
    end
end

local function find(hosts, host, namespace)
    return hosts[namespace .. " " .. host] or hosts[namespace .. " " .. host:gsub("^[^.]+", "*", 1)]
end

---Collects the certificates of Ingresses, which are sorted: the oldest first.
---@param items kubelua.gateway.IngressItem[]
---@param pace fun() called between two pieces of work
---@param certificate string? the option of gateway.init
---@return kubelua.gateway.IngressCertificates
function tls.collect(items, pace, certificate)
    local hosts, defaults = {}, {}
    for _, item in ipairs(items) do
        pace()
        for _, entry in ipairs(type(item.spec.tls) == "table" and item.spec.tls or {}) do
            local secret = type(entry) == "table" and (entry.secretName or "")
            if secret == "" then
                add_default(defaults, item, entry, certificate)
            end
            for _, host in ipairs(type(secret) == "string" and secret ~= ""
                and hosts_of(item, entry) or {}) do
                add(hosts, item, host, item.namespace .. "/" .. secret)
            end
        end
    end
    return { of = function(host, namespace)
        local found = find(hosts, host, namespace)
        return found and { found.secret }
    end, has = function(host, namespace)
        return (find(hosts, host, namespace) or find(defaults, host, namespace)) ~= nil
    end }
end

return tls
