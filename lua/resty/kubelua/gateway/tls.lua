-- ssl_certificate_by_lua: the certificates for a handshake, by the name that the client asks for.
-- They come from the shared map, with their keys.
local hostname = require "resty.kubelua.gateway.hostname"
local key_pair = require "resty.kubelua.key_pair"
local publish = require "resty.kubelua.gateway.publish"
local routing = require "resty.kubelua.gateway.routing"
local ssl = require "ngx.ssl"

local tls = {}

local default ---@type string? "namespace/name" of a Secret

---@param options resty.kubelua.GatewayOptions
function tls.set_up(options)
    default = options.certificate
end

local function read_address()
    local bytes, family = ssl.raw_server_addr()
    if family == "inet" then
        return ("%d.%d.%d.%d"):format(bytes:byte(1, 4))
    elseif family == "inet6" then
        local groups = {}
        for i = 1, 15, 2 do
            groups[#groups + 1] = ("%x"):format(bytes:byte(i) * 256 + bytes:byte(i + 1))
        end
        return table.concat(groups, ":")
    end
    return ""
end

-- The Secrets for a name: those of the most specific host that has any.
local function find_secrets(name)
    local port = routing.named_port(ssl.server_port())
    local place = routing.matcher:place(read_address(), port, name)
    if not place then
        return nil
    end
    local entry = place.prefix:match("^%S+")
    local host = place.host == "" and "*" or place.host ---@type string?
    while host do
        local secrets = routing.kube.lookup(publish.CERTIFICATES, entry .. " " .. host)
        if secrets then
            return secrets
        end
        host = hostname.widen(host)
    end
end

-- OpenSSL keeps one pair for each kind of key. The last Secret goes first, so the first one counts.
local function set_pairs(secrets)
    local count = 0
    for i = #secrets, 1, -1 do
        if key_pair.set(routing.kube.map, publish.SECRETS, secrets[i]) then
            count = count + 1
        end
    end
    return count
end

---Sets the certificates of a handshake. Without one the handshake fails.
function tls.handshake()
    local name = ssl.server_name()
    assert(ssl.clear_certs())
    if set_pairs(find_secrets(name) or {}) == 0 and set_pairs { default } == 0 then
        ngx.log(ngx.INFO, "gateway: no certificate for ", name or "a client without SNI")
        return ngx.exit(ngx.ERROR)
    end
end

return tls
