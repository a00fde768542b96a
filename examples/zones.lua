-- Writes each Zone as a zone file for a DNS server in another cluster, as a ConfigMap. An owner
-- reference cannot name an object in another cluster, so a finalizer removes the file.
-- Try it with --sim=examples/zones.yaml.
local kubelua = require "kubelua"
local dns = assert(kubelua.connect { kubeconfig = os.getenv("DNS_KUBECONFIG"), namespace = "dns" })
kubelua.controller { "zones.example.com", name = "zones", finalizer = "example.com/zone",
    reconcile = function(zone, run)
        local records = {}
        for name, address in kubelua.pairs(zone.spec.records) do
            records[#records + 1] = name .. " A " .. address .. "\n"
        end
        table.sort(records)
        assert(dns:apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = zone.name },
            data = { zone = table.concat(records) } }, { manager = "zones", force = true }))
        return run:status { conditions = { { type = "Ready", status = "True", reason = "Set" } } }
    end,
    finalize = function(zone)
        local ok, message, code = dns:delete("configmaps", zone.name)
        return ok or code == "not_found" or nil, message, code
    end }
