-- Users and passwords of basic authentication: the lines of a htpasswd file, "user:hash", as nginx
-- reads them. Pure Lua; the digests come from the caller. A hash that is made to cost much (bcrypt
-- of cost 31) would stop a worker of nginx, so there are limits.
local htpasswd = {}

local ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local ROUNDS = 1000 -- of md5crypt
local MOST_COST, MOST_ROUNDS = 12, 50000 -- of bcrypt, and of SHA-crypt

---What the hashes are made with. Digests return bytes.
---@class kubelua.gateway.Digests
---@field md5 fun(text: string): string
---@field sha1 fun(text: string): string
---@field crypt (fun(password: string, salt: string): string?)? of libc

local function encode_base64(bytes)
    local out = {}
    for at = 1, #bytes, 3 do
        local a, b, c = bytes:byte(at, at + 2)
        local bits = a * 65536 + (b or 0) * 256 + (c or 0)
        for i = 3, 0, -1 do
            local digit = math.floor(bits / 64 ^ i) % 64 + 1
            out[#out + 1] = BASE64:sub(digit, digit)
        end
        if not c then
            out[#out] = "="
            out[#out - 1] = b and out[#out - 1] or "="
        end
    end
    return table.concat(out)
end

local function decode_base64(text)
    local out, bits, count = {}, 0, 0
    for char in text:gsub("=+$", ""):gmatch(".") do
        local digit = BASE64:find(char, 1, true)
        if not digit then
            return nil
        end
        bits, count = (bits * 64 + digit - 1) % 16777216, count + 6
        if count >= 8 then
            count = count - 8
            out[#out + 1] = string.char(math.floor(bits / 2 ^ count) % 256)
        end
    end
    return table.concat(out)
end

-- Compares without stopping at the first difference, which would tell how much fits.
local function is_same(a, b)
    local differences = #a == #b and 0 or 1
    for i = 1, #a do
        differences = differences + (a:byte(i) == b:byte(i) and 0 or 1)
    end
    return differences == 0
end

-- The first mix of md5crypt: the password, the salt, and bits of the password's length.
local function mix_first(md5, password, magic, salt)
    local once = md5(password .. salt .. password)
    local text = { password, magic, salt, once:rep(math.floor(#password / 16)),
        once:sub(1, #password % 16) }
    local length = #password
    while length > 0 do
        text[#text + 1] = length % 2 == 1 and "\0" or password:sub(1, 1)
        length = math.floor(length / 2)
    end
    return md5(table.concat(text))
end

local ORDER = { { 1, 7, 13 }, { 2, 8, 14 }, { 3, 9, 15 }, { 4, 10, 16 }, { 5, 11, 6 } }

local function write_digits(bits, count)
    local out = {}
    for i = 1, count do
        out[i] = ALPHABET:sub(bits % 64 + 1, bits % 64 + 1)
        bits = math.floor(bits / 64)
    end
    return table.concat(out)
end

---The hash "$apr1$" or "$1$" of a password, with the salt of another one.
---@param md5 fun(text: string): string
---@param password string
---@param magic string
---@param salt string
---@return string
function htpasswd.md5crypt(md5, password, magic, salt)
    local mixed = mix_first(md5, password, magic, salt)
    for round = 0, ROUNDS - 1 do
        local is_odd = round % 2 == 1
        mixed = md5((is_odd and password or mixed) .. (round % 3 > 0 and salt or "")
            .. (round % 7 > 0 and password or "") .. (is_odd and mixed or password))
    end
    local out = {}
    for i, at in ipairs(ORDER) do
        out[i] = write_digits(mixed:byte(at[1]) * 65536 + mixed:byte(at[2]) * 256
            + mixed:byte(at[3]), 4)
    end
    return magic .. salt .. "$" .. table.concat(out) .. write_digits(mixed:byte(12), 2)
end

-- What kind a hash is; nil and a message if it is not supported.
local function kind_of(hash)
    local cost = hash:match("^%$2[aby]%$(%d%d)%$[%w%./]+$")
    local rounds = hash:match("^%$[56]%$rounds=(%d+)%$")
    if hash:find("^%$apr1%$") or hash:find("^%$1%$") then
        return "md5"
    elseif hash:find("^{%u+}") then
        local scheme = hash:match("^{(%u+)}")
        if scheme == "SHA" or scheme == "SSHA" or scheme == "PLAIN" then
            return scheme
        end
    elseif cost or hash:find("^%$[56]%$") then
        if tonumber(cost or 0) <= MOST_COST and tonumber(rounds or 0) <= MOST_ROUNDS then
            return "crypt"
        end
        return nil, ("costs too much time: bcrypt's cost may be %d, SHA-crypt's rounds %d")
            :format(MOST_COST, MOST_ROUNDS)
    elseif #hash == 13 and hash:find("^[%w%./]+$") then
        return "crypt"
    end
    return nil, "is of a kind that is not supported; use bcrypt: htpasswd -B"
end

---True if a hash can be checked; nil and why not.
---@param hash string
---@return true?, string? message
function htpasswd.is_supported(hash)
    local kind, message = kind_of(hash)
    return kind and true, message
end

---The name of the users that an Ingress asks for: a Secret may be read in two ways.
---@param settings { secret: string, map: boolean? }
---@return string
function htpasswd.key(settings)
    return settings.map and settings.secret .. " map" or settings.secret
end

---Reads a file. Of two lines of a user the first counts, as in nginx.
---@param text string
---@return table<string, string> hashes by user
function htpasswd.read(text)
    local users = {}
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
        local user, hash = line:match("^([^#:][^:]*):([^:]*)")
        if user and not users[user] then
            users[user] = hash
        end
    end
    return users
end

---True if a password is that of a hash. nil, message: the hash cannot be checked.
---@param hash string
---@param password string
---@param digests kubelua.gateway.Digests
---@return boolean?, string? message
function htpasswd.check(hash, password, digests)
    local kind, message = kind_of(hash)
    if not kind then
        return nil, message
    elseif kind == "md5" then
        local magic, salt = hash:match("^(%$%w+%$)([^$]*)")
        return is_same(hash, htpasswd.md5crypt(digests.md5, password, magic, salt:sub(1, 8)))
    elseif kind == "PLAIN" then
        return is_same(hash:sub(8), password)
    elseif kind == "SHA" then
        return is_same(hash:sub(6), encode_base64(digests.sha1(password)))
    elseif kind == "SSHA" then
        local bytes = decode_base64(hash:sub(7))
        return bytes ~= nil and #bytes >= 20
            and is_same(bytes:sub(1, 20), digests.sha1(password .. bytes:sub(21)))
    elseif not digests.crypt then
        return nil, "needs crypt of libc, which is not at hand"
    elseif password:find("%z") then
        return false -- C would read it up to there
    end
    local made = digests.crypt(password, hash)
    return made ~= nil and is_same(hash, made)
end

return htpasswd
