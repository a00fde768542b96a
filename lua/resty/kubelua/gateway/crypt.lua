-- crypt of libc, for hashes of passwords that Lua has no code for: bcrypt, SHA-crypt, DES. LuaJIT
-- only. A call takes as long as the hash asks for, so htpasswd.lua has limits, and callers keep
-- what they have found.
local ffi = require "ffi"

pcall(ffi.cdef, "char *crypt(const char *key, const char *salt);")

local found, library = pcall(ffi.load, "libcrypt.so.1")

---The hash of a password, with the kind and the salt of another hash. nil: libc does not know it.
---@param password string
---@param salt string
---@return string?
local function crypt(password, salt)
    local hash = library.crypt(password, salt)
    local text = hash ~= nil and ffi.string(hash)
    return text and text:sub(1, 1) ~= "*" and text or nil
end

return { hash = found and crypt or nil }
