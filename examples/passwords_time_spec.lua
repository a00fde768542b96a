-- What happens after an hour and after a day: the test moves the clock.
local Sim = require "kubelua.sim"

describe("passwords, as time passes,", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { clock = "fake", now = "2026-01-01T00:00:00Z" })
        cluster:run("examples/passwords.lua")
        assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "db", namespace = "web",
                labels = { ["example.com/password"] = "" } },
            data = { seconds = "3600" } })
        assert(cluster:settle())
    end)

    after_each(function() cluster:close() end)

    local function made()
        local secret = assert(cluster:get("secrets", "web/db"))
        return secret.metadata.annotations["example.com/made"], secret.data.password
    end

    it("makes a new password after an hour, not before", function()
        local at, first = made()
        assert.equal("2026-01-01T00:00:00Z", at)
        cluster:advance(3599)
        assert(cluster:settle())
        assert.equal(first, select(2, made()))
        cluster:advance(1)
        assert(cluster:settle())
        assert.equal("2026-01-01T01:00:00Z", (made()))
        assert.are_not.equal(first, select(2, made()))
    end)

    it("makes a password each hour of a day", function()
        for _ = 1, 24 do -- hour by hour: each password is made before the clock moves on
            cluster:advance(3600)
            assert(cluster:settle())
        end
        assert.equal("2026-01-02T00:00:00Z", (made()))
        assert.equal(25, #cluster:requests { verb = "patch", resource = "secrets" })
    end)
end)
