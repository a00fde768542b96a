-- A certificate and its key from the shared map, for a handshake. They are in memory of nginx's own
-- processes, or in a file with mode 0600, which kube.init refuses if others can read it.
local tables = require "resty.kubelua.tables"

local key_pair = {}

---What is in the map: PEM.
---@class resty.kubelua.KeyPair
---@field certificate string the certificate first
---@field key string

-- Each version is parsed once a worker; false: does not parse. Weak: a new version is a new table.
local parsed = setmetatable({}, { __mode = "k" })

local function parse(value)
    local ssl = require "ngx.ssl" -- not before: resty.kubelua is read outside of nginx, too
    local chain, message = ssl.parse_pem_cert(value.certificate)
    local key
    if chain then
        key, message = ssl.parse_pem_priv_key(value.key)
    end
    if not key then
        return false, message
    end
    return { chain = chain, key = key }
end

---Sets the pair for this handshake. False: there is none, or it does not parse, which is logged.
---@param map resty.kubelua.Map
---@param table_name string
---@param name string
---@return boolean
function key_pair.set(map, table_name, name)
    local value = tables.lookup(map, table_name, name)
    if not value then
        return false
    end
    local pair = parsed[value]
    if pair == nil then
        local message
        pair, message = parse(value)
        parsed[value] = pair
        if not pair then
            ngx.log(ngx.ERR, table_name, ": ", name, ": ", message)
        end
    end
    local ssl = require "ngx.ssl"
    return pair and ssl.set_cert(pair.chain) and ssl.set_priv_key(pair.key) or false
end

return key_pair
