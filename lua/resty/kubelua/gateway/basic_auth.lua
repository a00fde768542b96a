-- Basic authentication in a worker: the users of a Secret that the owner has published. A password
-- that was found right is known by a digest of it for as long as its hash stays the same.
local attempts = require "resty.kubelua.gateway.attempts"
local caches = require "resty.kubelua.cache"
local crypt = require "resty.kubelua.gateway.crypt"
local htpasswd = require "resty.kubelua.gateway.htpasswd"
local publish = require "resty.kubelua.gateway.publish"
local routing = require "resty.kubelua.gateway.routing"

local basic_auth = {}

local LONGEST = 256 -- bytes of a password: the time of a check grows with it
local KEPT = 600 -- seconds that a password is known to be right

local DIGESTS = { md5 = ngx.md5_bin, sha1 = ngx.sha1_bin, crypt = crypt.hash }

local files = caches.new(1000) -- by the key of the entry: the text, and its users
local verified = caches.new(4000) -- digests of user, hash and password, until when
local secret ---@type string? of these digests: random for each worker

local function read_users(key)
    local text = routing.kube.lookup(publish.USERS, key)
    if not text then
        return nil
    end
    local file = files:get(key)
    if not file or file.text ~= text then
        file = { text = text, users = htpasswd.read(text) }
        files:set(key, file)
    end
    return file.users
end

local function random_secret()
    local file = assert(io.open("/dev/urandom", "rb"))
    local bytes = file:read(20)
    file:close()
    return bytes
end

-- The user and the password that the client sends. nil: none.
local function read_credentials()
    local header = ngx.var.http_authorization
    local encoded = header and header:match("^[Bb][Aa][Ss][Ii][Cc] +([%w%+/]+=*) *$")
    local text = encoded and ngx.decode_base64(encoded)
    if text then
        return text:match("^([^:]*):(.*)$")
    end
end

-- True: the password is the user's. nil: there is no time to find out.
local function is_right(key, user, hash, password)
    secret = secret or random_secret()
    local digest = ngx.hmac_sha1(secret, user .. "\0" .. hash .. "\0" .. password)
    local function is_known()
        return (verified:get(digest) or 0) > ngx.now()
    end
    if is_known() then
        return true
    end
    return attempts.run(key, is_known, function()
        local result, message = htpasswd.check(hash, password, DIGESTS)
        if result then
            verified:set(digest, ngx.now() + KEPT)
        elseif result == nil then
            ngx.log(ngx.WARN, "gateway: the Secret ", key, ": the password of a user ", message)
        end
        return result or false
    end)
end

---Checks the user and the password of a request.
---@param settings table basic_auth of the settings
---@return integer? status nil: the request may pass
---@return string? why for the log
function basic_auth.check(settings)
    local key = htpasswd.key(settings)
    local list = read_users(key)
    if not list then
        return 503, "the Secret " .. settings.secret .. " is not there, or has no users"
    end
    local user, password = read_credentials()
    local hash = user and list[user]
    if not hash or #password > LONGEST then
        return 401
    end
    local result = is_right(key, user, hash, password)
    if result == nil then
        return 503, "too many passwords to check"
    elseif not result then
        return 401
    end
end

---Keeps the password from the backend. Called last: an auth service gets it.
function basic_auth.hide()
    local _ = ngx.var.remote_user -- read, so that logs have it when the header is gone
    ngx.req.clear_header("Authorization")
end

---Asks the client for a user and a password.
---@param settings table
function basic_auth.ask(settings)
    ngx.header["WWW-Authenticate"] = ("Basic realm=\"%s\""):format(settings.realm)
end

return basic_auth
