-- Makes a Secret with a password for each ConfigMap with the label example.com/password, and a new
-- password every data.seconds. docs/TESTING.md describes its tests, passwords_*_spec.lua.
local kubelua = require "kubelua"

local MADE = "example.com/made"

local function random()
    local file = assert(io.open("/dev/urandom", "rb"))
    local bytes = file:read(18)
    file:close()
    return kubelua.base64(bytes)
end

-- Seconds until the password is too old; nil: there is no password.
local function seconds_left(config, secret)
    local made = secret and secret:get('metadata.annotations["' .. MADE .. '"]')
    return made and kubelua.time(made) + tonumber(config.data.seconds) - kubelua.now()
end

assert(kubelua.controller {
    "configmaps", labels = "example.com/password", name = "passwords",
    owns = { "secrets" },
    reconcile = function(config, run)
        local left = seconds_left(config, run:get("secrets", config.key))
        if left and left > 0 then
            return left
        end
        assert(run:apply {
            apiVersion = "v1", kind = "Secret",
            metadata = { name = config.name,
                annotations = { [MADE] = kubelua.timestamp(kubelua.now()) } },
            stringData = { password = random() },
        })
        run:event("Normal", "Rotated", "there is a new password")
        return tonumber(config.data.seconds)
    end,
})
