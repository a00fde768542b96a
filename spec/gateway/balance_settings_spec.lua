-- How a Service is balanced: annotations, the cookie of a session, and which requests are retried.
local cookies = require "resty.kubelua.gateway.balance.cookie"
local retries = require "resty.kubelua.gateway.balance.retries"
local settings = require "resty.kubelua.gateway.balance.settings"

local function read(values)
    local annotations = { ["example.com/other"] = "x" }
    for name, value in pairs(values) do
        annotations["kubelua.dev/" .. name] = value
    end
    return settings.read(annotations)
end

describe("settings of a balancer", function()
    it("are nil without annotations", function()
        assert.same({ nil, {} }, { settings.read(nil) })
        assert.same({ nil, {} }, { read {} })
    end)

    it("are read from annotations", function()
        assert.same({ { by = "hash", hash_by = "$http_x_user$uri", bound = 1.5, slow_start = 30,
            max_fails = 3, fail_timeout = 2.5 }, {} }, { read { balance = "hash",
            ["balance-hash-by"] = "$http_x_user$uri", ["balance-bound"] = "1.5",
            ["balance-slow-start"] = "30", ["balance-max-fails"] = "3",
            ["balance-fail-timeout"] = "2.5" } })
        assert.same({ { by = "sticky", cookie = { name = "session", path = "/a",
            domain = "example.com", max_age = 3600, same_site = "None", secure = true } }, {} },
            { read { balance = "sticky", ["balance-cookie-name"] = "session",
                ["balance-cookie-path"] = "/a", ["balance-cookie-domain"] = "example.com",
                ["balance-cookie-max-age"] = "3600", ["balance-cookie-samesite"] = "none",
                ["balance-cookie-secure"] = "true" } })
        assert.same({ { retry = { tries = 2, on = { error = true, timeout = true, ["502"] = true },
            non_idempotent = true } }, {} }, { read { retries = "2",
            ["retry-on"] = "error timeout http_502 non_idempotent" } })
        assert.same({ { retry = { tries = 0, on = {} } }, {} },
            { read { ["retry-on"] = "off", retries = "3" } })
    end)

    it("name an annotation that is none, or is no text", function()
        local read_settings, problems = read { ["balance-hashby"] = "$uri", balance = true }
        assert.is_nil(read_settings)
        assert.same({ "annotation kubelua.dev/balance-hashby: there is none of this name",
            "annotation kubelua.dev/balance: \"true\" is not a text" }, problems)
    end)

    it("name each annotation that is wrong, and leave it out", function()
        for name, value in pairs { balance = "fastest", ["balance-hash-by"] = "no variable",
            ["balance-bound"] = "1", ["balance-slow-start"] = "-1", ["balance-max-fails"] = "1.5",
            ["balance-fail-timeout"] = "0", ["balance-cookie-name"] = "a b",
            ["balance-cookie-path"] = "/a; HttpOnly", ["balance-cookie-domain"] = "a;b",
            ["balance-cookie-max-age"] = "soon", ["balance-cookie-samesite"] = "no",
            ["balance-cookie-secure"] = "yes", retries = "many",
            ["retry-on"] = "error http_418" } do
            local found, problems = read { [name] = value }
            assert.is_nil(found)
            assert.equal(1, #problems)
            local begins = "annotation kubelua.dev/" .. name .. ": \""
            assert.equal(begins, problems[1]:sub(1, #begins))
        end
        assert.same({ by = "ewma" }, (read { balance = "ewma", ["balance-bound"] = "x" }))
        local _, problems = read { ["balance-hash-by"] = "$ssl_client_raw_cert" }
        assert.match("variables of nginx", problems[1])
    end)

    it("of each annotation are JSON: the shared map takes nothing else", function()
        local values = require "kubelua.values"
        for _, words in ipairs { "http_502", "error http_500 http_504", "off", "non_idempotent" } do
            local taken = read { ["retry-on"] = words, retries = "2" }
            assert.same(taken, values.decode(values.json(taken)))
        end
    end)

    it("take the retries of a route", function()
        assert.is_nil(settings.of_route(nil))
        local on = { error = true, timeout = true, ["502"] = true, ["504"] = true }
        assert.same({ tries = 3, on = on },
            settings.of_route { attempts = 3, codes = { 502, 504 } })
        assert.same({ tries = 1, on = { error = true, timeout = true } }, settings.of_route {})
    end)

    it("of another controller are checked in the same way", function()
        local given = { by = "sticky",
            cookie = { name = "INGRESSCOOKIE", change_on_failure = true }, retry = { tries = 2 } }
        assert.same({ given, {} }, { settings.normalise(given) })
        assert.same({ { cookie = {} }, { "by: \"x\" is not one of round_robin hash sticky "
            .. "least_conn ewma", "cookie.path: \"a\" is not a path" } },
            { settings.normalise { by = "x", cookie = { path = "a" } } })
    end)
end)

describe("cookie of a session", function()
    it("is sent over TLS only if it was made there, and never to scripts", function()
        assert.equal("kubelua=1a; Path=/; HttpOnly", cookies.text(nil, "1a"))
        assert.equal("kubelua=1a; Path=/; Secure; HttpOnly", cookies.text(nil, "1a", true))
        local full = { name = "s", path = "/a", domain = "example.com", max_age = 60, secure = true,
            same_site = "Lax" }
        assert.equal("s=1a; Path=/a; Domain=example.com; Max-Age=60; Secure; HttpOnly; "
            .. "SameSite=Lax", cookies.text(full, "1a"))
        assert.equal("kubelua=1a; Path=/; HttpOnly", cookies.text({ secure = false }, "1a", true))
    end)

    it("has SameSite=None only with Secure, as browsers want it", function()
        local settings_none = { same_site = "None" }
        assert.equal("kubelua=1; Path=/; HttpOnly", cookies.text(settings_none, "1"))
        assert.equal("kubelua=1; Path=/; Secure; HttpOnly; SameSite=None",
            cookies.text(settings_none, "1", true))
    end)
end)

describe("retry", function()
    local function allows(policy, attempt)
        local given = { method = "GET", sent = true, outcome = "error", tries = 1 }
        for name, value in pairs(attempt) do
            given[name] = value
        end
        return retries.allows(policy, given)
    end

    it("is for errors and timeouts, once, where nothing else is said", function()
        assert.is_true(allows(nil, {}))
        assert.is_true(allows(nil, { outcome = "timeout" }))
        assert.is_false(allows(nil, { outcome = 502 }))
        assert.is_false(allows(nil, { tries = 2 }))
        assert.is_true(allows({ on = { ["502"] = true } }, { outcome = 502 }))
        assert.is_false(allows({ on = { ["502"] = true } }, { outcome = "error" }))
        assert.is_true(allows({ tries = 3 }, { tries = 3 }))
        assert.is_false(allows({ tries = 0 }, { tries = 1 }))
    end)

    it("never repeats a request that may have had an effect", function()
        for _, method in ipairs { "POST", "PATCH", "LOCK", "CONNECT", "PURGE", "get" } do
            assert.is_false(allows(nil, { method = method }))
            assert.is_true(allows(nil, { method = method, sent = false }))
            assert.is_true(allows({ non_idempotent = true }, { method = method }))
        end
        for _, method in ipairs { "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE" } do
            assert.is_true(allows(nil, { method = method }))
        end
    end)

    it("ends with the first byte of the answer, and at its timeout", function()
        assert.is_false(allows(nil, { answered = true }))
        assert.is_true(allows({ timeout = 2 }, { seconds = 1.9 }))
        assert.is_false(allows({ timeout = 2 }, { seconds = 2 }))
    end)

    it("is as often as said, whatever nginx counts", function()
        assert.equal(1, retries.more(nil, "MKCOL", false))
        assert.equal(3, retries.more({ tries = 3 }, "GET", true))
        assert.equal(3, retries.more({ tries = 3 }, "POST", true)) -- nginx holds it back
        assert.equal(0, retries.more({ tries = 3 }, "MKCOL", true)) -- an answer would be lost
        assert.equal(3, retries.more({ tries = 3, non_idempotent = true }, "MKCOL", true))
        assert.is_false(allows({ tries = 0 }, { tries = 0 })) -- a kept connection failed
        assert.is_true(allows(nil, { tries = 0 }))
    end)
end)
