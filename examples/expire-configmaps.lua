-- Deletes a ConfigMap with the annotation example.com/ttl so many seconds after it was created.
local kubelua = require "kubelua"
kubelua.controller {
    "configmaps", name = "expire-configmaps",
    reconcile = function(object, run)
        local ttl = object:get('metadata.annotations["example.com/ttl"]')
        local left = ttl and kubelua.time(object.metadata.creationTimestamp) + ttl - kubelua.now()
        if not ttl or left > 0 then return left end
        -- `lock`: only this version; the annotation may have been changed meanwhile.
        return run:delete(object, { lock = true })
    end,
}
