-- Checks the certificate and key of a Secret in the owner, before they are published: both parse,
-- they belong together, and the certificate has not expired. By nginx's own OpenSSL.
local ffi = require "ffi"
local ssl = require "ngx.ssl"

local certificate = {}

ffi.cdef [[
    void *OPENSSL_sk_value(const void *stack, int index);
    int EVP_PKEY_get_bits(const void *key);
    int EVP_PKEY_bits(const void *key);
    int X509_check_private_key(const void *certificate, const void *key);
    const void *X509_get0_notAfter(const void *certificate);
    int X509_cmp_current_time(const void *time);
    void ERR_clear_error(void);
]]

local C = ffi.C

local MOST_BITS = 8192 -- a handshake with RSA of 15,360 bits keeps a worker busy for 0.16 s

-- By its name in OpenSSL 3, else by the one before.
local has_name, bits_of = pcall(function() return C.EVP_PKEY_get_bits end)
if not has_name then
    bits_of = C.EVP_PKEY_bits
end

local MOST_BYTES = 64 * 1024 -- a chain of 30 certificates; 1 MB takes 30 ms to parse

certificate.TOO_LONG = ("tls.crt or tls.key has more than %d bytes"):format(MOST_BYTES)

---True if a text is longer than a chain or a key may be.
---@param text string?
---@param factor number 4 / 3 if it is in base64
---@return boolean
function certificate.is_too_long(text, factor)
    return type(text) == "string" and #text > MOST_BYTES * factor + 4
end

---Checks a pair. nil and why: it cannot be used.
---@param chain string? PEM, the certificate first
---@param key string? PEM
---@return { expired: boolean }? result
---@return string? why
function certificate.check(chain, key)
    if not chain or not key or chain == "" or key == "" then
        return nil, "tls.crt or tls.key is missing"
    end
    if certificate.is_too_long(chain, 1) or certificate.is_too_long(key, 1) then
        return nil, certificate.TOO_LONG
    end
    if key:find("ENCRYPTED", 1, true) then -- OpenSSL would ask a terminal, and wait
        return nil, "tls.key is encrypted"
    end
    local certificates, message = ssl.parse_pem_cert(chain)
    if not certificates then
        return nil, "tls.crt does not parse: " .. tostring(message)
    end
    local private
    private, message = ssl.parse_pem_priv_key(key)
    if not private then
        return nil, "tls.key does not parse: " .. tostring(message)
    end
    if bits_of(private) > MOST_BITS then
        return nil, ("tls.key has more than %d bits"):format(MOST_BITS)
    end
    local leaf = C.OPENSSL_sk_value(certificates, 0)
    if C.X509_check_private_key(leaf, private) ~= 1 then
        C.ERR_clear_error()
        return nil, "tls.key is not the key of the certificate in tls.crt"
    end
    return { expired = C.X509_cmp_current_time(C.X509_get0_notAfter(leaf)) < 0 }
end

return certificate
