-- Two simulated clusters: one has the Zones, the other the DNS server.
-- Run it: kubelua test examples/zones_spec.lua
local Sim = require "kubelua.sim"

describe("zones", function()
    local cluster ---@type kubelua.Sim
    local dns ---@type kubelua.Sim
    local kubeconfig ---@type string
    local getenv

    before_each(function()
        dns = assert(Sim.new())
        dns:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "dns" } }
        dns:listen { tls = true }
        kubeconfig = os.tmpname()
        local file = assert(io.open(kubeconfig, "w"))
        file:write((assert(dns:kubeconfig())))
        file:close()
        getenv = os.getenv
        os.getenv = function(name) -- luacheck: ignore
            return name == "DNS_KUBECONFIG" and kubeconfig or getenv(name)
        end
        cluster = assert(Sim.new { load = "examples/zones.yaml" })
        cluster:run("examples/zones.lua")
    end)

    after_each(function()
        os.getenv = getenv -- luacheck: ignore
        os.remove(kubeconfig)
        cluster:close()
        dns:close()
    end)

    local function expect_file(text)
        assert(dns:wait("configmaps", "dns/shop.example", { data = { zone = text } }))
    end

    it("writes a zone file, and sets the condition Ready", function()
        expect_file("mail A 192.0.2.2\nwww A 192.0.2.1\n")
        local zone = assert(cluster:wait("zones", "shop.example", "Ready"))
        assert.same({ "example.com/zone" }, zone:table().metadata.finalizers)
    end)

    it("follows changes of the records", function()
        expect_file("mail A 192.0.2.2\nwww A 192.0.2.1\n")
        cluster:patch("zones", "shop.example", { spec = { records = { ftp = "192.0.2.3" } } })
        expect_file("ftp A 192.0.2.3\nmail A 192.0.2.2\nwww A 192.0.2.1\n")
    end)

    it("keeps the finalizer until the zone file is deleted", function()
        assert(cluster:wait("zones", "shop.example", "Ready"))
        dns:fail { verb = "delete", status = 403, count = 2 }
        cluster:delete("zones", "shop.example")
        assert(cluster:eventually(function()
            return #dns:requests { verb = "delete", status = 403 } > 0
        end))
        assert(cluster:get("zones", "shop.example"))
        assert(dns:get("configmaps", "dns/shop.example"))
        assert(cluster:wait("zones", "shop.example", "deleted"))
        assert.is_nil((dns:get("configmaps", "dns/shop.example")))
    end)

    it("accepts that the zone file is already gone", function()
        assert(cluster:wait("zones", "shop.example", "Ready"))
        dns:delete("configmaps", "dns/shop.example")
        cluster:delete("zones", "shop.example")
        assert(cluster:wait("zones", "shop.example", "deleted"))
    end)
end)
