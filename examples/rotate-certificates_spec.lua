-- The test moves the clock by weeks.
-- Run it: kubelua test examples/rotate-certificates_spec.lua
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

describe("rotate-certificates", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { clock = "fake" })
        cluster:run("examples/rotate-certificates.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    -- The certificate, once it differs from `before`.
    local function certificate(before)
        local secret = assert(cluster:wait("secrets", "default/shop", function(secret)
            return secret:get("data.cert") ~= nil and secret.data.cert ~= before
        end))
        return secret.data.cert, secret
    end

    before_each(function()
        cluster:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "shop", namespace = "default",
                labels = { ["example.com/days"] = "30" } } }
    end)

    it("makes a key and a certificate", function()
        local cert, secret = certificate()
        assert.matches("^%-+BEGIN CERTIFICATE%-+\n.*END CERTIFICATE%-+\n$", kubelua.unbase64(cert))
        assert.matches("^%-+BEGIN PRIVATE KEY%-+\n.*END PRIVATE KEY%-+\n$",
            kubelua.unbase64(secret.data.key))
    end)

    it("renews the certificate after two thirds of its days, not before", function()
        local first = certificate()
        cluster:advance(20 * 86400 - 10)
        assert.equal(first, (cluster:get("secrets", "default/shop").data.cert))
        cluster:advance(10)
        local second = certificate(first)
        cluster:advance(20 * 86400)
        certificate(second)
    end)
end)
