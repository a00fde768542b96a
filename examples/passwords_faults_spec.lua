-- The cluster in trouble: requests that are refused, a watch that is late, a server that is down.
local Sim = require "kubelua.sim"

describe("passwords, on a cluster in trouble,", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { clock = "fake" }) -- backoff waits for cluster:advance
        cluster:run("examples/passwords.lua")
        assert(cluster:settle())
    end)

    after_each(function() cluster:close() end)

    local function ask(seconds)
        assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "db", namespace = "web",
                labels = { ["example.com/password"] = "" } },
            data = { seconds = seconds or "3600" } })
    end

    local function patches(status)
        return #cluster:requests { verb = "patch", resource = "secrets", status = status }
    end

    it("tries again after a failure, with backoff", function()
        assert(cluster:fail { verb = "patch", resource = "secrets", status = 500, count = 2 })
        ask()
        assert(cluster:settle()) -- it has failed once, and waits
        assert.equal(1, patches(500))
        assert.is_nil(cluster:get("secrets", "web/db"))
        cluster:advance(1)
        assert(cluster:settle())
        cluster:advance(1)
        assert(cluster:settle())
        assert.equal(2, patches(500))
        for attempt, status in ipairs { 500, 500, 201 } do
            assert.equal(status, cluster:requests { controller = "passwords", key = "web/db",
                attempt = attempt, verb = "patch" }[1].status)
        end
        assert.is_string(cluster:get("secrets", "web/db").data.password)
    end)

    it("applies again after a conflict, which is no failure", function()
        assert(cluster:fail { verb = "patch", resource = "secrets", status = 409 })
        ask()
        assert(cluster:settle())
        assert.equal(1, patches(409))
        assert.is_string(cluster:get("secrets", "web/db").data.password)
    end)

    it("waits for Retry-After on a 429, then sends the request again", function()
        assert(cluster:fail { verb = "patch", resource = "secrets", status = 429,
            retry_after = 1 })
        ask()
        assert(cluster:settle()) -- the client has sent the request again, after that second
        assert.equal(1, patches(429))
        assert.is_string(cluster:get("secrets", "web/db").data.password)
    end)

    it("makes no second password while the watch is late", function()
        local late = assert(cluster:freeze { verb = "watch", resource = "secrets", count = 0 })
        ask()
        assert(cluster:wait("secrets", "web/db"))
        ask("7200") -- it runs again, and its cache does not have the Secret yet
        local ok, why = cluster:settle(0.2)
        assert.is_nil(ok)
        assert.matches("the cache of secrets is at version", why, 1, true)
        cluster:heal(late)
        assert(cluster:settle())
        assert.equal(1, patches(201) + patches(200))
    end)

    it("goes on when the server accepts connections again", function()
        cluster:refuse()
        ask()
        assert.is_nil(cluster:settle(0.05))
        cluster:refuse(false)
        assert(cluster:settle())
        assert.is_string(cluster:get("secrets", "web/db").data.password)
    end)
end)
