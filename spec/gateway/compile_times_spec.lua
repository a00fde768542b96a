-- Timeouts, retries and sessions of HTTPRoutes: seconds, and settings of the balancer.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local GATE = objects.gateway("web/gate", { objects.listener("http", 80) })
local SHOP = objects.service("web/shop", { 80 })

local function run(rule)
    rule.backendRefs = { { name = "shop", port = 80 } }
    return objects.compiler(nil, GATE, SHOP, objects.route("web/r", { rules = { rule } })):run()
end

describe("timeouts, retries and sessions", function()
    it("are seconds, and settings of the balancer", function()
        local result = run {
            timeouts = { request = "1m30s", backendRequest = "500ms" },
            retry = { attempts = 2, codes = { 500, 503 }, backoff = "0s" },
            sessionPersistence = { sessionName = "s", absoluteTimeout = "1h",
                cookieConfig = { lifetimeType = "Permanent" } } }
        local rule = result.hosts["*:80 * *"].rules[1]
        assert.same({ request = 90, backend = 0.5 }, rule.timeouts)
        assert.same({ attempts = 2, codes = { 500, 503 } }, rule.retry)
        assert.same({ balance = { by = "sticky", cookie = { name = "s", max_age = 3600 } } },
            rule.settings)
    end)

    it("that nginx cannot do are refused", function()
        for message, rule in pairs {
            ["nginx does not wait between two tries"] = { retry = { backoff = "100ms" } },
            ["429 is none of 500, 502, 503 and 504"] = { retry = { codes = { 503, 429 } } },
            ["a rule that mirrors requests cannot have retry.codes"] = {
                retry = { codes = { 503 } }, filters = { { type = "RequestMirror",
                    requestMirror = { backendRef = { name = "shop", port = 80 } } } } },
        } do
            local status = objects.status(run(rule), "HTTPRoute web/r")
            local text, accepted = objects.condition(status.parents[1].conditions, "Accepted")
            assert.match("^Accepted False", text)
            assert.match(message, accepted.message, 1, true)
        end
    end)

    it("follow the durations of Gateway API", function()
        local durations = require "resty.kubelua.gateway.compile.durations"
        for text, seconds in pairs { ["0s"] = 0, ["1h"] = 3600, ["1h1m1s1ms"] = 3661.001,
            ["99999ms"] = 99.999 } do
            assert.near(seconds, durations.parse(text), 1e-9)
        end
        for _, text in ipairs { "", "1", "s", "100000s", "1h1m1s1ms1s", "1.5s", "-1s", "1 s" } do
            assert.is_nil(durations.parse(text), text)
        end
    end)
end)
