-- A Secret with the label example.com/days has a certificate; after 2/3 of those days, a new one.
local kubelua = require "kubelua"
local OPENSSL = "openssl req -x509 -newkey ed25519 -nodes -days %s -subj /CN=%s -keyout -"
kubelua.controller { "secrets", labels = "example.com/days", name = "rotate-certificates",
    reconcile = function(secret, run)
        local due = kubelua.time(secret:get('metadata.annotations["example.com/due"]') or "")
        if due and due > kubelua.now() then return due - kubelua.now() end
        local days = secret.metadata.labels["example.com/days"]
        local pipe = io.popen(OPENSSL:format(days, secret.name)) -- takes some milliseconds
        local key, cert = pipe:read("*a"):match("(%-+BEGIN.-END PRIVATE KEY%-+\n)(%-+BEGIN.+)$")
        pipe:close()
        due = kubelua.timestamp(kubelua.now() + days * 86400 * 2 / 3)
        return run:patch { metadata = { annotations = { ["example.com/due"] = due } },
            data = { key = kubelua.base64(key), cert = kubelua.base64(cert) } }
    end }
