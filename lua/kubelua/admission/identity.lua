-- The certificates of a server that answers webhooks (own_certificate.lua): a CA, and the
-- certificate of the server that it signs. This file says when which is made anew; secret.lua
-- keeps them.
--
-- A new CA is trusted before it is used: it comes into ca.crt, and so into the configurations of
-- the webhooks, an hour before a certificate is signed by it. The one before stays in ca.crt until
-- it ends. So an API server accepts every certificate that is served at any moment.
local copy_table = require "kubelua.copy_table"
local serve = require "kubelua.serve"

local DAY = 86400
local CA_LIFE, CERT_LIFE = 365 * DAY, 90 * DAY
local SHORT = 3600 -- a certificate with less time is replaced at once

local identity = {
    OVERLAP = 3600, -- seconds that a CA is trusted before it is used; a spec changes it
}

---@class kubelua.AdmitIdentity the data of the Secret
---@field ["ca.crt"] string PEM of all CAs to trust, the newest first
---@field ["ca.key"] string of the newest
---@field ["tls.crt"] string
---@field ["tls.key"] string

local function read_certificate(pem)
    return pem and serve.read_certificate(pem) or nil
end

-- The CAs of a bundle that have not ended: { pem, subject ... } each.
local function list_authorities(bundle, now)
    local list = {}
    for pem in (bundle or ""):gmatch("%-%-%-%-%-BEGIN .-%-%-%-%-%-END [^\n]*\n?") do
        local authority = read_certificate(pem)
        if authority and authority.ends_at > now then
            authority.pem = pem
            list[#list + 1] = authority
        end
    end
    return list
end

local function add_authority(data, now)
    local name = string.format("kubelua admit %.0f", now)
    local cert, key = assert(serve.make_authority(name, now, CA_LIFE))
    local bundle = { cert }
    for _, authority in ipairs(list_authorities(data["ca.crt"], now)) do
        bundle[#bundle + 1] = authority.pem
    end
    data["ca.crt"], data["ca.key"] = table.concat(bundle), key
end

local function has_names(cert, names)
    return table.concat(cert.names, "\n") == table.concat(names, "\n")
end

-- True if the certificate can be served now, and an API server that trusts the bundle accepts it.
local function is_usable(data, names, now)
    local cert = read_certificate(data["tls.crt"])
    if not cert or not has_names(cert, names) or cert.ends_at < now + SHORT
        or not data["tls.key"] or not serve.fits(data["tls.crt"], data["tls.key"]) then
        return false
    end
    for _, authority in ipairs(list_authorities(data["ca.crt"], now)) do
        if serve.is_signed(data["tls.crt"], authority.pem) then
            return true
        end
    end
    return false
end

-- True if a certificate of the newest CA has to be made.
local function needs_certificate(data, names, now, is_trusted)
    if not is_usable(data, names, now) then
        return true
    end
    local cert, ca = read_certificate(data["tls.crt"]), read_certificate(data["ca.crt"])
    if serve.is_signed(data["tls.crt"], data["ca.crt"]) then
        return cert.ends_at - now < CERT_LIFE / 3
    end
    return is_trusted and now - ca.made_at >= identity.OVERLAP
end

local function add_certificate(data, names, now)
    local ca = read_certificate(data["ca.crt"])
    local cert, key = serve.make_certificate(data["ca.crt"], data["ca.key"], names, now,
        math.min(CERT_LIFE, ca.ends_at - now))
    -- GnuTLS signs with any key, also with one that is not that of the CA.
    if not cert or not serve.is_signed(cert, data["ca.crt"]) then
        return false
    end
    data["tls.crt"], data["tls.key"] = cert, key
    return true
end

---What the Secret must have from now on; nil: it may stay as it is.
---@param data table<string, string> what it has, perhaps nothing
---@param names string[] DNS names and addresses of the server
---@param now number Unix time
---@param is_trusted boolean the configurations have the CAs of `data`
---@return kubelua.AdmitIdentity?
function identity.renew(data, names, now, is_trusted)
    local new, is_new = copy_table(data), false
    local ca = read_certificate(new["ca.crt"])
    if not ca or not new["ca.key"] or ca.ends_at - now < CA_LIFE / 3 then
        add_authority(new, now)
        is_new = true
    end
    if needs_certificate(new, names, now, is_trusted) then
        if not add_certificate(new, names, now) then -- the key is not that of the CA
            add_authority(new, now)
            assert(add_certificate(new, names, now))
        end
        is_new = true
    end
    return is_new and new or nil
end

return identity
