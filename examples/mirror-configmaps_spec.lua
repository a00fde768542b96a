-- Copies follow their origin, and are deleted with it.
-- Run it: kubelua test examples/mirror-configmaps_spec.lua
local Sim = require "kubelua.sim"

describe("mirror-configmaps", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { load = "examples/mirror.yaml" })
        cluster:run("examples/mirror-configmaps.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function expect_copy(namespace, text)
        assert(cluster:wait("configmaps", namespace .. "/ca", { data = { ["ca.crt"] = text } }))
    end

    it("copies into all namespaces, and into new ones", function()
        expect_copy("shop", "a certificate")
        expect_copy("db", "a certificate")
        cluster:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "late" } }
        expect_copy("late", "a certificate")
    end)

    it("follows changes of the origin, and repairs a changed copy", function()
        expect_copy("shop", "a certificate")
        cluster:patch("configmaps", "default/ca", { data = { ["ca.crt"] = "another" } })
        expect_copy("shop", "another")
        cluster:patch("configmaps", "shop/ca", { data = { ["ca.crt"] = "forged" } })
        expect_copy("shop", "another")
        cluster:delete("configmaps", "shop/ca")
        expect_copy("shop", "another")
    end)

    it("deletes the copies when the origin loses its label", function()
        expect_copy("shop", "a certificate")
        expect_copy("db", "a certificate")
        cluster:patch("configmaps", "default/ca",
            { metadata = { labels = { ["example.com/mirror"] = require("kubelua").null } } })
        assert(cluster:wait("configmaps", "shop/ca", "deleted"))
        assert(cluster:wait("configmaps", "db/ca", "deleted"))
        assert(cluster:get("configmaps", "default/ca"))
    end)

    it("leaves alone what is there and is no copy", function()
        local before = assert(cluster:get("configmaps", "shop/kube-root-ca.crt"))
        cluster:create { apiVersion = "v1", kind = "ConfigMap", data = { own = "yes" },
            metadata = { name = "late", namespace = "shop" } }
        for _, name in ipairs { "late", "kube-root-ca.crt" } do
            cluster:apply({ apiVersion = "v1", kind = "ConfigMap", data = { of = "origin" },
                metadata = { name = name, namespace = "default",
                    labels = { ["example.com/mirror"] = "yes" } } }, { force = true })
        end
        assert(cluster:wait("configmaps", "db/late", { data = { of = "origin" } }))
        assert(cluster:settle())
        assert.same({ own = "yes" }, cluster:get("configmaps", "shop/late"):table().data)
        local root = assert(cluster:get("configmaps", "shop/kube-root-ca.crt"))
        assert.equal(before.resource_version, root.resource_version)
        for _, name in ipairs { "late", "kube-root-ca.crt" } do
            cluster:patch("configmaps", "default/" .. name,
                { metadata = { labels = { ["example.com/mirror"] = require("kubelua").null } } })
        end
        assert(cluster:wait("configmaps", "db/late", "deleted"))
        assert(cluster:settle())
        assert(cluster:get("configmaps", "shop/late"))
        assert(cluster:get("configmaps", "shop/kube-root-ca.crt"))
    end)

    it("deletes copies of an origin that was deleted while the script did not run", function()
        cluster:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "old", namespace = "shop", labels = { ["example.com/copy"] = "" },
                annotations = { ["example.com/origin"] = "default/old" } } }
        assert(cluster:wait("configmaps", "shop/old", "deleted"))
    end)
end)
