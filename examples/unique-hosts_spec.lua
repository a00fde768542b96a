-- Run it with: kubelua test examples/unique-hosts_spec.lua
local admission = require "kubelua.admission"
local Sim = require "kubelua.sim"

local function ingress(namespace, host)
    return { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = "shop", namespace = namespace },
        spec = { rules = { { host = host } } } }
end

describe("unique-hosts", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new())
        assert(cluster:apply(ingress("default", "shop.example.com")))
        cluster:run("examples/unique-hosts.lua")
        assert(cluster:settle())
    end)

    after_each(function()
        cluster:close()
    end)

    it("denies a host that another Ingress has", function()
        local _, message, code = cluster:apply(ingress("b", "shop.example.com"))
        assert.matches("the host shop.example.com belongs to the Ingress default/shop$", message)
        assert.equal("forbidden", code)
    end)

    it("allows a new host, and an Ingress its own", function()
        assert(cluster:apply(ingress("b", "b.example.com")))
        assert(cluster:apply(ingress("default", "shop.example.com")))
    end)

    it("denies it to an object that has no name yet, too", function()
        local unnamed = ingress("b", "shop.example.com")
        unnamed.metadata.name, unnamed.metadata.generateName = nil, "shop-"
        assert.is_false(assert(admission.ask("hosts", { object = unnamed })).allowed)
    end)

    it("allows one of two that come together, before the cache has it", function()
        local one, two = ingress("a", "new.example.com"), ingress("b", "new.example.com")
        assert.is_true(admission.ask("hosts", { object = one, dry_run = true }).allowed)
        assert.is_true(admission.ask("hosts", { object = two }).allowed)
        assert.is_false(admission.ask("hosts", { object = one }).allowed)
        assert.is_true(admission.ask("hosts", { object = two, old = two }).allowed)
    end)

    it("allows the host again once the other Ingress is deleted", function()
        assert(cluster:delete("ingresses", "default/shop"))
        assert(cluster:settle())
        assert(cluster:apply(ingress("b", "shop.example.com")))
    end)
end)
