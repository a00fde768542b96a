-- Makes a certificate for a Secret with the label example.com/days; a new one after 2/3 of the
-- days.
local kubelua = require "kubelua"
kubelua.controller { "secrets", labels = "example.com/days", name = "rotate-certificates",
    reconcile = function(secret, run)
        local due = kubelua.time(secret:get('metadata.annotations["example.com/due"]') or "")
        if due and due > kubelua.now() then return due - kubelua.now() end
        local days = secret.metadata.labels["example.com/days"]
        local made = assert(kubelua.exec { "openssl", "req", "-x509", "-newkey", "ed25519",
            "-nodes", "-days", days, "-subj", "/CN=" .. secret.name, "-keyout", "-" })
        local key, cert = made.stdout:match("(%-+BEGIN.-END PRIVATE KEY%-+\n)(%-+BEGIN.+)$")
        assert(key and cert, "openssl printed something else")
        local next_due = kubelua.timestamp(kubelua.now() + days * 86400 * 2 / 3)
        return run:patch { metadata = { annotations = { ["example.com/due"] = next_due } },
            data = { key = kubelua.base64(key), cert = kubelua.base64(cert) } }
    end }
