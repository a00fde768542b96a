-- The files of a certificate and its key, which are replaced while they are used: by cert-manager
-- and the kubelet, or by hand.
local log = require "kubelua.log"
local whole_file = require "kubelua.cli.whole_file"

local LOOK = 10

---@class kubelua.cli.CertificateFiles
---@field cert_path string
---@field key_path string
---@field cert string? what is in use
---@field key string?
---@field problem string? of the last look
---@field is_told boolean? it was logged
---@field pause number seconds between two looks
local CertificateFiles = {}
CertificateFiles.__index = CertificateFiles

-- Uses what is in the files, if it is not in use already.
local function take(self, use)
    local cert, message = whole_file.read(self.cert_path)
    local key, ok
    if cert then
        key, message = whole_file.read(self.key_path)
    end
    if not key then
        return nil, message
    elseif (cert .. key):find("\0", 1, true) then
        return nil, self.cert_path .. " or " .. self.key_path .. " is no PEM: it has a NUL byte"
    elseif cert == self.cert and key == self.key then
        return true
    end
    ok, message = use(cert, key)
    if not ok then
        return nil, message
    end
    self.cert, self.key = cert, key
    return true, nil, true
end

---Reads them for the first time. nil, message: they cannot be used.
---@param cert_path string
---@param key_path string
---@param use fun(cert: string, key: string): any, string? what takes them; nil, message: it refuses
---@return kubelua.cli.CertificateFiles?, string?
local function open(cert_path, key_path, use)
    local self = setmetatable({ cert_path = cert_path, key_path = key_path,
        pause = LOOK }, CertificateFiles)
    local ok, message = take(self, use)
    return ok and self, message
end

---Reads them again. While they are written, certificate and key may not fit for a moment, so
---a problem is logged when the next look finds it again.
---@param use fun(cert: string, key: string): any, string?
---@return boolean is_new
function CertificateFiles:look(use)
    local ok, message, is_new = take(self, use)
    if is_new then
        log("info", "--admit: has taken the new certificate of %s", self.cert_path)
    elseif not ok and message == self.problem and not self.is_told then
        log("error", "--admit: the certificate before stays in use: %s", message)
        self.is_told = true
    end
    self.is_told = not ok and message == self.problem and self.is_told or nil
    self.problem = message
    return is_new or false
end

---Nothing is open; another source of certificates has a client.
function CertificateFiles:close() end

return open
