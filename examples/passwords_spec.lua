-- Without trouble: makes a Secret, with its owner, and makes it again when it is deleted.
local Sim = require "kubelua.sim"

describe("passwords", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new())
        cluster:run("examples/passwords.lua")
        assert(cluster:apply [[
            apiVersion: v1
            kind: ConfigMap
            metadata: { name: db, namespace: web, labels: { example.com/password: "" } }
            data: { seconds: "3600" }]])
        assert(cluster:settle())
    end)

    after_each(function() cluster:close() end)

    it("makes a Secret, which the ConfigMap controls", function()
        local secret = assert(cluster:get("secrets", "web/db"))
        local owner = secret.metadata.ownerReferences[1]
        assert.equal("ConfigMap db", owner.kind .. " " .. owner.name)
        assert.is_true(owner.controller)
        assert.is_string(secret.data.password)
    end)

    it("writes once, and records an event", function()
        assert.equal(1, #cluster:requests { verb = "patch", resource = "secrets" })
        assert.equal(1, #cluster:list("events", { namespace = "web", fields = "reason=Rotated" }))
    end)

    it("makes the Secret again when it is deleted", function()
        local uid = cluster:get("secrets", "web/db").uid
        assert(cluster:delete("secrets", "web/db"))
        assert(cluster:settle())
        assert.are_not.equal(uid, assert(cluster:get("secrets", "web/db")).uid)
    end)

    it("ignores ConfigMaps without the label", function()
        assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "other", namespace = "web" } })
        assert(cluster:settle())
        assert.is_nil(cluster:get("secrets", "web/other"))
    end)
end)
