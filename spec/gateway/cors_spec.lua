-- resty.kubelua.gateway.cors: which answer a request from another origin gets. The cases of the
-- Gateway API follow its conformance suite; those of Ingress what ingress-nginx sends.
local cors = require "resty.kubelua.gateway.cors"

-- The status and the headers, by their names; `method` with "preflight" asks for PUT.
local function answer(filter, method, origin, asked_headers)
    local preflight = method == "preflight"
    local given = { origin = origin, ["access-control-request-method"] = preflight and "PUT" or nil,
        ["access-control-request-headers"] = asked_headers }
    local status, list = cors.answer(filter, { method = preflight and "OPTIONS" or method,
        header = function(name) return given[name] end })
    local headers = {}
    for _, header in ipairs(list) do
        assert.is_nil(headers[header[1]])
        headers[header[1]:gsub("^Access%-Control%-", "")] = header[2]
        assert.equal(header[1] == "Vary" or nil, header.add)
    end
    return status, headers
end

local function origin_allowed(filter, origin)
    local _, headers = answer(filter, "GET", origin)
    return headers["Allow-Origin"]
end

describe("cors of the Gateway API", function()
    local filter = { dialect = "gateway-api",
        allow_origins = { "https://www.foo.com", "https://*.bar.com" },
        allow_methods = { "GET", "OPTIONS" }, allow_headers = { "x-header-1", "x-header-2" },
        expose_headers = { "x-header-3", "x-header-4" }, allow_credentials = true, max_age = 3600 }

    it("answers a preflight of an origin that is allowed", function()
        for _, origin in ipairs { "https://www.foo.com", "https://www.bar.com",
            "https://xpto.www.bar.com" } do
            local status, headers = answer(filter, "preflight", origin, "x-header-1, x-header-2")
            assert.equal(204, status)
            assert.same({ ["Allow-Origin"] = origin, ["Allow-Methods"] = "GET, OPTIONS",
                ["Allow-Headers"] = "x-header-1, x-header-2", ["Max-Age"] = "3600",
                ["Expose-Headers"] = "x-header-3, x-header-4", ["Allow-Credentials"] = "true",
                Vary = "Origin" }, headers)
        end
    end)

    it("answers a preflight of another origin without its headers", function()
        local status, headers = answer(filter, "preflight", "https://foobar.com")
        assert.equal(204, status)
        assert.same({ Vary = "Origin" }, headers)
    end)

    it("lets other requests go on, with headers for those that are allowed", function()
        local status, headers = answer(filter, "GET", "https://www.foo.com")
        assert.is_nil(status)
        assert.same({ ["Allow-Origin"] = "https://www.foo.com", ["Allow-Credentials"] = "true",
            ["Expose-Headers"] = "x-header-3, x-header-4", Vary = "Origin" }, headers)
        assert.same({ nil, { Vary = "Origin" } }, { answer(filter, "GET", "https://foobar.com") })
        assert.same({ nil, { Vary = "Origin" } }, { answer(filter, "GET", nil) })
        assert.is_nil((answer(filter, "OPTIONS", "https://www.foo.com"))) -- asks for no method
    end)

    it("says * for all, or with credentials what was asked for", function()
        local all = { dialect = "gateway-api", allow_origins = { "*" }, allow_methods = { "*" },
            allow_headers = { "*" }, expose_headers = { "*" } }
        local _, headers = answer(all, "preflight", "https://x.com:12345", "x-1, x-2")
        assert.same({ ["Allow-Origin"] = "*", ["Allow-Methods"] = "*", ["Allow-Headers"] = "*",
            ["Expose-Headers"] = "*", ["Max-Age"] = "5" }, headers)
        all.allow_credentials = true
        _, headers = answer(all, "preflight", "https://x.com:12345", "x-1, x-2")
        assert.same({ ["Allow-Origin"] = "https://x.com:12345", ["Allow-Methods"] = "PUT",
            ["Allow-Headers"] = "x-1, x-2", ["Allow-Credentials"] = "true", ["Max-Age"] = "5",
            Vary = "Origin" }, headers)
        _, headers = answer(all, "preflight", "https://x.com")
        assert.is_nil(headers["Allow-Headers"])
    end)

    -- What a filter allows, and whether an origin is allowed by it.
    for _, case in ipairs {
        { "https://a.com", "https://a.com:443", true },
        { "https://a.com:443", "https://a.com", true },
        { "http://a.com:80", "http://a.com", true }, { "https://a.com", "https://A.com", true },
        { "https://a.com", "http://a.com", false },
        { "https://a.com", "https://a.com:8443", false },
        { "https://a.com:8443", "https://a.com:8443", true }, { "https://*", "https://b", true },
        { "https://*", "http://b", false }, { "https://*", "https://b/c", false },
        { "https://*:8443", "https://b.c:8443", true }, { "https://*:8443", "https://b", false },
        { "https://*.b.com", "https://b.com", false },
        { "https://*.b.com", "https://.b.com", false },
        { "https://*.b.com", "https://evil.com/.b.com", false },
        { "https://*.b.com", "https://evil.com:80.b.com", false },
        { "https://*.b.com", "https://a.b.com.evil.com", false },
        { "https://*.b.com", "https://evil.com?.b.com", false },
        { "https://*.b.com", "null", false },
        { "https://*.*.*.b", "https://" .. ("a."):rep(4000) .. "b", false },
    } do
        it(("by %s: %s"):format(case[1], case[2]:sub(1, 40)), function()
            assert.equal(case[3] and case[2] or nil,
                origin_allowed({ dialect = "gateway-api", allow_origins = { case[1] } }, case[2]))
        end)
    end
end)

describe("cors of ingress-nginx", function()
    local defaults = { allow_origins = { "*" }, allow_methods = { "GET", "PUT" },
        allow_headers = { "DNT", "Range" }, allow_credentials = true, max_age = 1728000 }

    it("answers each OPTIONS, and gives all headers to others too", function()
        local expected = { ["Allow-Origin"] = "*", ["Allow-Credentials"] = "true",
            ["Allow-Methods"] = "GET, PUT", ["Allow-Headers"] = "DNT, Range",
            ["Max-Age"] = "1728000" }
        assert.same({ 204, expected }, { answer(defaults, "OPTIONS", "https://a.com") })
        assert.same({ 204, expected }, { answer(defaults, "OPTIONS", nil) })
        assert.same({ nil, expected }, { answer(defaults, "GET", "https://a.com") })
    end)

    it("never lets credentials go to each origin", function()
        assert.equal("*", origin_allowed(defaults, "https://evil.com"))
    end)

    it("takes *. for one label", function()
        local filter = { allow_origins = { "https://*.b.com", "null" }, expose_headers = { "x" } }
        assert.equal("https://a.b.com", origin_allowed(filter, "https://a.b.com"))
        assert.is_nil(origin_allowed(filter, "https://a.a.b.com"))
        assert.equal("null", origin_allowed(filter, "null"))
        assert.same({ nil, { Vary = "Origin" } }, { answer(filter, "OPTIONS", "https://evil.com") })
    end)
end)
